//! The calls that led to where a thread is, as far as they are the driver's.
//!
//! A walk allocates nothing and waits for nothing, so that a signal handler can do it.

use std::sync::OnceLock;

use super::crossing::{Crossing, word};
use super::thread;
use crate::kernel::ex::image;
use crate::loader::Layout;
use crate::unwind::{Functions, Registers};

/// Most frames of a walk. Twice what the kernel's part of an event's stack can have.
const MOST: usize = 256;

/// The image with its tables: the bytes as they were before relocation, which changes none of them.
struct Tables {
    image: Vec<u8>,
    exceptions: (u32, u32),
}

/// A process runs one driver, though perhaps many times.
static TABLES: OnceLock<Tables> = OnceLock::new();

/// Makes the tables of the driver known.
pub(crate) fn use_tables(layout: &Layout) {
    TABLES.get_or_init(|| Tables { image: layout.bytes.clone(), exceptions: layout.exceptions.unwrap_or_default() });
}

/// The functions of the driver.
pub(crate) fn functions() -> Option<Functions<'static>> {
    let tables = TABLES.get()?;
    Functions::new(&tables.image, tables.exceptions.0, tables.exceptions.1).ok()
}

/// Visits the addresses from some registers outwards, the innermost first, until the visitor has enough. What the host
/// itself called in between is left out: a driver's callback is followed by the driver's call that caused it.
pub(crate) fn walk(start: &Registers, mut visit: impl FnMut(u64) -> bool) {
    let (Some(functions), Some(stack)) = (functions(), thread::stack()) else { return };
    let mut registers = *start;
    for _ in 0..MOST {
        let Some(base) = image::base_of(registers.rip) else {
            // The host's own code: it called back for somebody, or the walk is over.
            let Some(behind) = Crossing::behind(registers.rsp()) else { return };
            registers = behind;
            continue;
        };
        let before = registers.rsp();
        if !visit(registers.rip) {
            return;
        }
        let unwound = functions.unwind(base, &mut registers, &mut |address| word(stack, address));
        if unwound.is_err() || registers.rsp() <= before {
            return;
        }
    }
}

/// Where the driver is on this thread: in a call of a routine, or at a fault that is being looked into.
pub(crate) fn here() -> Option<Registers> {
    thread::fault().or_else(|| Crossing::current().map(Crossing::registers))
}
