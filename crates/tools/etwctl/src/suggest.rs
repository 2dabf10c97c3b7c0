//! "Did you mean …?": the known word that is nearest to one that is not.

/// The candidate that is at most a third of the word of editing away, or that begins with it.
pub(crate) fn nearest<S: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = S>) -> Option<S> {
    let word = word.to_lowercase();
    let limit = word.chars().count() / 3;
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let begins = word.chars().count() >= 3 && candidate.starts_with(&word);
        if begins { 1 } else { distance(&word, &candidate) }
    };
    let scored = candidates.into_iter().map(|candidate| (score(candidate.as_ref()), candidate));
    scored.filter(|(score, _)| *score <= limit).min_by_key(|(score, _)| *score).map(|(_, candidate)| candidate)
}

/// The same as the end of a message; nothing where nothing is near.
pub(crate) fn hint<S: AsRef<str>>(word: &str, candidates: impl IntoIterator<Item = S>) -> String {
    nearest(word, candidates).map_or_else(String::new, |near| format!("; did you mean '{}'?", near.as_ref()))
}

/// Insertions, deletions, replacements and swaps of neighbours that make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // Two rows of the table above the one that is filled.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    let mut last = None;
    for (index, letter) in one.chars().enumerate() {
        let mut row = vec![index + 1];
        for (column, &against) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, column) + usize::from(letter != against);
            let mut best = replaced.min(at(&above, column + 1) + 1).min(at(&row, column) + 1);
            let is_swap = column > 0 && last == Some(against) && other.get(column - 1) == Some(&letter);
            if is_swap {
                best = best.min(at(&before, column - 1) + 1);
            }
            row.push(best);
        }
        last = Some(letter);
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, hint, nearest};

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
        assert_eq!(hint("stpo", words), "; did you mean 'stop'?");
        assert_eq!(hint("frobnicate", words), "");
    }

    #[test]
    fn swapping_neighbours_costs_one() {
        assert_eq!((distance("ab", "ba"), distance("kitten", "sitting"), distance("", "abc")), (1, 3, 3));
    }
}
