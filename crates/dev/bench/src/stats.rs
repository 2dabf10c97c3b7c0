//! Statistics of repeated measurements. Pure functions.

/// Returns the median: for an even number of values, the mean of the two in the middle. Returns `None` if there are no
/// values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(middle.checked_sub(1)?)?;
    Some(f64::midpoint(lower, upper))
}

/// Returns the smallest and the largest value.
#[must_use]
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let smallest = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((smallest, largest))
}

/// Describes the smallest and the largest value, to be appended to a text: `, 0.88 to 1.31 s`. Empty if there are no
/// values.
#[must_use]
pub fn spread(values: &[f64], digits: usize, unit: &str) -> String {
    range(values).map_or_else(String::new, |(low, high)| format!(", {low:.digits$} to {high:.digits$}{unit}"))
}

/// Returns the median of the ratios of measurements that were taken in pairs, one immediately after the other. If a
/// machine is slow for a while, both values of a pair are affected. Therefore this says more than the ratio of two
/// medians.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    median(&ratios(pairs))
}

/// Returns the ratio of each pair, except pairs whose second value is zero.
#[must_use]
pub fn ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    pairs.iter().filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs).collect()
}

/// Returns how much a value grows per step between two points.
#[must_use]
pub fn slope(from: (f64, f64), to: (f64, f64)) -> Option<f64> {
    let steps = to.0 - from.0;
    (steps > 0.0).then(|| (to.1 - from.1) / steps)
}

#[cfg(test)]
mod tests {
    use super::{median, paired_ratio, range, slope};

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 9.0, 2.0]), Some(3.0));
    }

    #[test]
    fn the_range_is_smallest_and_largest() {
        assert_eq!(range(&[]), None);
        assert_eq!(range(&[2.0, -1.0, 7.0]), Some((-1.0, 7.0)));
    }

    #[test]
    fn pairs_are_compared_before_the_middle_is_taken() {
        // A burst of load doubles both values of the second pair; the ratio stays the same.
        assert_eq!(paired_ratio(&[(1.0, 2.0), (2.0, 4.0), (1.0, 2.0)]), Some(0.5));
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn a_slope_needs_two_places() {
        assert_eq!(slope((10.0, 1000.0), (100.0, 10_000.0)), Some(100.0));
        assert_eq!(slope((10.0, 1.0), (10.0, 2.0)), None);
    }
}
