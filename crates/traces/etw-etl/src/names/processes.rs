//! The processes of a trace and their lives.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::lives::Change;
use crate::decode::Process;
use crate::rundown;

/// Processes by id. A process id is used again after the process has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Processes {
    points: BTreeMap<u32, Vec<(u64, Change, Process)>>,
    /// Each process, with the time stamp from which its id means this process.
    lives: BTreeMap<u32, Vec<(u64, Arc<Process>)>>,
}

impl Processes {
    pub(super) fn add(&mut self, stamp: u64, change: Change, process: Process) {
        let points = self.points.entry(process.id).or_default();
        rundown::push(points, (stamp, change, process), |known, new| {
            [known.1, new.1] == [Change::Present; 2] && known.2 == new.2
        });
    }

    /// Adds the processes of another trace, whose time stamps are converted.
    pub(super) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        for (id, points) in &other.points {
            let converted = points.iter().map(|(at, change, process)| (stamp(*at), *change, process.clone()));
            self.points.entry(*id).or_default().extend(converted);
        }
    }

    /// Joins the events of each process to its life.
    pub(super) fn sort(&mut self) {
        self.lives.clear();
        for (id, points) in &mut self.points {
            // A stable sort: events of one time stamp keep their order.
            points.sort_by_key(|(stamp, ..)| *stamp);
            let mut lives: Vec<(u64, Process)> = Vec::new();
            for (stamp, change, process) in &*points {
                // The end of a process may have only the first characters of its name. Two providers report the start of a
                // process: the kernel and Microsoft-Windows-Kernel-Process.
                let is_same = |last: &Process| match change {
                    Change::Begins => {
                        let is_running = last.start.is_some() && last.end.is_none();
                        is_running && last.parent == process.parent && last.name.starts_with(&*process.name)
                    }
                    Change::Present => last.name == process.name,
                    Change::Ends => last.name.starts_with(&*process.name),
                };
                let same = lives.last_mut().filter(|(_, last)| is_same(last));
                let start = (*change == Change::Begins).then_some(*stamp);
                let end = (*change == Change::Ends).then_some(*stamp);
                if let Some((_, last)) = same {
                    last.end = last.end.or(end);
                    if last.command_line.is_none() {
                        last.command_line.clone_from(&process.command_line);
                    }
                } else {
                    // The first process of an id was there before, unless its start says otherwise.
                    let from = if lives.is_empty() && start.is_none() { 0 } else { *stamp };
                    lives.push((from, Process { start, end, ..process.clone() }));
                }
            }
            self.lives.insert(*id, lives.into_iter().map(|(from, process)| (from, Arc::new(process))).collect());
        }
    }

    /// Returns the process with an id at a time, and the time stamps for which the id means this process.
    pub(super) fn life(&self, id: u32, stamp: u64) -> (Option<Arc<Process>>, RangeInclusive<u64>) {
        let lives = self.lives.get(&id).map_or(&[][..], Vec::as_slice);
        let next = lives.partition_point(|(from, _)| *from <= stamp);
        let last = next.checked_sub(1).and_then(|last| lives.get(last));
        let holds = last.map_or(0, |(from, _)| *from)..=lives.get(next).map_or(u64::MAX, |(until, _)| until - 1);
        (last.map(|(_, process)| Arc::clone(process)), holds)
    }

    /// Returns all processes, ordered by id and time.
    pub(super) fn all(&self) -> impl Iterator<Item = &Process> {
        self.lives.values().flatten().map(|(_, process)| &**process)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Process, Processes};

    fn process(id: u32, name: &str) -> Process {
        Process { id, name: name.into(), ..Process::default() }
    }

    #[test]
    fn a_process_that_is_described_again_and_again_takes_no_more_memory() {
        let mut processes = Processes::default();
        for stamp in 10..1_000 {
            processes.add(stamp, Change::Present, process(4, "a.exe"));
        }
        processes.add(2_000, Change::Begins, process(4, "b.exe"));
        assert_eq!(processes.points[&4].len(), 3);
        processes.sort();
        let name = |stamp| processes.life(4, stamp).0.map(|process| process.name.to_string());
        assert_eq!([0, 999, 1_999].map(name), ["a.exe"; 3].map(|name| Some(name.to_owned())));
        assert_eq!(name(2_000).as_deref(), Some("b.exe"));
    }

    #[test]
    fn a_start_that_two_providers_report_begins_one_process() {
        let mut processes = Processes::default();
        let child = |name: &str| Process { parent: Some(8), ..process(4, name) };
        let of_kernel = Process { command_line: Some("a.exe /x".into()), ..child("a.exe") };
        processes.add(10, Change::Begins, child("a.exe"));
        processes.add(11, Change::Begins, of_kernel.clone());
        processes.add(20, Change::Ends, child("a.exe"));
        processes.add(21, Change::Ends, of_kernel.clone());
        // The same program again, and then another parent's.
        processes.add(30, Change::Begins, of_kernel.clone());
        processes.add(40, Change::Begins, Process { parent: Some(9), ..of_kernel });
        processes.sort();
        let lives: Vec<_> = processes.all().map(|life| (life.start, life.end, life.command_line.is_some())).collect();
        assert_eq!(lives, [(Some(10), Some(20), true), (Some(30), None, true), (Some(40), None, true)]);
    }

    #[test]
    fn an_id_names_the_process_that_had_it_at_the_time_also_after_its_end() {
        let mut processes = Processes::default();
        processes.add(40, Change::Ends, process(4, "a.exe"));
        processes.add(10, Change::Present, process(4, "a.exe"));
        processes.add(60, Change::Begins, process(4, "b.exe"));
        processes.add(60, Change::Begins, process(5, "late.exe"));
        processes.sort();
        let name = |id, stamp| processes.life(id, stamp).0.map(|process| process.name.to_string());
        assert_eq!([0, 10, 50].map(|stamp| name(4, stamp)), ["a.exe"; 3].map(|name| Some(name.to_owned())));
        assert_eq!(name(4, 60).as_deref(), Some("b.exe"));
        assert_eq!(name(5, 59), None);
        assert_eq!([0, 59, 60].map(|stamp| processes.life(4, stamp).1), [0..=59, 0..=59, 60..=u64::MAX]);
        assert_eq!(processes.life(5, 59).1, 0..=59);
        assert_eq!(processes.life(6, 9).1, 0..=u64::MAX);
        let lives: Vec<_> = processes.all().map(|process| (&*process.name, process.start, process.end)).collect();
        assert_eq!(lives, [("a.exe", None, Some(40)), ("b.exe", Some(60), None), ("late.exe", Some(60), None)]);
    }
}
