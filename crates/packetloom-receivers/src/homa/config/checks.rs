//! What must hold of the parameters.

use super::params::Variant;
use super::{MOST_LEVELS, given_cutoffs, layout, scheduled_levels, sends_unscheduled};
use crate::packet_format;
use crate::spec::{Complaint, Value, Values};
use crate::units::Time;

/// Parameters that only some variants have.
const OF_SOME: &[(&str, &[&str])] = &[
    ("window", &["simulator", "homa-ns3"]),
    ("max_incoming", &["linux"]),
    ("fifo_share", &["linux"]),
    ("fifo_grant", &["linux"]),
];

/// What must hold of them.
pub fn check(values: &Values) -> Result<(), Complaint> {
    packet_format::check(values)?;
    let name = values.text("variant");
    let variant = Variant::of(values);
    let idle =
        |(key, of): &&(&str, &[&str])| values.get(key) != &Value::Absent && !of.contains(&name.as_str());
    if let Some((key, _)) = OF_SOME.iter().find(idle) {
        return Err(Complaint::new(key, format!("the variant {name:?} has none; leave it out")));
    }
    if sends_unscheduled(values) && name != "simulator" {
        let message = format!(
            "the variant {name:?} grants no single packet; leave it out, or write variant = \"simulator\""
        );
        return Err(Complaint::new("aeolus", message));
    }
    if sends_unscheduled(values) && !values.flag("acknowledge") {
        return Err(Complaint::new("aeolus", "packets are lost with it; leave acknowledge = false out"));
    }
    let layout = layout(values, variant, 0);
    if layout.blind_header_bytes >= layout.payload_bytes {
        return Err(Complaint::new("blind_header", "leaves no payload; write less"));
    }
    if layout.blind_bytes == 0 {
        let message = "a receiver learns of a message from its blind packets; write at least \"1B\"";
        return Err(Complaint::new("blind", message));
    }
    for (key, least) in [("window", 1), ("max_incoming", 1), ("fifo_grant", 1)] {
        if values.optional_bytes(key).is_some_and(|bytes| bytes < least) {
            return Err(Complaint::new(key, "nothing could ever be granted; write a size above zero"));
        }
    }
    if values.optional_time("resend_after").is_some_and(|time| time < Time::from_us(1)) {
        return Err(Complaint::new("resend_after", "write a time of at least 1us, such as \"1ms\""));
    }
    check_levels(values)
}

fn check_levels(values: &Values) -> Result<(), Complaint> {
    let levels = values.count("levels");
    if levels > MOST_LEVELS {
        return Err(Complaint::new("levels", format!("write {MOST_LEVELS} at most")));
    }
    // One at least; what is given for blind packets must leave it.
    let scheduled = scheduled_levels(values).unwrap_or(1).max(1);
    if scheduled >= levels {
        let message = format!("{scheduled} of {levels} levels leave none for blind packets; write less");
        return Err(Complaint::new("scheduled_levels", message));
    }
    let rest = levels - scheduled;
    if values.optional_count("unscheduled_levels").is_some_and(|own| own > rest) {
        return Err(Complaint::new(
            "unscheduled_levels",
            format!("there are {rest} besides the others; write less"),
        ));
    }
    let Some(cutoffs) = given_cutoffs(values) else { return Ok(()) };
    if !cutoffs.is_sorted_by(|lower, higher| lower < higher) {
        let message = "each must be above the one before it; write them in ascending order";
        return Err(Complaint::new("cutoffs", message));
    }
    if cutoffs.len() as u64 >= rest {
        let message = format!("part more than the {rest} levels that are for blind packets; write fewer");
        return Err(Complaint::new("cutoffs", message));
    }
    let is_written = |key| values.get(key) != &Value::Absent;
    if is_written("unscheduled_levels") {
        let message = "cutoffs are given, which set their number; leave one of the two out";
        return Err(Complaint::new("unscheduled_levels", message));
    }
    if values.text("cutoffs_from") == "seen" {
        return Err(Complaint::new(
            "cutoffs_from",
            "cutoffs are given; write [] no cutoffs, or leave this out",
        ));
    }
    Ok(())
}
