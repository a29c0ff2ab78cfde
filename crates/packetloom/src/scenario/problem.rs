//! What is wrong with a scenario: where, what, and what to write instead.

use std::borrow::Cow;
use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1, where the scenario is a file of lines.
    pub line: Option<usize>,
    /// The dotted key, such as `scheme[1].transport.min_rto`; empty where it is the file as a whole.
    pub key: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// All that is wrong with a scenario, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file, or what else the scenario came from.
    pub source: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// What is wrong with `source`, in the order of its lines.
    pub(super) fn new(source: &str, mut problems: Vec<Problem>) -> Problems {
        problems.sort_by_key(|problem| problem.line);
        Problems { source: source.to_owned(), problems }
    }

    /// One problem with `source` as a whole, or with one of its lines.
    pub(super) fn one(source: &str, line: Option<usize>, message: impl Into<String>) -> Problems {
        Problems::new(source, vec![Problem { line, key: String::new(), message: message.into() }])
    }
}

/// So many problems are listed.
const MOST_LISTED: usize = 50;

/// So many letters of a key, and of a message, are shown: what users wrote may be of any length.
const MOST_LETTERS: [usize; 2] = [200, 1_000];

/// A text with its middle left out, if it has more letters than so many.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let letters = text.chars().count();
    if letters <= most {
        return text.into();
    }
    let part = |skipped: usize| text.chars().skip(skipped).take(most / 2).collect::<String>();
    format!("{} ... {}", part(0), part(letters - most / 2)).into()
}

/// A text in quotes, as TOML and JSON have it: what a terminal would obey, and not show, is escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in shortened(text, MOST_LETTERS[0]).chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            letter if is_invisible(letter) => quoted += &format!("\\u{:04X}", u32::from(letter)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a letter is a control character, or changes the direction of what is beside it (Unicode UAX #9).
pub(super) fn is_invisible(letter: char) -> bool {
    let turns = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&letter);
    letter.is_control()
        || turns
        || ('\u{202a}'..='\u{202e}').contains(&letter)
        || ('\u{2066}'..='\u{2069}').contains(&letter)
}

/// Whether a letter shows nothing where it stands: Unicode's default-ignorable ones, and two that are blank.
pub(super) fn is_blank(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// `fabric.toml:12: scheme[1].transport.min_rto: "200" has no unit; write a time such as "200us"`.
pub(super) fn line_of_text(source: &str, problem: &Problem) -> String {
    let line = problem.line.map_or(String::new(), |line| format!(":{line}"));
    let [of_key, of_message] = MOST_LETTERS;
    let key = match shortened(&problem.key, of_key) {
        key if key.is_empty() => String::new(),
        key => format!("{key}: "),
    };
    format!("{source}{line}: {key}{}", shortened(&problem.message, of_message))
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.problems.iter().take(MOST_LISTED);
        let mut lines: Vec<String> = listed.map(|problem| line_of_text(&self.source, problem)).collect();
        if self.problems.len() > MOST_LISTED {
            lines.push(format!("{}: there are more mistakes; mend these first", self.source));
        }
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let letters = format!("{}{}", "a".repeat(5_000), "é".repeat(5_000));
        assert_eq!(shortened(&letters, 6), "aaa ... ééé");
        assert_eq!(shortened("short", 6), "short");
        let message = format!("{letters}; write less");
        let problem = Problem { line: Some(3), key: letters, message };
        let line = line_of_text("fabric.toml", &problem);
        assert!(line.chars().count() < 1_300 && line.ends_with("; write less"), "{line}");
    }

    #[test]
    fn many_problems_are_not_all_listed() {
        let problem = |number| Problem { line: Some(number), key: String::new(), message: "no".to_owned() };
        let text = Problems::new("fabric.toml", (1..=100_000).map(problem).collect()).to_string();
        assert_eq!(text.lines().count(), MOST_LISTED + 1);
        assert!(text.ends_with("fabric.toml: there are more mistakes; mend these first"), "{text}");
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_as_toml_has_it() {
        assert_eq!(quoted("a\u{202e}b\u{1b}\"\\\n"), r#""a\u202Eb\u001B\"\\\n""#);
    }
}
