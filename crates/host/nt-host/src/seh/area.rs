//! An exception on the driver's stack: its record, the registers, and what handlers are told.
//!
//! It lies right below the code that raised it, as on Windows, so that handlers run further down and can look at it.

use etw_types::NtStatus;

use super::context;
use crate::cpu::{crossing, thread};
use crate::memory::guest;
use crate::unwind::Registers;

/// Offsets in an area. It begins like a crossing, with a mark in place of a caller.
const DISPATCHER: u64 = 0x60;
const RECORD: u64 = 0xB0;
const CONTEXT: u64 = 0x150;
/// Bytes of an area, with some that are left free for the way back.
const SIZE: u64 = CONTEXT + context::SIZE + 0x40;
/// What must be left of the stack for handlers to run.
const ROOM: u64 = 0x800;

/// Offsets in `EXCEPTION_RECORD`.
const FLAGS: u64 = 4;
const ADDRESS: u64 = 0x10;
const COUNT: u64 = 0x18;
const PARAMETERS: u64 = 0x20;
const RECORD_SIZE: u64 = 0x98;

/// `EXCEPTION_NONCONTINUABLE`.
pub(super) const NONCONTINUABLE: u32 = 1;
/// `EXCEPTION_UNWINDING` and `EXCEPTION_TARGET_UNWIND`.
pub(super) const UNWINDING: u32 = 2;
pub(super) const TARGET_UNWIND: u32 = 0x20;
/// All flags that say that frames are being left: `EXCEPTION_UNWIND` of ntxcapi.
pub(super) const ANY_UNWIND: u32 = 0x66;

/// What is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// `ExceptionCode`.
    pub(crate) code: NtStatus,
    /// Whether the code that raised it may go on.
    pub(crate) continuable: bool,
    /// `ExceptionAddress`.
    pub(crate) address: u64,
    /// `ExceptionInformation`.
    pub(crate) parameters: Option<[u64; 2]>,
}

/// An exception on the driver's stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    at: u64,
}

impl Area {
    /// Writes an exception below `rsp`; `None` where the stack has no room for it and its handlers.
    pub(crate) fn below(rsp: u64, exception: &Exception, registers: &Registers, eflags: Option<u32>) -> Option<Self> {
        let stack = thread::stack()?;
        let at = rsp.checked_sub(SIZE)? & !15;
        if rsp > stack.high() || at < stack.low() + ROOM {
            return None;
        }
        guest::fill(at, 0, CONTEXT);
        guest::write(at + crossing::RETURN, crossing::EXCEPTION);
        let area = Self { at };
        let record = area.record();
        guest::write(record, exception.code);
        guest::write(record + FLAGS, if exception.continuable { 0 } else { NONCONTINUABLE });
        guest::write(record + ADDRESS, exception.address);
        if let Some(parameters) = exception.parameters {
            guest::write(record + COUNT, parameters.len() as u32);
            for (place, parameter) in (record + PARAMETERS..).step_by(8).zip(parameters) {
                guest::write(place, parameter);
            }
        }
        context::write(area.context(), registers, eflags);
        Some(area)
    }

    /// The area that a fault's signal handler wrote.
    pub(super) const fn at(at: u64) -> Self {
        Self { at }
    }

    /// Where it begins: the driver's stack continues there.
    pub(crate) const fn start(self) -> u64 {
        self.at
    }

    /// `EXCEPTION_RECORD`.
    pub(super) const fn record(self) -> u64 {
        self.at + RECORD
    }

    /// `CONTEXT`.
    pub(super) const fn context(self) -> u64 {
        self.at + CONTEXT
    }

    /// `DISPATCHER_CONTEXT`.
    pub(super) const fn dispatcher(self) -> u64 {
        self.at + DISPATCHER
    }

    pub(super) fn flags(self) -> u32 {
        guest::read(self.record() + FLAGS)
    }

    pub(super) fn set_flags(self, flags: u32) {
        guest::write(self.record() + FLAGS, flags);
    }

    /// Takes over a record that a driver made, but for its address, which is that of the call.
    pub(super) fn copy_record(self, record: u64) {
        let address: u64 = guest::read(self.record() + ADDRESS);
        guest::copy(self.record(), record, RECORD_SIZE);
        guest::write(self.record() + ADDRESS, address);
    }
}

/// The registers at which the exception was raised whose area begins there; `None` where it is not on this stack.
pub(crate) fn raised_at(at: u64) -> Option<Registers> {
    let stack = thread::stack()?;
    let inside = at >= stack.low() && at.checked_add(SIZE)? <= stack.high();
    inside.then(|| context::read(at + CONTEXT))
}

/// `EXCEPTION_RECORD.ExceptionCode`.
pub(super) fn code_of(record: u64) -> NtStatus {
    guest::read(record)
}

/// `EXCEPTION_RECORD.ExceptionFlags`.
pub(super) fn flags_of(record: u64) -> u32 {
    guest::read(record + FLAGS)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use windows_sys::Win32::System::Diagnostics::Debug::{DISPATCHER_CONTEXT, EXCEPTION_RECORD};

    #[test]
    fn records_are_those_of_microsofts_metadata_and_do_not_overlap() {
        assert_eq!(size_of::<EXCEPTION_RECORD>() as u64, super::RECORD_SIZE);
        for (ours, theirs) in [
            (super::FLAGS, offset_of!(EXCEPTION_RECORD, ExceptionFlags)),
            (super::ADDRESS, offset_of!(EXCEPTION_RECORD, ExceptionAddress)),
            (super::COUNT, offset_of!(EXCEPTION_RECORD, NumberParameters)),
            (super::PARAMETERS, offset_of!(EXCEPTION_RECORD, ExceptionInformation)),
        ] {
            assert_eq!(ours, theirs as u64);
        }
        assert!(super::DISPATCHER + size_of::<DISPATCHER_CONTEXT>() as u64 <= super::RECORD);
        const { assert!(super::RECORD + super::RECORD_SIZE <= super::CONTEXT) };
    }
}
