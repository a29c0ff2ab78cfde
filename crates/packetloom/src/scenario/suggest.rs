//! "Did you mean": the nearest of the known names.

use super::problem::quoted;

const LONGEST_NAME: usize = 100;

/// The known name that `word` most likely was meant to be, if any is near.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| 3 * distance <= candidate.len().max(word.len()) + 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The message that `word` is no known `what` ("key", "queue"), which was probably meant, and which are known.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    // What is much longer than every name is meant to be none.
    let suggested = (word.len() <= LONGEST_NAME).then(|| nearest(word, known.iter().copied())).flatten();
    let word = quoted(word);
    let suggestion = match suggested {
        Some(near) => format!("; did you mean {near:?}?"),
        None => ".".to_owned(),
    };
    match known {
        [] => format!("unknown {what} {word}. There is none here"),
        _ => format!("unknown {what} {word}{suggestion} Known: {}", known.join(", ")),
    }
}

/// A name without the commonest mistakes: capitals, and which dash.
fn plain(word: &str) -> String {
    word.to_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_word() {
        let keys = ["min_rto", "fast_retransmit", "initial_window"];
        assert_eq!(nearest("min-rto", keys), Some("min_rto"));
        assert_eq!(nearest("minrto", keys), Some("min_rto"));
        assert_eq!(nearest("fast_retransmitt", keys), Some("fast_retransmit"));
        assert_eq!(nearest("Initial_Widnow", keys), Some("initial_window"));
    }

    #[test]
    fn far_words_suggest_nothing() {
        assert_eq!(nearest("colour", ["k", "link", "delay"]), None);
        assert_eq!(unknown("key", "colour", &["k", "link"]), "unknown key \"colour\". Known: k, link");
    }
}
