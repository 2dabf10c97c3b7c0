//! Finds the known word that is most similar to a mistyped one, for "did you mean …?".

/// Returns the most similar candidate. Its edit distance is at most a third of the word's length, or it begins with
/// the word.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count() / 3;
    let score = |candidate: &str| {
        let begins = word.chars().count() >= 3 && candidate.starts_with(word);
        if begins { 1 } else { strsim::osa_distance(word, candidate) }
    };
    let scored = candidates.into_iter().map(|candidate| (score(candidate), candidate));
    scored.filter(|(score, _)| *score <= limit).min_by_key(|(score, _)| *score).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelled_word_gets_a_suggestion_and_an_unrelated_one_none() {
        let words = ["test", "bench", "package"];
        for (word, near) in [("tset", Some("test")), ("pack", Some("package")), ("be", None), ("frobnicate", None)] {
            assert_eq!(nearest(word, words), near, "{word}");
        }
    }
}
