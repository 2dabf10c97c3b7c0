//! C runtime routines that ntoskrnl.exe exports: printing into buffers.

use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, Rest, routines};
use windows_constants::runtime_library::_TRUNCATE;

use super::crt::Unit;
use super::print::{self, Arguments};

use Room::{Bare, Safe};

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn sprintf(buffer: GuestPtr<u8>, format: GuestPtr<u8>, arguments: Rest) -> Result<i32, Fault> {
        narrow(buffer, Bare(u64::MAX), format, arguments.0)
    }

    #[irql(ANY)]
    fn _snprintf(buffer: GuestPtr<u8>, size: u64, format: GuestPtr<u8>, arguments: Rest) -> Result<i32, Fault> {
        narrow(buffer, Bare(size), format, arguments.0)
    }

    #[irql(ANY)]
    fn _vsnprintf(
        buffer: GuestPtr<u8>,
        size: u64,
        format: GuestPtr<u8>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        narrow(buffer, Bare(size), format, arguments)
    }

    #[irql(ANY)]
    fn vsprintf_s(
        buffer: GuestPtr<u8>,
        size: u64,
        format: GuestPtr<u8>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        narrow(buffer, Safe(size, size), format, arguments)
    }

    #[irql(ANY)]
    fn sprintf_s(buffer: GuestPtr<u8>, size: u64, format: GuestPtr<u8>, arguments: Rest) -> Result<i32, Fault> {
        narrow(buffer, Safe(size, size), format, arguments.0)
    }

    #[irql(ANY)]
    fn swprintf(buffer: GuestPtr<u16>, format: GuestPtr<u16>, arguments: Rest) -> Result<i32, Fault> {
        wide(buffer, Bare(u64::MAX), format, arguments.0)
    }

    #[irql(ANY)]
    fn _snwprintf(buffer: GuestPtr<u16>, size: u64, format: GuestPtr<u16>, arguments: Rest) -> Result<i32, Fault> {
        wide(buffer, Bare(size), format, arguments.0)
    }

    #[irql(ANY)]
    fn _vsnwprintf(
        buffer: GuestPtr<u16>,
        size: u64,
        format: GuestPtr<u16>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        wide(buffer, Bare(size), format, arguments)
    }

    #[irql(ANY)]
    fn _snprintf_s(
        buffer: GuestPtr<u8>,
        size: u64,
        count: u64,
        format: GuestPtr<u8>,
        arguments: Rest,
    ) -> Result<i32, Fault> {
        narrow(buffer, Safe(size, count), format, arguments.0)
    }

    #[irql(ANY)]
    fn _vsnprintf_s(
        buffer: GuestPtr<u8>,
        size: u64,
        count: u64,
        format: GuestPtr<u8>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        narrow(buffer, Safe(size, count), format, arguments)
    }

    #[irql(ANY)]
    fn _snwprintf_s(
        buffer: GuestPtr<u16>,
        size: u64,
        count: u64,
        format: GuestPtr<u16>,
        arguments: Rest,
    ) -> Result<i32, Fault> {
        wide(buffer, Safe(size, count), format, arguments.0)
    }

    #[irql(ANY)]
    fn _vsnwprintf_s(
        buffer: GuestPtr<u16>,
        size: u64,
        count: u64,
        format: GuestPtr<u16>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        wide(buffer, Safe(size, count), format, arguments)
    }

    #[irql(ANY)]
    fn vswprintf_s(
        buffer: GuestPtr<u16>,
        size: u64,
        format: GuestPtr<u16>,
        arguments: GuestPtr<u64>,
    ) -> Result<i32, Fault> {
        wide(buffer, Safe(size, size), format, arguments)
    }

    #[irql(ANY)]
    fn vsprintf(buffer: GuestPtr<u8>, format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<i32, Fault> {
        narrow(buffer, Bare(u64::MAX), format, arguments)
    }

    #[irql(ANY)]
    fn swprintf_s(buffer: GuestPtr<u16>, size: u64, format: GuestPtr<u16>, arguments: Rest) -> Result<i32, Fault> {
        wide(buffer, Safe(size, size), format, arguments.0)
    }
}

/// The room for text that is printed.
#[derive(Clone, Copy)]
enum Room {
    /// The size of the buffer. There is no terminator if the text fills the buffer.
    Bare(u64),
    /// The size of the buffer, and the maximum number of units before the terminator: as in routines whose names end
    /// with `_s`. A maximum below the size, or `_TRUNCATE`, lets the text be cut.
    Safe(u64, u64),
}

/// Prints narrow text. Returns -1 if it does not fit.
fn narrow(buffer: GuestPtr<u8>, room: Room, format: GuestPtr<u8>, arguments: GuestPtr<u64>) -> Result<i32, Fault> {
    let format = print::widen(&format.terminated()?);
    let text = print::format(&format, false, &mut Arguments::new(arguments))?;
    let bytes: Vec<u8> = text.iter().map(|&unit| u8::try_from(unit).unwrap_or(b'?')).collect();
    store(buffer, room, &bytes)
}

fn wide(buffer: GuestPtr<u16>, room: Room, format: GuestPtr<u16>, arguments: GuestPtr<u64>) -> Result<i32, Fault> {
    let text = print::format(&format.terminated()?, true, &mut Arguments::new(arguments))?;
    store(buffer, room, &text)
}

fn store<T: Unit>(buffer: GuestPtr<T>, room: Room, units: &[T]) -> Result<i32, Fault> {
    let length = units.len() as u64;
    let (kept, terminated) = match room {
        Bare(size) => (length.min(size), length < size),
        Safe(size, count) if buffer.is_null() || size == 0 || count == 0 => return Ok(-1),
        Safe(size, count) if length < size || count < size || count == _TRUNCATE => {
            (length.min(count).min(size - 1), true)
        }
        Safe(..) => (0, true),
    };
    buffer.array(kept).write(units)?;
    if terminated {
        buffer.at(kept).write(T::default())?;
    }
    Ok(if kept == length { length as i32 } else { -1 })
}
