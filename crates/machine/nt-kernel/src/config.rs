//! The configuration of a run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use etw_engine::property;
use etw_types::NtStatus;
use nt_processor::coverage::{Callbacks, Coverage};
use nt_verifier::hardware::HardwareScript;
use windows_releases::Release;

use crate::requests::RequestKind;

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
    pub delay: Duration,
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
    pub os: Release,
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
    /// The maximum time that the driver may take for one request, in real time; the default is [`Config::limit`]'s.
    pub patience: Option<Duration>,
    /// How long a client waits for a request before it cancels it, in the driver's time; the default is 60 seconds. If
    /// [`Config::time`] is real, it must be shorter than [`Config::limit`], and the default is half of that if it is less.
    pub cancel_after: Option<Duration>,
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

/// How long a client and the kernel wait if nothing else is configured.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns a time in units of 100 ns.
fn units(time: Duration) -> u64 {
    u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX)
}

impl Config {
    /// Returns the maximum time that the driver may take for one request, in real time; the default is 20 seconds.
    #[must_use]
    pub fn limit(&self) -> Duration {
        self.patience.unwrap_or(Duration::from_secs(20))
    }

    /// Returns how long a client waits for a request before it cancels it. In real time, it waits for a part of the limit
    /// only: otherwise, a request that the driver keeps would always be a hang.
    fn patience_of_client(&self) -> Duration {
        let default = if self.time == Time::Real { PATIENCE.min(self.limit() / 2) } else { PATIENCE };
        self.cancel_after.unwrap_or(default)
    }

    /// Returns the time after which a client cancels a request and the limit, if the limit comes first.
    #[must_use]
    pub fn too_patient(&self) -> Option<(Duration, Duration)> {
        let wait = self.patience_of_client();
        let limit = self.limit();
        (self.time == Time::Real && wait >= limit).then_some((wait, limit))
    }

    /// Returns how long a client waits for a request before it cancels it, in units of 100 ns.
    pub fn cancel_after(&self) -> u64 {
        units(self.patience_of_client())
    }

    /// Returns how long the kernel waits for what the driver must do soon, such as the completion of a canceled request, in
    /// units of 100 ns.
    pub fn give_up_after(&self) -> u64 {
        let rest = self.limit().saturating_sub(self.patience_of_client());
        units(if self.time == Time::Real { PATIENCE.min(rest / 2) } else { PATIENCE })
    }

    /// The `EVENT_ENABLE_PROPERTY_…` flags for every provider that is enabled.
    #[must_use]
    pub const fn enable_property(&self) -> u32 {
        if self.stacks { property::STACK_TRACE } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Config, Time};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_client_cancels_a_request_before_that_is_a_hang() {
        let real = Config { time: Time::Real, ..Config::default() };
        assert_eq!(real.too_patient(), None);
        assert_eq!(real.cancel_after(), 10 * 10_000_000);
        assert_eq!(real.give_up_after(), 5 * 10_000_000);
        let short = Config { patience: Some(SECOND * 2), ..real.clone() };
        assert_eq!(short.cancel_after(), 10_000_000);
        let debugged = Config { patience: Some(Duration::MAX), ..real };
        assert_eq!(debugged.cancel_after(), 60 * 10_000_000);
    }

    #[test]
    fn a_client_that_waits_longer_than_the_limit_is_refused_in_real_time_only() {
        let wait = SECOND * 60;
        let limit = SECOND * 20;
        let skipped = Config { cancel_after: Some(wait), ..Config::default() };
        assert_eq!(skipped.too_patient(), None);
        assert_eq!(skipped.give_up_after(), 60 * 10_000_000);
        let real = Config { time: Time::Real, ..skipped };
        assert_eq!(real.too_patient(), Some((wait, limit)));
        assert_eq!(Config { patience: Some(wait * 2), ..real }.too_patient(), None);
    }
}
