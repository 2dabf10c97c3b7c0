//! An exception on the driver's stack: its record, the registers, and the data for handlers.
//!
//! It lies right below the frame of the code that raised it, as on Windows. Handlers run further down the stack and can
//! read it.

use etw_types::NtStatus;
use nt_processor::cpu::{crossing, thread};
use nt_processor::layout::{EXCEPTION_AREA, EXCEPTION_RECORD};
use nt_processor::memory::{Fault, GuestPtr};

use pe_image::unwind::Registers;
use windows_constants::exception::EXCEPTION_NONCONTINUABLE;

/// The number of bytes that must be left on the stack for handlers to run.
const ROOM: u64 = 0x800;

/// An exception on the driver's stack.
pub(super) type Area = GuestPtr<EXCEPTION_AREA>;

/// An exception to raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// `ExceptionCode`.
    pub code: NtStatus,
    /// Whether the code that raised it may continue.
    pub(crate) continuable: bool,
    /// `ExceptionAddress`.
    pub address: u64,
    /// `ExceptionInformation`.
    pub parameters: Option<[u64; 2]>,
}

impl Exception {
    fn record(&self) -> EXCEPTION_RECORD {
        let mut information = [0; 15];
        let [first, second] = self.parameters.unwrap_or_default();
        (information[0], information[1]) = (first, second);
        EXCEPTION_RECORD {
            ExceptionCode: self.code,
            ExceptionFlags: if self.continuable { 0 } else { EXCEPTION_NONCONTINUABLE },
            ExceptionRecord: GuestPtr::NULL,
            ExceptionAddress: self.address,
            NumberParameters: if self.parameters.is_some() { 2 } else { 0 },
            Padding: 0,
            ExceptionInformation: information,
        }
    }

    /// Writes the exception below `rsp`. Returns `None` if the stack has no room for it and its handlers.
    pub(super) fn below(&self, rsp: u64, registers: &Registers, eflags: Option<u32>) -> Option<Area> {
        let stack = thread::stack()?;
        let area = Area::new(rsp.checked_sub(size_of::<EXCEPTION_AREA>() as u64)? & !15);
        if rsp > stack.high() || area.address() < stack.low() + ROOM {
            return None;
        }
        self.write(area, registers, eflags).ok().map(|()| area)
    }

    fn write(&self, area: Area, registers: &Registers, eflags: Option<u32>) -> Result<(), Fault> {
        area.zero()?;
        area.Crossing().Return().write(crossing::EXCEPTION)?;
        area.Record().write(self.record())?;
        area.Context().set(registers, eflags)
    }
}

/// Copies a record that a driver made, except for its address, which stays that of the call.
pub(super) fn copy_record(area: Area, record: GuestPtr<EXCEPTION_RECORD>) -> Result<(), Fault> {
    let address = area.Record().ExceptionAddress().read()?;
    area.Record().write(record.read()?)?;
    area.Record().ExceptionAddress().write(address)
}
