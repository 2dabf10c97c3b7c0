//! Finds the known name that is most similar to a mistyped one.

/// Returns the end of a message about an unknown word: `; did you mean …?` with the nearest known word, or nothing if
/// none is near.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
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
