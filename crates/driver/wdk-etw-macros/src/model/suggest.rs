//! "Did you mean …?": the nearest of a set of names.

/// Returns the candidate nearest to `wrong` if it is near enough for a likely typing error.
pub(crate) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match wrong.chars().count() {
        0..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(&wrong.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance. Swapping two adjacent characters counts as one edit, as it is a common typing error.
#[expect(clippy::indexing_slicing, reason = "a row is one longer than `right`, and both enumerations end before it")]
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let width = right.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, to) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(from != to);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && left[row - 1] == *to && right[column - 1] == *from;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn a_swap_is_one_edit() {
        for (left, right, edits) in [
            ("u23", "u32", 1),
            ("ab", "ba", 1),
            ("abcdef", "badcfe", 3),
            ("abcd", "cbad", 2),
            ("aba", "bab", 2),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(left, right), edits, "{left} {right}");
        }
    }

    #[test]
    fn adding_removing_and_replacing_are_edits() {
        for (left, right, edits) in
            [("", "", 0), ("", "abc", 3), ("abc", "", 3), ("ab", "a", 1), ("flaw", "lawn", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), edits, "{left} {right}");
        }
    }

    #[test]
    fn a_distant_name_is_not_suggested() {
        assert_eq!(nearest("u23", ["u16", "u32"]), Some("u32"));
        assert_eq!(nearest("frobnicate", ["u16", "u32"]), None);
        assert_eq!(nearest("Str8", ["str8"]), Some("str8"));
        assert_eq!(nearest("level", ["leveler", "levels"]), Some("levels"));
    }

    #[test]
    fn a_longer_name_may_have_more_mistakes() {
        for (wrong, right, is_near) in [
            ("abX", "abc", true),
            ("aXX", "abc", false),
            ("abXX", "abcd", true),
            ("aXXX", "abcd", false),
            ("abcdeXX", "abcdefg", true),
            ("abcdXXX", "abcdefg", false),
            ("abcdeXXX", "abcdefgh", true),
            ("abcdXXXX", "abcdefgh", false),
        ] {
            assert_eq!(nearest(wrong, [right]), is_near.then_some(right), "{wrong}");
        }
    }
}
