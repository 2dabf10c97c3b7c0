//! The configuration of a run.

use std::fmt;
use std::sync::Arc;

use etw_engine::property;
use etw_types::NtStatus;

use crate::hardware::HardwareScript;
use crate::{Callbacks, Coverage, Os, RequestKind};

/// The time at which the machine's clock starts, 2026-01-01, in 100 ns units since 1601.
pub const EPOCH: u64 = 134_117_856_000_000_000;

/// The number of bytes of debug output that are kept by default.
pub const DEBUG_OUTPUT: u64 = 4 << 20;

/// An injected failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The routine that fails.
    pub routine: String,
    /// The status that it returns. A routine that returns no status returns NULL or FALSE instead.
    pub status: Option<NtStatus>,
    /// Which of its calls fails, counted from 1; `None` for every call.
    pub call: Option<u64>,
}

/// How time passes for a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Time stands still while any thread can run, and jumps ahead when all threads wait. Every run is the same.
    #[default]
    Virtual,
    /// Running code takes the time that it really takes. Waiting takes no time: the clock jumps when all threads wait.
    Measured,
    /// Real time: waits take as long as they say.
    Real,
}

/// What the device below the driver, or another driver's device, does with requests that reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// The name of the device if it is not below the driver: the driver opens it by this name.
    pub device: Option<String>,
    /// The kind of request that this applies to; `None` for reads, writes and control requests of both kinds.
    pub kind: Option<RequestKind>,
    /// The control code that this applies to; `None` for every code.
    pub code: Option<u32>,
    /// The status that the requests complete with.
    pub status: NtStatus,
    /// The data that they return, truncated to the size of the output buffer.
    pub output: Vec<u8>,
    /// How long they take to complete.
    pub delay: std::time::Duration,
}

/// A hardware resource of the driver's devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A line that interrupts.
    LineInterrupt,
    /// This many interrupts that are signalled by messages.
    MessageInterrupts(u32),
    /// Memory of the device, at a physical address.
    Memory {
        /// Where it begins.
        start: u64,
        /// Its bytes.
        length: u32,
    },
    /// Ports.
    Port {
        /// The first.
        start: u64,
        /// How many.
        length: u32,
    },
}

/// A registry key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryKey {
    /// `Parameters` below the driver's service key.
    Parameters,
    /// The device's hardware key, `Device Parameters`.
    Device,
    /// The device's software key, which Windows also calls the driver key.
    Driver,
    /// A full path, such as `\Registry\Machine\Software\Key`.
    Path(String),
}

/// A registry value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryValue {
    /// `REG_DWORD`.
    Dword(u32),
    /// `REG_QWORD`.
    Qword(u64),
    /// `REG_SZ`.
    Text(String),
    /// `REG_BINARY`.
    Binary(Vec<u8>),
}

/// The configuration of a run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The Windows release that is imitated.
    pub os: Os,
    /// Routines that this Windows does not export.
    pub hidden: Vec<String>,
    /// What the device below the driver does with requests; the first entry that matches applies.
    pub below: Vec<Below>,
    /// What the driver's devices have of the hardware.
    pub resources: Vec<Resource>,
    /// What the hardware does when the driver accesses ports, and memory of its devices.
    pub hardware: HardwareScript,
    /// The configuration space of the driver's devices, if they are PCI devices.
    pub pci: Option<Vec<u8>>,
    /// Failures to inject.
    pub failures: Vec<Failure>,
    /// Makes routines fail at random, derived from this seed.
    pub seed: Option<u64>,
    /// How time passes.
    pub time: Time,
    /// Starts a session that records all events of all providers from the beginning.
    pub trace_all: bool,
    /// Whether events carry the call stack of their writer.
    pub stacks: bool,
    /// Whether requests of clients have activity ids, as while a session traces I/O activities.
    pub request_activities: bool,
    /// Whether each event is written as late as possible, so that anything that races with it happens first.
    pub races: bool,
    /// Whether all threads of the process stay on one processor of the host. Freed memory becomes inaccessible at once, which
    /// otherwise interrupts each processor that runs one of the threads.
    pub one_processor: bool,
    /// The maximum time that the driver may take for one request, in real time.
    pub patience: Option<std::time::Duration>,
    /// How long a client waits for a request before it cancels it, in the driver's time; the default is 60 seconds.
    pub cancel_after: Option<std::time::Duration>,
    /// The maximum number of bytes of all the driver's allocations together. Allocations beyond it fail. Objects of the
    /// host, such as IRPs, have a separate limit.
    pub memory: Option<u64>,
    /// The maximum number of bytes of debug output that are kept; the default is [`DEBUG_OUTPUT`].
    pub debug_output: Option<u64>,
    /// Registry values: the key, the name of the value, and the value.
    pub registry: Vec<(RegistryKey, String, RegistryValue)>,
    /// The files and folders of the volume: each with its path, such as `\\dir\\a.txt`, and its contents; `None` for a
    /// folder.
    pub files: Vec<(String, Option<Vec<u8>>)>,
    /// The driver's name: its file name without the extension.
    pub name: String,
    /// Records which code of the driver runs. It must have been created for the driver's image.
    pub coverage: Option<Coverage>,
    /// Records the calls of the driver's functions by others. It must have been created for the driver's image.
    pub callbacks: Option<Callbacks>,
    /// Called when the driver is in memory and none of its code has run.
    pub before_entry: Option<BeforeEntry>,
}

/// A function that gets the address of the driver's image, in the process that runs the driver.
#[derive(Clone)]
pub struct BeforeEntry(pub Arc<dyn Fn(u64) + Send + Sync>);

impl fmt::Debug for BeforeEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeEntry")
    }
}

impl Config {
    /// Returns how long a client waits for a request before it cancels it, in units of 100 ns.
    pub(crate) fn cancel_after(&self) -> u64 {
        /// 60 s.
        const DEFAULT: u64 = 600_000_000;
        self.cancel_after.map_or(DEFAULT, |time| u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX))
    }

    /// The `EVENT_ENABLE_PROPERTY_…` flags for every provider that is enabled.
    #[must_use]
    pub const fn enable_property(&self) -> u32 {
        if self.stacks { property::STACK_TRACE } else { 0 }
    }
}
