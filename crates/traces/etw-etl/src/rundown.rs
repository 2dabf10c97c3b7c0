//! Events that a trace repeats at each rundown.

/// Adds a point. Of points that say the same, as `is_repeated` tells, the first and the last one are enough: the new one
/// replaces the last one. Returns whether there is one more.
pub(crate) fn push<T>(points: &mut Vec<T>, point: T, is_repeated: impl Fn(&T, &T) -> bool) -> bool {
    if let [.., before, last] = points.as_mut_slice()
        && is_repeated(before, &point)
        && is_repeated(last, &point)
    {
        *last = point;
        return false;
    }
    points.push(point);
    true
}
