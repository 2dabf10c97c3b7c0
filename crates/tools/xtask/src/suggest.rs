//! "Did you mean …?": the known word that is nearest to one that is not.

use strsim::osa_distance;

/// The candidate that is at most a third of the word of editing away, or that begins with it.
pub(crate) fn nearest<S: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = S>) -> Option<S> {
    let word = word.to_lowercase();
    let limit = word.chars().count() / 3;
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let begins = word.chars().count() >= 3 && candidate.starts_with(&word);
        if begins { 1 } else { osa_distance(&word, &candidate) }
    };
    let scored = candidates.into_iter().map(|candidate| (score(candidate.as_ref()), candidate));
    scored.filter(|(score, _)| *score <= limit).min_by_key(|(score, _)| *score).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_none() {
        let words = ["sessions", "providers", "start", "stats", "stop", "stack-tracing", "stream-count"];
        for (word, near) in [
            ("sesions", Some("sessions")),
            ("satrt", Some("start")),
            ("STOP", Some("stop")),
            ("stack-trac", Some("stack-tracing")),
            ("stream-cont", Some("stream-count")),
            ("prov", Some("providers")),
            ("st", None),
            ("frobnicate", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), near, "{word}");
        }
    }
}
