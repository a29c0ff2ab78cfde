//! htsim's fat-trees: a `.topo` file.
//!
//! `Nodes`, `Tiers` and `Podsize`, then for each tier from the hosts up its links downwards, the switches' radices
//! and latencies. Keys are in any case.

use super::FileError;
use super::fields::{Line, last_line, lines};
use crate::narrow::exact;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// The switches of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The rate of each link to the tier below.
    pub rate: Rate,
    /// Such a link's delay.
    pub delay: Time,
    /// What a switch takes to process a packet.
    pub switch_delay: Time,
    /// Links downwards.
    pub radix_down: u32,
    /// Links upwards; 0 at the top.
    pub radix_up: u32,
    /// How many links join the same two switches.
    pub bundle: u32,
    /// What comes from below over what can go up.
    pub oversubscribed: u32,
}

/// The file's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Hosts.
    pub hosts: u32,
    /// Hosts in each pod.
    pub pod_hosts: u32,
    /// Two or three, from the hosts up.
    pub tiers: Vec<Tier>,
    /// Whether it has sizes of queues, too.
    pub has_queue_sizes: bool,
}

const HEADER: [&str; 3] = ["nodes", "tiers", "podsize"];
const REQUIRED: [&str; 3] = ["downlink_speed_gbps", "radix_down", "downlink_latency_ns"];
const OPTIONAL: [&str; 6] =
    ["radix_up", "switch_latency_ns", "oversubscribed", "bundle", "queue_up", "queue_down"];

/// A section's entries, each with its line.
type Section = BTreeMap<&'static str, (usize, u64)>;

/// Reads the file's text. Lines that begin with `#` are skipped.
///
/// # Errors
/// Where a key is unknown, missing or there twice, or the numbers make no fat-tree.
pub fn read(text: &str) -> Result<FatTree, FileError> {
    let mut header = Section::new();
    let mut sections: BTreeMap<u64, (usize, Section)> = BTreeMap::new();
    let mut current = None;
    for line in lines(text).filter(|line| !line.fields[0].starts_with('#')) {
        line.expect("key value")?;
        let key = line.fields[0].to_lowercase();
        let number = line.count(1, line.fields[0])?;
        if key == "tier" {
            if sections.insert(number, (line.number, Section::new())).is_some() {
                return Err(line.error(format!("tier {number} is there twice")));
            }
            current = Some(number);
            continue;
        }
        let (known, section) = match current.and_then(|tier| sections.get_mut(&tier)) {
            None => (&HEADER[..], &mut header),
            Some((_, section)) => (&[REQUIRED.as_slice(), &OPTIONAL].concat()[..], section),
        };
        note(section, known, &line, &key, number)?;
    }
    let last = last_line(text);
    let tiers = *header_value(&header, "tiers", last)?;
    if !(2..=3).contains(&tiers) {
        return Err(FileError::new(header["tiers"].0, format!("{tiers} tiers; write 2 or 3")));
    }
    if let Some((tier, (line, _))) = sections.iter().find(|(tier, _)| **tier >= tiers) {
        return Err(FileError::new(*line, format!("tier {tier} of {tiers}; they are numbered from 0")));
    }
    let has_queue_sizes = sections
        .values()
        .any(|(_, section)| section.contains_key("queue_up") || section.contains_key("queue_down"));
    let tiers = (0..tiers).map(|tier| read_tier(&sections, tier, tier + 1 == tiers, last));
    let tree = FatTree {
        hosts: small(*header_value(&header, "nodes", last)?, header["nodes"].0)?,
        pod_hosts: small(*header_value(&header, "podsize", last)?, header["podsize"].0)?,
        tiers: tiers.collect::<Result<_, _>>()?,
        has_queue_sizes,
    };
    tree.check(header["nodes"].0)?;
    Ok(tree)
}

fn note(
    section: &mut Section,
    known: &[&'static str],
    line: &Line<'_>,
    key: &str,
    number: u64,
) -> Result<(), FileError> {
    let Some(key) = known.iter().find(|known| **known == key) else {
        let message = format!("unknown key {:?}; here they are {}", line.fields[0], known.join(", "));
        return Err(line.error(message));
    };
    match section.insert(key, (line.number, number)) {
        None => Ok(()),
        Some(_) => Err(line.error(format!("{} is there twice", line.fields[0]))),
    }
}

fn header_value<'a>(header: &'a Section, key: &str, last: usize) -> Result<&'a u64, FileError> {
    let missing = || FileError::new(last, format!("no line `{key} n` before the first tier"));
    header.get(key).map(|(_, number)| number).ok_or_else(missing)
}

/// A number that is above zero and below what memory could hold.
fn small(number: u64, line: usize) -> Result<u32, FileError> {
    match number {
        1..=1_000_000 => Ok(exact::<u32>(number)),
        _ => Err(FileError::new(line, format!("{number}; write a number from 1 to 1000000"))),
    }
}

fn read_tier(
    sections: &BTreeMap<u64, (usize, Section)>,
    tier: u64,
    is_top: bool,
    last: usize,
) -> Result<Tier, FileError> {
    let missing = || FileError::new(last, format!("no section `Tier {tier}`"));
    let (line, section) = sections.get(&tier).ok_or_else(missing)?;
    if let Some(key) = REQUIRED.iter().find(|key| !section.contains_key(**key)) {
        return Err(FileError::new(*line, format!("tier {tier} has no {key}")));
    }
    match section.get("radix_up").or(section.get("queue_up").filter(|_| is_top)) {
        None if !is_top => return Err(FileError::new(*line, format!("tier {tier} has no radix_up"))),
        Some((line, _)) if is_top => {
            return Err(FileError::new(*line, "nothing is above the top tier; leave it out"));
        }
        _ => {}
    }
    let number = |key: &str, default: u64| section.get(key).copied().unwrap_or((*line, default));
    let count = |key: &str, default: u64| {
        let (line, count) = number(key, default);
        small(count, line)
    };
    let ns = |key: &str| {
        let (line, ns) = number(key, 0);
        if ns > 1_000_000_000 {
            return Err(FileError::new(line, format!("{ns} ns; write at most a second")));
        }
        Ok(Time::from_ns(ns))
    };
    let gbps = count("downlink_speed_gbps", 0)?;
    if gbps > 100_000 {
        return Err(FileError::new(number("downlink_speed_gbps", 0).0, "write at most 100000"));
    }
    Ok(Tier {
        rate: Rate::from_gbps(gbps.into()),
        delay: ns("downlink_latency_ns")?,
        switch_delay: ns("switch_latency_ns")?,
        radix_down: count("radix_down", 0)?,
        radix_up: if is_top { 0 } else { count("radix_up", 0)? },
        bundle: count("bundle", 1)?,
        oversubscribed: count("oversubscribed", 1)?,
    })
}

impl FatTree {
    /// How many switches each tier has in each pod; for the top, in all.
    pub fn switches(&self) -> Vec<u32> {
        let mut links_up = self.pod_hosts;
        let top = self.tiers.len() - 1;
        let switches = self.tiers.iter().enumerate().map(|(number, tier)| {
            if number == top {
                links_up *= self.pods();
            }
            let switches = links_up / tier.radix_down;
            links_up = switches * tier.radix_up;
            switches
        });
        switches.collect()
    }

    /// How many pods there are: with two tiers each leaf is one.
    pub fn pods(&self) -> u32 {
        if self.tiers.len() == 2 { 1 } else { self.hosts / self.pod_hosts }
    }

    fn check(&self, line: usize) -> Result<(), FileError> {
        let error = |message: String| Err(FileError::new(line, message));
        if self.tiers[0].bundle != 1 {
            return error("hosts have one link each; leave the bundle of tier 0 out".to_owned());
        }
        if !self.hosts.is_multiple_of(self.pod_hosts)
            || (self.tiers.len() == 2 && self.hosts != self.pod_hosts)
        {
            let message = format!("{} nodes are not whole pods of {}", self.hosts, self.pod_hosts);
            return error(message);
        }
        let mut links = u64::from(self.pod_hosts);
        for (number, tier) in self.tiers.iter().enumerate() {
            let is_top = number + 1 == self.tiers.len();
            links *= if is_top { u64::from(self.pods()) } else { 1 };
            if links % u64::from(tier.radix_down) != 0 || tier.radix_down % tier.bundle != 0 {
                return error(format!(
                    "the {links} links into tier {number} are not whole switches of {} in bundles of {}",
                    tier.radix_down, tier.bundle
                ));
            }
            let switches = links / u64::from(tier.radix_down);
            links = switches * u64::from(tier.radix_up);
            if let Some(above) = self.tiers.get(number + 1) {
                let down = u64::from(tier.radix_down) * tier.rate.as_bps();
                let up = u64::from(tier.radix_up) * above.rate.as_bps();
                if up * u64::from(tier.oversubscribed) != down {
                    return error(format!(
                        "tier {number} has {down} bit/s below and {up} above, so it is not oversubscribed {} to 1",
                        tier.oversubscribed
                    ));
                }
                if tier.radix_up % above.bundle != 0 {
                    return error(format!(
                        "{} links up are not whole bundles of {}",
                        tier.radix_up, above.bundle
                    ));
                }
                // Each switch is joined to every one that its pod, or at the top its place in the pod, has above it.
                let (below, uplinks) = (switches, u64::from(tier.radix_up / above.bundle));
                let is_core = number + 2 == self.tiers.len() && self.tiers.len() == 3;
                let joined = if is_core { u64::from(self.pods()) } else { below };
                if u64::from(above.radix_down / above.bundle) != joined {
                    return error(format!(
                        "a switch of tier {} has {} links down in bundles of {}, and {joined} to join",
                        number + 1,
                        above.radix_down,
                        above.bundle
                    ));
                }
                if links.checked_mul(uplinks).is_none_or(|links| links > 4_000_000_000) {
                    return error("more links than memory could hold".to_owned());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::At;

    const SOUND: &str = "# two tiers\nNodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
        Radix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\n\
        Radix_Down 4\nDownlink_Latency_ns 1000\n";

    #[test]
    fn a_file_of_htsims_is_read() {
        let tree = read(SOUND).expect("a sound file");
        assert_eq!((tree.hosts, tree.tiers.len(), tree.switches()), (32, 2, vec![4, 2]));
        let leaf = Tier {
            rate: Rate::from_gbps(100),
            delay: Time::from_us(1),
            switch_delay: Time::ZERO,
            radix_down: 8,
            radix_up: 2,
            bundle: 1,
            oversubscribed: 4,
        };
        assert_eq!(tree.tiers[0], leaf);
        assert!(!tree.has_queue_sizes);
        assert_eq!(read(&SOUND.replace('\n', "\r\n").to_uppercase()), Ok(tree));
    }

    #[test]
    fn three_tiers_are_a_fat_tree() {
        let tier = |number: u32, up: &str, down: u32| {
            format!(
                "Tier {number}\nDownlink_speed_Gbps 100\nRadix_Down {down}\n{up}Downlink_Latency_ns 1000\nQueue_Down 8\n"
            )
        };
        let text = format!(
            "Nodes 16\nTiers 3\nPodsize 4\n{}{}{}",
            tier(0, "Radix_Up 2\n", 2),
            tier(1, "Radix_Up 2\n", 2),
            tier(2, "", 4)
        );
        let tree = read(&text).expect("a sound file");
        assert_eq!((tree.switches(), tree.pods(), tree.has_queue_sizes), (vec![2, 2, 4], 4, true));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, line, part) in [
            ("Nodes 32\n", "", 14, "no line `nodes n`"),
            ("Nodes 32", "Nodes -32", 2, "cannot be negative"),
            ("Nodes 32", "Nodes NaN", 2, "Nodes is \"NaN\""),
            ("Nodes 32", "Nodes 9223372036854775808", 2, "write a number from 1 to 1000000"),
            ("Nodes 32", "Nodes 33", 2, "33 nodes are not whole pods of 32"),
            ("Tiers 2", "Tiers 4", 3, "4 tiers; write 2 or 3"),
            ("Tiers 2", "Tiers 3", 12, "tier 1 has no radix_up"),
            ("Radix_Up 2", "Radix_Up 4", 2, "it is not oversubscribed 4 to 1"),
            ("Radix_Up 2", "Radix_Sideways 2", 8, "unknown key \"Radix_Sideways\""),
            ("Radix_Up 2\n", "", 5, "tier 0 has no radix_up"),
            ("Tier 1", "Tier 0", 12, "tier 0 is there twice"),
            ("Tier 1", "Tier 2", 12, "tier 2 of 2"),
            ("Radix_Down 4\n", "Radix_Down 4\nRadix_Up 4\n", 15, "nothing is above the top tier"),
            ("Radix_Down 4\n", "Radix_Down 8\n", 2, "and 4 to join"),
            ("Radix_Down 4\n", "Radix_Down 4 trailing\n", 14, "3 fields where there should be 2"),
            ("Radix_Down 4\n", "Radix_Down 4\nRadix_Down 4\n", 15, "is there twice"),
        ] {
            assert!(SOUND.contains(from), "{from}");
            let error = read(&SOUND.replacen(from, to, 1)).expect_err(to);
            assert!(error.at == At::Line(line) && error.message.contains(part), "{to}: {error:?}");
        }
    }
}
