//! One value against one kind: what it is, or what to write instead.

use super::problem::{is_invisible, quoted};
use super::quantity::{self, BYTES, Dimension, PACKETS, RATE, TIME};
use super::suggest;
use super::tree::Item;
use crate::narrow::saturated;
use crate::spec::{Kind, NEVER, Value};
use crate::units::Time;

/// Above this a float no longer holds every whole number.
const LARGEST_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The value of a kind that is neither a component nor a list.
pub(super) fn read(item: &Item, kind: &Kind) -> Result<Value, String> {
    match kind {
        Kind::Time => Ok(Value::Time(quantity::time(quantity_text(item, &TIME)?)?)),
        Kind::TimeOr(word) => match item {
            Item::Text(text) if text == word && text == NEVER => Ok(Value::Time(Time::NEVER)),
            Item::Text(text) if text == word => Ok(Value::Text(text.clone())),
            _ => read(item, &Kind::Time).map_err(|message| format!("{message}, or {word:?}")),
        },
        Kind::Bytes => Ok(Value::Bytes(quantity::bytes(quantity_text(item, &BYTES)?)?)),
        Kind::Rate => Ok(Value::Rate(quantity::rate(quantity_text(item, &RATE)?)?)),
        Kind::Buffer => quantity::buffer(buffer_text(item)?),
        Kind::Count(least) => count(item, *least).map(Value::Count),
        Kind::Number(least, most) => number(item, *least, *most).map(Value::Number),
        Kind::Flag => match item {
            Item::Flag(flag) => Ok(Value::Flag(*flag)),
            _ => Err(format!("{item} is neither true nor false; write one of them, without quotes")),
        },
        Kind::Text => without_control(text(item, "text")?, &[]).map(Value::Text),
        Kind::Choice(words) => match text(item, "a word")? {
            word if words.contains(&word) => Ok(Value::Text(word.to_owned())),
            word => Err(suggest::unknown("word", word, words)),
        },
        Kind::Component(_) | Kind::List(_) => unreachable!("the reader takes these apart"),
    }
}

fn quantity_text<'a>(item: &'a Item, dimension: &Dimension) -> Result<&'a str, String> {
    match item {
        Item::Text(text) => Ok(text),
        Item::Integer(_) | Item::Number(_) => Err(bare_number(item, dimension)),
        _ => Err(format!("{item} is not {}; write one such as {:?}", dimension.noun, dimension.example)),
    }
}

fn buffer_text(item: &Item) -> Result<&str, String> {
    quantity_text(item, &BYTES).map_err(|message| format!("{message} or {:?}", PACKETS.example))
}

fn bare_number(item: &Item, dimension: &Dimension) -> String {
    let number = item.to_string();
    let example = match number.strip_prefix('-') {
        None => format!("{number}{}", dimension.usual_unit),
        Some(_) => dimension.example.to_owned(),
    };
    format!("{number} has no unit; write {} such as {example:?}", dimension.noun)
}

fn count(item: &Item, least: u64) -> Result<u64, String> {
    let wanted =
        if least == 0 { "a whole number".to_owned() } else { format!("a whole number, at least {least}") };
    let whole = match item {
        Item::Integer(integer) => *integer,
        Item::Number(number) if number.trunc() == *number && number.abs() <= LARGEST_EXACT_FLOAT => {
            saturated::<i128>(*number)
        }
        Item::Text(text) if text.parse::<u64>().is_ok() => {
            return Err(format!("{item} is text; write {text}, without quotes"));
        }
        // The readers keep the text of what no number of theirs can hold.
        Item::Other(text) if text.bytes().all(|letter| letter.is_ascii_digit() || letter == b'_') => {
            return Err(format!("{item} is too large; write at most {}", quantity::LARGEST));
        }
        _ => return Err(format!("{item} is not a whole number; write {wanted}")),
    };
    if whole < i128::from(least) {
        return Err(format!("{item} is too small; write {wanted}"));
    }
    match u64::try_from(whole) {
        Ok(count) if count <= quantity::LARGEST => Ok(count),
        _ => Err(format!("{item} is too large; write at most {}", quantity::LARGEST)),
    }
}

fn number(item: &Item, least: f64, most: f64) -> Result<f64, String> {
    let wanted = format!("a number from {least} to {most}");
    let number = match item {
        Item::Integer(integer) => *integer as f64,
        Item::Number(number) => *number,
        Item::Text(text) if text.parse::<f64>().is_ok() => {
            return Err(format!("{item} is text; write {text}, without quotes"));
        }
        _ => return Err(format!("{item} is not a number; write {wanted}")),
    };
    if number.is_finite() && (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{item} is out of range; write {wanted}"))
    }
}

/// A text of one or several lines: what people read, and no name of anything.
pub(super) fn prose(item: &Item) -> Result<String, String> {
    without_control(text(item, "text")?, &['\n', '\r', '\t'])
}

/// A terminal obeys control characters instead of showing them, and those that change the direction of the text make
/// one name look like another.
fn without_control(text: &str, allowed: &[char]) -> Result<String, String> {
    match text.chars().find(|letter| is_invisible(*letter) && !allowed.contains(letter)) {
        None => Ok(text.to_owned()),
        Some(letter) => {
            let text = quoted(text);
            Err(format!("{text} has a control character, U+{:04X}; leave it out", u32::from(letter)))
        }
    }
}

fn text<'a>(item: &'a Item, wanted: &str) -> Result<&'a str, String> {
    match item {
        Item::Text(text) => Ok(text),
        _ => Err(format!("{item} is not {wanted}; write {wanted} in quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Node;
    use super::*;

    fn of(toml: &str, kind: Kind) -> Result<Value, String> {
        read(&Node::from_toml_value(toml).unwrap().item, &kind)
    }

    #[test]
    fn values_of_the_right_kind_are_taken() {
        assert_eq!(of("'40us'", Kind::Time), Ok(Value::Time(Time::from_us(40))));
        assert_eq!(of("20_000", Kind::Count(1)), Ok(Value::Count(20_000)));
        assert_eq!(of("1e6", Kind::Count(1)), Ok(Value::Count(1_000_000)));
        assert_eq!(of("1", Kind::Number(0.0, 1.0)), Ok(Value::Number(1.0)));
        assert_eq!(of("false", Kind::Flag), Ok(Value::Flag(false)));
        assert_eq!(of("'srpt'", Kind::Choice(&["srpt", "edf"])), Ok(Value::Text("srpt".to_owned())));
    }

    #[test]
    fn a_bare_number_where_a_unit_belongs_says_what_to_write() {
        let message = |toml, kind| of(toml, kind).unwrap_err();
        assert_eq!(message("200", Kind::Time), "200 has no unit; write a time such as \"200us\"");
        assert_eq!(message("0", Kind::Time), "0 has no unit; write a time such as \"0us\"");
        assert_eq!(message("10", Kind::Rate), "10 has no unit; write a rate such as \"10Gbps\"");
        assert_eq!(message("-10", Kind::Rate), "-10 has no unit; write a rate such as \"10Gbps\"");
        assert_eq!(message("22.5", Kind::Bytes), "22.5 has no unit; write a size such as \"22.5KB\"");
        assert_eq!(
            message("225", Kind::Buffer),
            "225 has no unit; write a size such as \"225KB\" or \"8packets\""
        );
        assert_eq!(of("'auto'", Kind::TimeOr("auto")), Ok(Value::Text("auto".to_owned())));
        assert_eq!(of("'never'", Kind::TimeOr(NEVER)), Ok(Value::Time(Time::NEVER)));
        assert_eq!(of("'40us'", Kind::TimeOr("auto")), Ok(Value::Time(Time::from_us(40))));
        assert_eq!(
            message("200", Kind::TimeOr("auto")),
            "200 has no unit; write a time such as \"200us\", or \"auto\""
        );
        assert_eq!(message("true", Kind::Time), "true is not a time; write one such as \"40us\"");
        assert_eq!(message("{}", Kind::Bytes), "a table is not a size; write one such as \"22.5KB\"");
    }

    #[test]
    fn values_of_another_kind_say_what_belongs() {
        let message = |toml, kind| of(toml, kind).unwrap_err();
        assert_eq!(message("3", Kind::Count(4)), "3 is too small; write a whole number, at least 4");
        assert_eq!(message("-3", Kind::Count(0)), "-3 is too small; write a whole number");
        assert_eq!(message("2.5", Kind::Count(0)), "2.5 is not a whole number; write a whole number");
        let digits = "9".repeat(100);
        let many = message(&digits, Kind::Count(0));
        assert!(
            many.contains(" ... ") && many.ends_with("is too large; write at most 9223372036854775807"),
            "{many}"
        );
        assert_eq!(message("'20'", Kind::Count(1)), "\"20\" is text; write 20, without quotes");
        assert!(message("9223372036854775808", Kind::Count(0)).contains("too large"));
        let fraction = Kind::Number(0.0, 1.0);
        assert_eq!(message("1.5", fraction), "1.5 is out of range; write a number from 0 to 1");
        assert_eq!(message("nan", fraction), "NaN is out of range; write a number from 0 to 1");
        assert_eq!(message("'0.5'", fraction), "\"0.5\" is text; write 0.5, without quotes");
        assert_eq!(
            message("'yes'", Kind::Flag),
            "\"yes\" is neither true nor false; write one of them, without quotes"
        );
        assert_eq!(message("5", Kind::Text), "5 is not text; write text in quotes");
        assert_eq!(
            message(r#""TCP\u001b[31m""#, Kind::Text),
            "\"TCP\\u001B[31m\" has a control character, U+001B; leave it out"
        );
        assert!(message(r#""two\nlines""#, Kind::Text).contains("U+000A"));
        assert!(message(r#""T\u202ECP""#, Kind::Text).contains("control character, U+202E"));
        assert_eq!(prose(&Item::Text("two\n\tlines".to_owned())), Ok("two\n\tlines".to_owned()));
        assert!(prose(&Item::Text("\u{7}".to_owned())).is_err());
        assert_eq!(message("1979-05-27", Kind::Text), "1979-05-27 is not text; write text in quotes");
        assert_eq!(
            message("'sprt'", Kind::Choice(&["srpt", "edf"])),
            "unknown word \"sprt\"; did you mean \"srpt\"? Known: srpt, edf"
        );
    }
}
