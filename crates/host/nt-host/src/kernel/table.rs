//! All routines under their numbers, and the stubs that lead to them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use windows_releases::first_with_routine;

use super::routine::{Fails, Routine};
use super::{
    bitmap, bugcheck, build_packets, crt, debug, devices, dpc, etw, events, executive, files, interfaces, io, irql,
    list, lookaside, lookup, mdl, memory, misc, objects, own_timers, pool, registrations, registry, resource,
    shared_locks, spinlock, start_io, strings, threads, time, work,
};
use crate::Os;
use crate::config::Config;
use crate::cpu::stubs::Stubs;
use crate::cpu::switch;
use crate::{seh, wdf};

/// The families of the kernel's routines.
static KERNEL: [&[Routine]; 35] = [
    bitmap::ROUTINES,
    bugcheck::ROUTINES,
    build_packets::ROUTINES,
    debug::ROUTINES,
    devices::ROUTINES,
    dpc::ROUTINES,
    etw::ROUTINES,
    events::ROUTINES,
    executive::ROUTINES,
    files::ROUTINES,
    interfaces::ROUTINES,
    io::ROUTINES,
    irql::ROUTINES,
    list::ROUTINES,
    lookaside::ROUTINES,
    lookup::ROUTINES,
    mdl::ROUTINES,
    memory::ROUTINES,
    misc::ROUTINES,
    objects::ROUTINES,
    own_timers::ROUTINES,
    pool::ROUTINES,
    registrations::ROUTINES,
    registry::ROUTINES,
    seh::ROUTINES[0],
    seh::ROUTINES[1],
    resource::ROUTINES,
    shared_locks::ROUTINES,
    spinlock::ROUTINES,
    start_io::ROUTINES,
    strings::ROUTINES,
    crt::ROUTINES,
    threads::ROUTINES,
    time::ROUTINES,
    work::ROUTINES,
];

/// Room for imports that nobody has.
const MOST_UNKNOWN: u32 = 1024;

/// The step of the random numbers: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// One number.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) routine: Option<&'static Routine>,
}

/// What this host knows about a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Known {
    /// It has it.
    Implemented,
    /// It answers a fixed value, whatever was done before, and does nothing.
    Fixed,
    /// This release of Windows does not have it: the first one that does.
    Newer(Os),
    /// A call of it ends the run, with its name.
    Trapped,
}

/// Whether this host has a routine of ntoskrnl.exe, hal.dll or WDFLDR.SYS.
#[must_use]
pub fn known(name: &str, os: Os) -> Known {
    if let Some(first) = first_with_routine(name).filter(|first| *first > os) {
        return Known::Newer(first);
    }
    match find(name) {
        Some(routine) if routine.fixed => Known::Fixed,
        Some(_) => Known::Implemented,
        None if name == "__chkstk" => Known::Implemented,
        None => Known::Trapped,
    }
}

/// All routines of the kernel and the framework's loader.
pub(crate) fn all() -> impl Iterator<Item = &'static Routine> {
    KERNEL.iter().copied().flatten().chain(wdf::LOADER)
}

pub(crate) fn find(name: &str) -> Option<&'static Routine> {
    all().find(|routine| routine.name == name)
}

/// The numbers, their stubs, and how often each was called.
pub(crate) struct Table {
    entries: Vec<Entry>,
    numbers: HashMap<&'static str, u32>,
    stubs: Option<Stubs>,
    calls: Vec<AtomicU64>,
    unknown: Mutex<Vec<&'static str>>,
    first_unknown: u32,
    os: Os,
    hidden: Vec<String>,
    random: AtomicU64,
}

impl Table {
    pub(crate) fn new(config: &Config) -> Self {
        let kernel = all().map(|routine| Entry { name: routine.name, routine: Some(routine) });
        let mut entries: Vec<Entry> = kernel.collect();
        let numbers = (0..).zip(&entries).map(|(number, entry)| (entry.name, number)).collect();
        entries.extend(wdf::functions());
        let first_unknown = entries.len() as u32;
        entries.resize(entries.len() + MOST_UNKNOWN as usize, Entry { name: "", routine: None });
        Self {
            numbers,
            stubs: Stubs::new(entries.len() as u32).ok(),
            calls: entries.iter().map(|_| AtomicU64::new(0)).collect(),
            entries,
            unknown: Mutex::default(),
            first_unknown,
            os: config.os,
            hidden: config.hidden.clone(),
            random: AtomicU64::new(config.seed.unwrap_or_default().wrapping_mul(GOLDEN.rotate_left(32))),
        }
    }

    pub(crate) fn entry(&self, number: u32) -> Entry {
        let entry = self.entries.get(number as usize).copied();
        let mut entry = entry.unwrap_or(Entry { name: "?", routine: None });
        if let Some(index) = number.checked_sub(self.first_unknown) {
            entry.name = super::lock(&self.unknown).get(index as usize).copied().unwrap_or("?");
        }
        entry
    }

    /// Whether this Windows is to lack a routine.
    pub(crate) fn is_hidden(&self, name: &str) -> bool {
        !self.os.has_routine(name) || self.hidden.iter().any(|hidden| hidden == name)
    }

    /// The address of a routine, as a lookup finds it.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        if self.is_hidden(name) {
            return None;
        }
        if name == "__chkstk" {
            return Some((switch::check_stack as *const ()).expose_provenance() as u64);
        }
        let number = self.numbers.get(name)?;
        Some(self.stubs?.address(*number))
    }

    /// The address for an import: that of the routine, or of a trap with its name.
    pub(crate) fn import(&self, name: &str) -> u64 {
        self.address(name).unwrap_or_else(|| self.trap(name))
    }

    fn trap(&self, name: &str) -> u64 {
        let mut unknown = super::lock(&self.unknown);
        let index = unknown.iter().position(|known| *known == name).unwrap_or_else(|| {
            unknown.push(name.to_owned().leak());
            unknown.len() - 1
        });
        let number = self.first_unknown + (index as u32).min(MOST_UNKNOWN - 1);
        self.stubs.map_or(0, |stubs| stubs.address(number))
    }

    /// How many functions the framework has.
    pub(crate) fn framework_functions(&self) -> u32 {
        self.first_unknown - self.first_of_framework()
    }

    /// The address of the framework's function with this index.
    pub(crate) fn framework(&self, index: u32) -> u64 {
        let first = self.first_of_framework();
        self.stubs.map_or(0, |stubs| stubs.address(first + index))
    }

    /// Whether a number is that of a function that the framework of this Windows does not have.
    pub(crate) fn is_too_new(&self, number: u32) -> bool {
        number < self.first_unknown
            && number.checked_sub(self.first_of_framework()).is_some_and(|index| index >= self.os.kmdf().functions)
    }

    /// The number of the framework's first function: they stand behind the kernel's routines.
    fn first_of_framework(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Counts a call; answers what it is to fail with, if it is to fail.
    pub(crate) fn scripted(&self, number: u32, config: &Config) -> Option<u64> {
        let entry = self.entries.get(number as usize)?;
        let call = self.calls.get(number as usize)?.fetch_add(1, Ordering::Relaxed) + 1;
        let fails = entry.routine?.fails;
        if fails == Fails::Never {
            return None;
        }
        let failure = config
            .failures
            .iter()
            .find(|failure| failure.routine == entry.name && failure.call.is_none_or(|wanted| wanted == call));
        let by_chance = config.seed.is_some() && self.chance();
        let status = match (failure, by_chance) {
            (Some(failure), _) => failure.status.map(etw_types::NtStatus::as_int),
            (None, true) => None,
            (None, false) => return None,
        };
        match fails {
            Fails::Status(usual) => Some(status.unwrap_or(usual).into()),
            Fails::Zero | Fails::Never => Some(0),
        }
    }

    /// One time in eight.
    fn chance(&self) -> bool {
        // SplitMix64: repeatable, and small seeds that differ by one give sequences that have nothing in common.
        let mut x = self.random.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (x >> 33).is_multiple_of(8)
    }

    /// The routines that were called and can fail, with how often.
    pub(crate) fn fallible_calls(&self) -> Vec<(String, u64)> {
        let calls = self.entries.iter().zip(&self.calls);
        calls
            .filter(|(entry, _)| entry.routine.is_some_and(|routine| routine.fails != Fails::Never))
            .map(|(entry, count)| (entry.name.to_owned(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count != 0)
            .collect()
    }
}

/// Whether a routine of the kernel or a function of the framework can be made to fail.
pub(crate) fn can_fail(name: &str) -> bool {
    let framework = wdf::functions().find(|entry| entry.name == name).and_then(|entry| entry.routine);
    find(name).or(framework).is_some_and(|routine| routine.fails != Fails::Never)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Known, all, known};
    use crate::Os;

    #[test]
    fn each_routine_is_there_once() {
        let names: BTreeSet<&str> = all().map(|routine| routine.name).collect();
        assert_eq!(names.len(), all().count());
    }

    #[test]
    fn older_systems_lack_what_came_later() {
        assert_eq!(known("EtwSetInformation", Os::Win7), Known::Newer(Os::Win10_1507));
        assert_eq!(known("EtwSetInformation", Os::Win10_1507), Known::Implemented);
        assert_eq!(known("KeFooBar", Os::NEWEST), Known::Trapped);
        assert_eq!(known("KeQueryActiveGroupCount", Os::NEWEST), Known::Fixed);
    }
}
