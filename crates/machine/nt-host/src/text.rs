//! The text of values, as the command line has it.

/// Returns bytes as two hexadecimal digits each.
///
/// ```
/// assert_eq!(nt_host::text::hexadecimal(&[0, 0xFF]), "00ff");
/// ```
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Returns a share in percent, rounded down to tenths, so that 100 % means all of them.
///
/// ```
/// assert_eq!(nt_host::text::percent(999, 1000), "99.9 %");
/// ```
#[must_use]
pub fn percent(part: usize, all: usize) -> String {
    let tenths = (part * 1000).checked_div(all).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Returns the end of a message about an unknown word: `; did you mean …?` with the nearest known word, or nothing if
/// none is near.
///
/// ```
/// assert_eq!(nt_host::text::suggestion("raed", &["read", "write"]), "; did you mean `read`?");
/// ```
#[must_use]
pub fn suggestion(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Returns the nearest known word: one that differs only in case, that begins with the word, or whose edit distance is
/// at most a third of the word's length.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let begins = length >= 3 && candidate.starts_with(&word) && candidate != word;
        if begins { 1 } else { strsim::osa_distance(&word, &candidate) }
    };
    let scored = known.iter().map(|candidate| (score(candidate), *candidate));
    // Of several words that begin with this one, the shortest is the nearest.
    let near = scored.filter(|(score, _)| *score <= length / 3);
    near.min_by_key(|(score, candidate)| (*score, candidate.len())).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn a_mistyped_word_gets_a_suggestion_and_an_unrelated_one_none() {
        let words = ["EtwRegister", "EtwSetInformation", "IoCreateDevice", "IoCreateDeviceSecure"];
        for (word, near) in [
            ("EtwRegistr", "EtwRegister"),
            ("etwregister", "EtwRegister"),
            ("IoCreateDev", "IoCreateDevice"),
            ("IoCreateDevice", "IoCreateDevice"),
        ] {
            assert_eq!(suggestion(word, &words), format!("; did you mean `{near}`?"), "{word}");
        }
        assert_eq!(suggestion("Nope", &words), "");
    }
}
