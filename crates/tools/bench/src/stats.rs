//! Numbers out of repeated measurements. Pure.

/// The middle of the values; of an even number of them, the mean of the two in the middle. `None` where there are none.
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

/// The smallest and the largest value.
#[must_use]
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let smallest = values.iter().copied().min_by(f64::total_cmp)?;
    let largest = values.iter().copied().max_by(f64::total_cmp)?;
    Some((smallest, largest))
}

/// The median of the ratios of measurements that were taken in pairs, one right after the other. A machine that is slow
/// for a while slows both halves of a pair, so the ratio says more than the ratio of two medians.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> =
        pairs.iter().filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// How much a value grows for each step, between two points.
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
        // A burst of load doubles the second pair; its ratio stays.
        assert_eq!(paired_ratio(&[(1.0, 2.0), (2.0, 4.0), (1.0, 2.0)]), Some(0.5));
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn a_slope_needs_two_places() {
        assert_eq!(slope((10.0, 1000.0), (100.0, 10_000.0)), Some(100.0));
        assert_eq!(slope((10.0, 1.0), (10.0, 2.0)), None);
    }
}
