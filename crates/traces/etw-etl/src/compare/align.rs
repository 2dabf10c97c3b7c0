//! Finds which elements of two lists belong together, with the algorithm of Myers ("An O(ND) difference algorithm and its
//! variations", 1986): the fewest elements stay alone.

/// The largest number of elements that may stay alone. Lists that differ more are paired by position: the memory for the search
/// grows with the square of this number.
const MAX_EDITS: usize = 2000;

/// An element of one list, or one of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    First(usize),
    Second(usize),
    Both(usize, usize),
}

/// Pairs equal elements, in the order of the lists.
pub(super) fn align<T: PartialEq>(first: &[T], second: &[T]) -> Vec<Pair> {
    let path = search(first, second).unwrap_or_else(|| by_position(first, second));
    debug_assert!(path.len() <= first.len() + second.len(), "every element is in one pair");
    path
}

/// Pairs elements at the same position if they are equal.
fn by_position<T: PartialEq>(first: &[T], second: &[T]) -> Vec<Pair> {
    let common = first.len().min(second.len());
    let mut path = Vec::with_capacity(first.len() + second.len() - common);
    for (place, (one, other)) in first.iter().zip(second).enumerate() {
        if one == other {
            path.push(Pair::Both(place, place));
        } else {
            path.extend([Pair::First(place), Pair::Second(place)]);
        }
    }
    path.extend((common..first.len()).map(Pair::First));
    path.extend((common..second.len()).map(Pair::Second));
    path
}

/// The furthest position in the first list on each diagonal, after a number of edits. Diagonal `k` is at index `k + edits`, so that
/// it is never negative.
type Reached = Vec<usize>;

fn search<T: PartialEq>(first: &[T], second: &[T]) -> Option<Vec<Pair>> {
    let mut history: Vec<Reached> = Vec::new();
    let most = MAX_EDITS.min(first.len() + second.len());
    for edits in 0..=most {
        let before = history.last();
        let mut reached = vec![0; 2 * edits + 1];
        for (index, place) in reached.iter_mut().enumerate().step_by(2) {
            let (_, mut x) = step(before, index);
            // On this diagonal, x - y = index - edits.
            let mut y = (x + edits).checked_sub(index);
            while let Some(down) = y
                && first.get(x).is_some_and(|one| second.get(down) == Some(one))
            {
                x += 1;
                y = Some(down + 1);
            }
            *place = x;
            if x == first.len() && y == Some(second.len()) {
                history.push(reached);
                return Some(trace_back(&history, first.len(), second.len()));
            }
        }
        history.push(reached);
    }
    None
}

/// Where a path on a diagonal begins: whether it comes from the diagonal above by taking an element of the first list, and the
/// position in the first list.
fn step(before: Option<&Reached>, index: usize) -> (bool, usize) {
    let Some(before) = before else { return (false, 0) };
    // With one edit less, the diagonals k - 1 and k + 1 are at these indices.
    let left = index.checked_sub(2).and_then(|place| before.get(place)).copied();
    let right = before.get(index).copied();
    match (left, right) {
        (Some(left), Some(right)) if left < right => (false, right),
        (None, Some(right)) => (false, right),
        (Some(left), _) => (true, left + 1),
        (None, None) => (false, 0),
    }
}

fn trace_back(history: &[Reached], mut x: usize, mut y: usize) -> Vec<Pair> {
    let mut path = Vec::new();
    for edits in (0..history.len()).rev() {
        let index = (x + edits).saturating_sub(y);
        let before = edits.checked_sub(1).and_then(|place| history.get(place));
        let (takes_first, start) = step(before, index);
        while x > start && y > 0 {
            x -= 1;
            y -= 1;
            path.push(Pair::Both(x, y));
        }
        if edits == 0 {
            break;
        }
        if takes_first {
            x = x.saturating_sub(1);
            path.push(Pair::First(x));
        } else {
            y = y.saturating_sub(1);
            path.push(Pair::Second(y));
        }
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::{MAX_EDITS, Pair, align};

    /// Returns the pairs as a text: `-a` and `+a` are alone, `a` is in both. Checks that each element is there once, in order.
    fn shown(first: &str, second: &str) -> String {
        let (one, other): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
        let mut left = String::new();
        let mut right = String::new();
        let mut text = String::new();
        for pair in align(&one, &other) {
            match pair {
                Pair::First(place) => {
                    left.push(one[place]);
                    text.extend(['-', one[place]]);
                }
                Pair::Second(place) => {
                    right.push(other[place]);
                    text.extend(['+', other[place]]);
                }
                Pair::Both(place, there) => {
                    assert_eq!(one[place], other[there]);
                    left.push(one[place]);
                    right.push(other[there]);
                    text.push(one[place]);
                }
            }
        }
        assert_eq!(left.as_str(), first);
        assert_eq!(right.as_str(), second);
        text
    }

    #[test]
    fn the_fewest_elements_stay_alone() {
        for (first, second, expected) in [
            ("", "", ""),
            ("abc", "abc", "abc"),
            ("", "ab", "+a+b"),
            ("ab", "", "-a-b"),
            ("abc", "ac", "a-bc"),
            ("ac", "abc", "a+bc"),
            ("abcd", "bcde", "-abcd+e"),
        ] {
            assert_eq!(shown(first, second), expected, "{first} {second}");
        }
    }

    /// All pairs of lists of up to five elements of two kinds, against the longest common subsequence.
    #[test]
    fn small_lists_are_aligned_as_well_as_possible() {
        let lists: Vec<String> = (0..6_u32)
            .flat_map(|length| {
                (0..1_u32 << length)
                    .map(move |bits| (0..length).map(|bit| if bits >> bit & 1 == 1 { 'b' } else { 'a' }).collect())
            })
            .collect();
        for first in &lists {
            for second in &lists {
                let common =
                    shown(first, second).replace("-a", "").replace("-b", "").replace("+a", "").replace("+b", "");
                assert_eq!(common.len(), longest(first.as_bytes(), second.as_bytes()), "{first} {second}");
            }
        }
    }

    fn longest(first: &[u8], second: &[u8]) -> usize {
        match (first, second) {
            ([], _) | (_, []) => 0,
            ([one, first @ ..], [other, second @ ..]) if one == other => 1 + longest(first, second),
            ([_, rest @ ..], [_, others @ ..]) => longest(rest, second).max(longest(first, others)),
        }
    }

    #[test]
    fn lists_that_have_little_in_common_are_paired_by_position() {
        let first: Vec<usize> = (0..=MAX_EDITS).collect();
        let mut second: Vec<usize> = first.iter().map(|each| each + 10_000).collect();
        second[7] = 7;
        let both: Vec<Pair> =
            align(&first, &second).into_iter().filter(|pair| matches!(pair, Pair::Both(..))).collect();
        assert_eq!(both, [Pair::Both(7, 7)]);
    }
}
