//! Drivers in C, and hosts that run them.

pub(crate) use test_support::drivers::c::*;
pub(crate) use test_support::drivers::temporary;

use std::arch::asm;

use nt_host::{Builder, NtHost};

/// A builder of a host for a KMDF driver.
pub(crate) fn framework(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "FxDriverEntry", &FRAMEWORK))
}

/// A builder of a host for a WDM driver.
pub(crate) fn plain(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "DriverEntry", &["ntoskrnl"]))
}

/// A driver's debug output. Each call of `lines` returns the lines since the last call.
#[derive(Default)]
pub(crate) struct Log {
    read: usize,
}

impl Log {
    pub(crate) fn lines(&mut self, host: &NtHost) -> Vec<String> {
        let output = host.report().output().to_owned();
        let new = output.get(self.read..).unwrap_or_default().lines().map(str::to_owned).collect();
        self.read = output.len();
        new
    }
}

/// Reads memory at address 0x10, where there is none, as a wrong pointer of the host would. Does not return.
pub(crate) fn wild_read() -> u64 {
    let value;
    // SAFETY: the instruction only changes its result. It faults, and the process handles the signal.
    unsafe { asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) 0x10_u64, options(nostack, readonly)) };
    value
}
