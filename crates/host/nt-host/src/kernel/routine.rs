//! The table of routines: what is known about each, and how a call reaches it.

use crate::memory::guest;

/// IRQLs up to which a routine may be called.
pub(crate) const PASSIVE: u8 = 0;
pub(crate) const APC: u8 = 1;
pub(crate) const DISPATCH: u8 = 2;
pub(crate) const ANY: u8 = 15;

/// How a routine tells that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fails {
    /// It cannot fail.
    Never,
    /// By a status; this one where a script names none.
    Status(u32),
    /// By NULL or FALSE.
    Zero,
}

/// A routine that this host has.
pub(crate) struct Routine {
    pub(crate) name: &'static str,
    /// The highest IRQL at which it may be called.
    pub(crate) irql: u8,
    pub(crate) fails: Fails,
    /// It answers the same whatever happened before, and changes nothing.
    pub(crate) fixed: bool,
    pub(crate) run: fn(&Call) -> u64,
}

/// `STATUS_INSUFFICIENT_RESOURCES`: what most routines fail with.
pub(crate) const NO_RESOURCES: u32 = 0xC000_009A;

/// How the names begin of what cannot fail and leaves something behind.
const KEPT: [&str; 6] = ["KeSetTimer", "KeAcquire", "ExAcquire", "KfRaise", "KeRaise", "WdfSpinLockAcquire"];

/// A routine that cannot fail.
pub(crate) const fn routine(name: &'static str, irql: u8, run: fn(&Call) -> u64) -> Routine {
    Routine { name, irql, fails: Fails::Never, fixed: false, run }
}

impl Routine {
    /// It may answer a failure status.
    pub(crate) const fn fails(self, status: u32) -> Self {
        Self { fails: Fails::Status(status), ..self }
    }

    /// It may answer NULL or FALSE.
    pub(crate) const fn fails_with_zero(self) -> Self {
        Self { fails: Fails::Zero, ..self }
    }

    /// Whether what it makes can be left behind, so that who called it is worth remembering. What can fail makes
    /// something, but for events; timers are set and locks taken without a way to fail.
    pub(crate) fn makes_something(&self) -> bool {
        match self.fails {
            Fails::Never => KEPT.iter().any(|start| self.name.starts_with(start)),
            _ => !self.name.starts_with("EtwWrite"),
        }
    }

    /// It answers a fixed value: enough for a driver that only wants to go on, and no imitation of what Windows does.
    pub(crate) const fn fixed(self) -> Self {
        Self { fixed: true, ..self }
    }
}

/// A call of a routine: where its arguments are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Address of the first of the arguments, which lie in a row.
    slots: u64,
    /// Where it returns to.
    pub(crate) from: u64,
    name: &'static str,
}

impl Call {
    pub(crate) const fn new(name: &'static str, slots: u64, from: u64) -> Self {
        Self { slots, from, name }
    }

    /// An argument, counted from 0.
    pub(crate) fn arg(&self, index: u64) -> u64 {
        guest::read(self.slots + index * 8)
    }

    pub(crate) fn u32(&self, index: u64) -> u32 {
        self.arg(index) as u32
    }

    pub(crate) fn i32(&self, index: u64) -> i32 {
        self.arg(index) as i32
    }

    pub(crate) fn u16(&self, index: u64) -> u16 {
        self.arg(index) as u16
    }

    pub(crate) fn u8(&self, index: u64) -> u8 {
        self.arg(index) as u8
    }

    /// A `BOOLEAN`: only its lowest byte counts.
    pub(crate) fn is(&self, index: u64) -> bool {
        self.u8(index) != 0
    }

    /// The arguments from `index` on, for routines that take any number.
    pub(crate) fn rest(&self, index: u64) -> u64 {
        self.slots + index * 8
    }

    /// The name of the routine.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }
}
