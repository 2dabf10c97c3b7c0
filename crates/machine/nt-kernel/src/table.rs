//! The table of all routines by number, and the stubs that lead to them.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use nt_processor::image;
use nt_processor::memory::Region;
use nt_verifier::routine::{Call, Fails, Routine};
use windows_releases::Release as Os;

use super::components::is_modelled;
use super::data::Variables;
use super::module::Module;
use super::{lock, random};
use crate::config::Config;

/// The maximum number of unknown imports.
const MAX_UNKNOWN: u32 = 1024;

/// An entry of the table.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name of the import.
    pub name: &'static str,
    /// The routine, if this host has it.
    pub routine: Option<&'static Routine>,
}

/// The table of routines: entries, stubs, and the number of calls of each routine.
pub struct Table {
    entries: Vec<Entry>,
    numbers: HashMap<&'static str, u32>,
    /// Whether this Windows does not have the routine, by its number.
    absent: Vec<bool>,
    module: Module,
    calls: Vec<AtomicU64>,
    /// The module and name of each unknown import.
    unknown: Mutex<Vec<(&'static str, &'static str)>>,
    first_unknown: u32,
    /// The first function that the framework of this Windows does not have.
    first_too_new: u32,
    os: Os,
    hidden: Vec<String>,
    random: AtomicU64,
    /// The number of calls until one fails, counted with that call; 0 if none is to fail.
    countdown: AtomicU64,
}

impl Table {
    /// Assigns numbers to the routines that drivers import, followed by the framework's functions in their order.
    pub fn new(
        config: &Config,
        routines: impl Iterator<Item = &'static Routine>,
        functions: impl Iterator<Item = Entry>,
    ) -> io::Result<Self> {
        let mut entries: Vec<Entry> =
            routines.map(|routine| Entry { name: routine.name, routine: Some(routine) }).collect();
        let numbers: HashMap<&'static str, u32> =
            (0..).zip(&entries).map(|(number, entry)| (entry.name, number)).collect();
        let absent: Vec<bool> = entries.iter().map(|entry| is_hidden(config.os, &config.hidden, entry.name)).collect();
        let first_function = entries.len() as u32;
        entries.extend(functions);
        let first_unknown = entries.len() as u32;
        entries.resize(entries.len() + MAX_UNKNOWN as usize, Entry { name: "", routine: None });
        let is_exported = |(name, number): &(&str, u32)| {
            !name.starts_with('(') && !absent.get(*number as usize).copied().unwrap_or_default()
        };
        let exports: Vec<(&'static str, u32)> =
            numbers.iter().map(|(name, number)| (*name, *number)).filter(is_exported).collect();
        Ok(Self {
            module: Module::new(config, entries.len() as u32, &exports)?,
            numbers,
            calls: entries.iter().map(|_| AtomicU64::new(0)).collect(),
            entries,
            absent,
            unknown: Mutex::default(),
            first_unknown,
            first_too_new: first_function.saturating_add(config.os.kmdf().functions).min(first_unknown),
            os: config.os,
            hidden: config.hidden.clone(),
            random: AtomicU64::new(config.seed.unwrap_or_default().wrapping_mul(random::STEP.rotate_left(32))),
            countdown: AtomicU64::new(0),
        })
    }

    /// Returns the entry with this number.
    pub fn entry(&self, number: u32) -> Entry {
        let entry = self.entries.get(number as usize).copied();
        let mut entry = entry.unwrap_or(Entry { name: "?", routine: None });
        if let Some(index) = number.checked_sub(self.first_unknown) {
            entry.name = lock(&self.unknown).get(index as usize).map_or("?", |(_, name)| name);
        }
        entry
    }

    /// Returns the module that an unknown import comes from.
    pub fn module(&self, number: u32) -> &'static str {
        let index = number.checked_sub(self.first_unknown);
        index
            .and_then(|index| lock(&self.unknown).get(index as usize).copied())
            .map_or("ntoskrnl.exe", |(module, _)| module)
    }

    /// Returns whether this Windows does not have a routine.
    pub fn is_hidden(&self, name: &str) -> bool {
        is_hidden(self.os, &self.hidden, name)
    }

    /// Returns the variables that the kernel exports.
    pub const fn variables(&self) -> &Variables {
        &self.module.variables
    }

    /// Returns the address of the page table, for reads of CR3.
    pub(crate) const fn page_table(&self) -> u64 {
        self.module.page_table()
    }

    /// Returns the memory of the kernel's image.
    pub const fn image(&self) -> Region {
        self.module.region()
    }

    /// Returns the address of a routine or variable, or `None` if this Windows does not have it.
    pub fn address(&self, name: &str) -> Option<u64> {
        if let Some(number) = self.numbers.get(name) {
            let is_absent = self.absent.get(*number as usize).copied().unwrap_or_default();
            return (!is_absent).then(|| self.module.stubs.address(*number));
        }
        match name {
            name if self.is_hidden(name) => None,
            "__chkstk" => Some(self.module.stubs.check_stack()),
            name => self.module.variables.address(name),
        }
    }

    /// Returns the address for an import: the address of the routine, or of a trap that reports the name of the import.
    pub fn import(&self, module: &str, name: &str) -> u64 {
        let known = if is_modelled(module) { self.address(name) } else { None };
        known.unwrap_or_else(|| self.trap(module, name))
    }

    fn trap(&self, module: &str, name: &str) -> u64 {
        let mut unknown = lock(&self.unknown);
        let index = unknown.iter().position(|known| *known == (module, name)).unwrap_or_else(|| {
            unknown.push((module.to_owned().leak(), name.to_owned().leak()));
            unknown.len() - 1
        });
        let number = self.first_unknown + (index as u32).min(MAX_UNKNOWN - 1);
        self.module.stubs.address(number)
    }

    /// Returns the number of functions of the framework.
    pub fn framework_functions(&self) -> u32 {
        self.first_unknown - self.first_of_framework()
    }

    /// Returns whether a number belongs to a function of the framework.
    pub(crate) fn is_framework(&self, number: u32) -> bool {
        (self.first_of_framework()..self.first_unknown).contains(&number)
    }

    /// Returns whether a number belongs to a function that the framework of this Windows does not have.
    pub(crate) fn is_too_new(&self, number: u32) -> bool {
        (self.first_too_new..self.first_unknown).contains(&number)
    }

    /// Returns the address of the framework's function with this index.
    pub fn framework(&self, index: u32) -> u64 {
        let first = self.first_of_framework();
        self.module.stubs.address(first + index)
    }

    /// Returns the number of the framework's first function. The functions follow the kernel's routines.
    fn first_of_framework(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// Counts a call of the driver under test that can fail. Returns the value that it fails with, if a failure is
    /// injected. Calls of other images do not fail and are not counted.
    pub fn scripted(&self, number: u32, call: &Call, config: &Config) -> Option<u64> {
        let entry = self.entries.get(number as usize)?;
        let routine = entry.routine.filter(|routine| routine.can_fail(call))?;
        if image::is_other(call.from) {
            return None;
        }
        let call = self.calls.get(number as usize)?.fetch_add(1, Ordering::Relaxed) + 1;
        let failure = config
            .failures
            .iter()
            .find(|failure| failure.routine == entry.name && failure.call.is_none_or(|wanted| wanted == call));
        let by_chance = config.seed.is_some() && self.chance();
        let status = match (failure, by_chance || self.counts_down()) {
            (Some(failure), _) => failure.status,
            (None, true) => None,
            (None, false) => return None,
        };
        match routine.fails {
            Fails::Status(usual) => Some(status.unwrap_or(usual).as_int().into()),
            Fails::Zero | Fails::Never => Some(0),
        }
    }

    /// Makes a call fail, counted from now over all routines that can fail; 0 for none.
    pub fn fail_next(&self, call: u64) {
        self.countdown.store(call, Ordering::Relaxed);
    }

    /// Counts a call. Returns whether it is the one that [`Self::fail_next`] selects.
    fn counts_down(&self) -> bool {
        let count = |left: u64| left.checked_sub(1);
        self.countdown.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count) == Ok(1)
    }

    /// Returns `true` with a probability of one in eight.
    fn chance(&self) -> bool {
        let state = self.random.fetch_add(random::STEP, Ordering::Relaxed).wrapping_add(random::STEP);
        (random::mix(state) >> 33).is_multiple_of(8)
    }

    /// Returns the routines of which a call could fail, with the number of such calls.
    pub fn fallible_calls(&self) -> Vec<(String, u64)> {
        let calls = self.entries.iter().zip(&self.calls);
        calls
            .filter(|(entry, _)| entry.routine.is_some_and(|routine| routine.fails != Fails::Never))
            .map(|(entry, count)| (entry.name.to_owned(), count.load(Ordering::Relaxed)))
            .filter(|(_, count)| *count != 0)
            .collect()
    }
}

fn is_hidden(os: Os, hidden: &[String], name: &str) -> bool {
    !os.has_routine(name) || hidden.iter().any(|hidden| hidden == name)
}
