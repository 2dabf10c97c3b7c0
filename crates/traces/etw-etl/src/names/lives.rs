//! Names of things whose ids are used again: a name holds from one event to the next.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::rundown;

/// What an event says about a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It begins: the id meant something else before, or nothing.
    Begins,
    /// It is there, and was there before.
    Present,
    /// It ends. The name holds until the id is used again, because events about the thing may still follow.
    Ends,
}

/// Names by id, in the order of time after [`sort`](Self::sort).
#[derive(Clone, Debug)]
pub(super) struct Lives<K> {
    points: HashMap<K, Vec<(u64, Change, Arc<str>)>>,
}

impl<K> Default for Lives<K> {
    fn default() -> Self {
        Self { points: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash> Lives<K> {
    pub(super) fn add(&mut self, id: K, stamp: u64, change: Change, name: Arc<str>) {
        let points = self.points.entry(id).or_default();
        rundown::push(points, (stamp, change, name), |known, new| {
            [known.1, new.1] == [Change::Present; 2] && known.2 == new.2
        });
    }

    /// Adds the names of another trace, whose time stamps are converted.
    pub(super) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        for (id, points) in &other.points {
            let converted = points.iter().map(|(at, change, name)| (stamp(*at), *change, Arc::clone(name)));
            self.points.entry(*id).or_default().extend(converted);
        }
    }

    pub(super) fn sort(&mut self) {
        for points in self.points.values_mut() {
            // A stable sort: events of one time stamp keep their order.
            points.sort_by_key(|(stamp, ..)| *stamp);
            points.dedup_by(|(_, next, name), (_, _, last)| *next == Change::Present && name == last);
        }
    }

    /// Replaces names. Equal names are looked up once.
    pub(super) fn rename(&mut self, new_name: impl Fn(&str) -> Option<String>) {
        let mut known: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        for (.., name) in self.points.values_mut().flatten() {
            let new =
                known.entry(Arc::clone(name)).or_insert_with(|| new_name(name).map_or(Arc::clone(name), Into::into));
            *name = Arc::clone(new);
        }
    }

    /// Returns the name of a thing at a time.
    pub(super) fn get(&self, id: K, stamp: u64) -> Option<Arc<str>> {
        self.life(id, stamp).0
    }

    /// Returns the name of a thing at a time, and the time stamps for which that is its name.
    pub(super) fn life(&self, id: K, stamp: u64) -> (Option<Arc<str>>, RangeInclusive<u64>) {
        let points = self.points.get(&id).map_or(&[][..], Vec::as_slice);
        let next = points.partition_point(|(point, ..)| *point <= stamp);
        let last = next.checked_sub(1).and_then(|last| points.get(last));
        let later = points.get(next);
        let holds = last.map_or(0, |(from, ..)| *from)..=later.map_or(u64::MAX, |(until, ..)| until - 1);
        let name = last.or_else(|| later.filter(|(_, change, _)| *change != Change::Begins));
        (name.map(|(.., name)| Arc::clone(name)), holds)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Lives};

    #[test]
    fn a_name_holds_until_the_id_is_used_again() {
        let mut lives = Lives::default();
        lives.add(7, 50, Change::Begins, "second".into());
        lives.add(7, 20, Change::Ends, "first".into());
        lives.add(8, 90, Change::Present, "rundown".into());
        lives.add(9, 30, Change::Begins, "late".into());
        lives.sort();
        let at = |id, stamp| lives.get(id, stamp);
        assert_eq!(
            [0, 20, 49, 50, 99].map(|stamp| at(7, stamp)),
            ["first", "first", "first", "second", "second"].map(|name| Some(name.into()))
        );
        assert_eq!(at(8, 0), Some("rundown".into()));
        assert_eq!(at(9, 29), None);
        assert_eq!(at(10, 0), None);
        let holds = |id, stamp| lives.life(id, stamp).1;
        assert_eq!([0, 19, 20, 49, 50].map(|stamp| holds(7, stamp)), [0..=19, 0..=19, 20..=49, 20..=49, 50..=u64::MAX]);
        assert_eq!(holds(9, 29), 0..=29);
        assert_eq!(holds(10, 5), 0..=u64::MAX);
    }
}
