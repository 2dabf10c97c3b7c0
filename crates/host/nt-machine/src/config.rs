//! What a run is to be like.

use etw_engine::property;
use etw_types::NtStatus;

use crate::{Os, RequestKind};

/// 100 ns units between 1601 and the moment at which the machine's clock starts: 2026-01-01.
pub const EPOCH: u64 = 134_117_856_000_000_000;

/// A failure to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The routine that fails.
    pub routine: String,
    /// What it returns. A routine that returns no status returns NULL or FALSE instead.
    pub status: Option<NtStatus>,
    /// Which of its calls fails, counted from 1; `None` is every call.
    pub call: Option<u64>,
}

/// How time passes for a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// It stands still while anybody can go on, and jumps when everybody waits: each run is the same.
    #[default]
    Virtual,
    /// As long as things take. Waiting still takes no time: the clock jumps when everybody waits.
    Measured,
    /// As on a clock on the wall.
    Real,
}

/// What the device below the driver, or another driver's device, does with requests that reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Below {
    /// The name of the device if it is not below the driver: the driver opens it by this name.
    pub device: Option<String>,
    /// Requests of this kind; `None` for reads, writes and control requests of both kinds.
    pub kind: Option<RequestKind>,
    /// With this control code; `None` for every one.
    pub code: Option<u32>,
    /// What they end with.
    pub status: NtStatus,
    /// What they return, as far as there is room.
    pub output: Vec<u8>,
    /// How long they take.
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

/// A value under the driver's `Parameters` key.
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

/// What a run is to be like.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The Windows release that is imitated.
    pub os: Os,
    /// Routines that this Windows is to lack.
    pub hidden: Vec<String>,
    /// What the device below the driver does; the first that fits counts.
    pub below: Vec<Below>,
    /// What the driver's devices have of the hardware.
    pub resources: Vec<Resource>,
    /// Failures to come.
    pub failures: Vec<Failure>,
    /// Makes routines fail now and then, by this seed.
    pub seed: Option<u64>,
    /// How time passes.
    pub time: Time,
    /// A session that takes everything of every provider, from its first moment on.
    pub trace_all: bool,
    /// Events carry the stack of their writer.
    pub stacks: bool,
    /// Each event is written as late as can be, so that what races with it comes first.
    pub races: bool,
    /// How long the driver may take for one request, on the wall.
    pub patience: Option<std::time::Duration>,
    /// Bytes that the driver's pool and objects may take together; allocations beyond fail.
    pub memory: Option<u64>,
    /// Values under the driver's `Parameters` key.
    pub parameters: Vec<(String, RegistryValue)>,
    /// The driver's name: file name without extension.
    pub name: String,
}

impl Config {
    /// `EVENT_ENABLE_PROPERTY_…` for every provider that is enabled.
    #[must_use]
    pub const fn enable_property(&self) -> u32 {
        if self.stacks { property::STACK_TRACE } else { 0 }
    }
}
