//! The state of the hardware: which values were read, which memory is mapped, and what the driver did.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nt_processor::layer_state::LayerState;
use nt_processor::memory::{PAGE, Protection, protect};
use nt_processor::sorted::SortedMap;

use super::script::{HardwareAccess, HardwareScript, Register};
use crate::verify::{self, Rule};

/// The maximum number of accesses that are kept until the test takes them.
const MAX_ACCESSES: usize = 1 << 20;

static HARDWARE: LayerState<Hardware> = LayerState::new();

/// The hardware of a machine.
#[derive(Default)]
pub struct Hardware {
    script: HardwareScript,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often each register was read.
    reads: SortedMap<Register, usize>,
    mappings: Vec<Mapping>,
    accesses: Vec<HardwareAccess>,
    dropped: u64,
}

impl Hardware {
    /// Creates hardware that follows a script.
    pub fn new(script: HardwareScript) -> Self {
        Self { script, state: Mutex::default() }
    }

    /// Locks the state. It is never locked while memory of the driver is accessed, so a fault does not find its own lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, access: HardwareAccess) {
        let mut state = self.state();
        if state.accesses.len() < MAX_ACCESSES {
            state.accesses.push(access);
        } else {
            state.dropped += 1;
        }
    }

    /// Calls the test's handler. A panic must not leave the signal handler.
    fn handle(&self, access: &HardwareAccess) -> Option<u64> {
        let handler = self.script.handler()?;
        catch_unwind(AssertUnwindSafe(|| handler(access))).unwrap_or_else(|_| {
            verify::stop(Rule::Host, None, 0, format_args!("the test's handler of the hardware panicked ({access})"))
        })
    }
}

/// Makes this the hardware of this process. Later calls have no effect.
pub fn attach(hardware: &'static Hardware) {
    HARDWARE.attach(hardware);
}

/// Returns the bits of a value that an access of this width has.
const fn truncated(value: u64, width: u8) -> u64 {
    if width < 8 { value & ((1 << (width * 8)) - 1) } else { value }
}

/// Reads a register. `present` is its value if no script decides.
pub fn read(register: Register, width: u8, present: u64) -> u64 {
    let Some(hardware) = HARDWARE.find() else { return present };
    let scripted = {
        let mut state = hardware.state();
        let count = state.reads.get_or_default(register);
        *count += 1;
        hardware.script.value(register, *count - 1)
    };
    let value = truncated(scripted.unwrap_or(present), width);
    let access = HardwareAccess { register, width, is_write: false, value };
    let value = hardware.handle(&access).map_or(value, |value| truncated(value, width));
    hardware.record(HardwareAccess { value, ..access });
    value
}

/// Writes a register.
pub fn write(register: Register, width: u8, value: u64) {
    let Some(hardware) = HARDWARE.find() else { return };
    let access = HardwareAccess { register, width, is_write: true, value: truncated(value, width) };
    let _ = hardware.handle(&access);
    hardware.record(access);
}

/// Takes the accesses since the last call, and the number of those for which there was no room.
pub fn take() -> (Vec<HardwareAccess>, u64) {
    let Some(hardware) = HARDWARE.find() else { return Default::default() };
    let mut state = hardware.state();
    (std::mem::take(&mut state.accesses), std::mem::take(&mut state.dropped))
}

/// Pages of a device that a driver has mapped. They are inaccessible, so that each access faults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pages: u64,
    size: u64,
    /// The physical address of the first page.
    physical: u64,
}

impl Mapping {
    /// Returns the register at an address.
    pub(crate) const fn register(self, address: u64) -> Register {
        Register::Memory(self.physical.wrapping_add(address.wrapping_sub(self.pages)))
    }

    /// Makes the pages accessible, or inaccessible again.
    pub(crate) fn open(self, is_open: bool) {
        protect(self.pages, self.size, if is_open { Protection::ReadWrite } else { Protection::None });
    }
}

/// Returns whether the script is about memory at a physical address.
fn is_scripted(physical: u64, size: u64) -> bool {
    HARDWARE.find().is_some_and(|hardware| hardware.script.covers(physical, size))
}

/// Maps scripted memory of a device. `pages` allocates pages and returns their address, or 0. Returns `None` if no script
/// is about this memory.
pub fn map(physical: u64, size: u64, pages: impl FnOnce(u64) -> u64) -> Option<u64> {
    let hardware = HARDWARE.find().filter(|_| is_scripted(physical, size))?;
    let offset = physical % PAGE;
    let size = size.checked_add(offset)?.checked_next_multiple_of(PAGE)?;
    let pages = pages(size);
    if pages == 0 || !pages.is_multiple_of(PAGE) {
        return Some(pages);
    }
    let mapping = Mapping { pages, size, physical: physical - offset };
    hardware.state().mappings.push(mapping);
    mapping.open(false);
    Some(pages + offset)
}

/// Forgets the mapping that an address belongs to, and returns the address of its pages.
pub fn unmap(address: u64) -> Option<u64> {
    let mapping = mapping_at(address)?;
    HARDWARE.find()?.state().mappings.retain(|known| known.pages != mapping.pages);
    mapping.open(true);
    Some(mapping.pages)
}

/// Returns the mapping that an address belongs to.
pub(crate) fn mapping_at(address: u64) -> Option<Mapping> {
    let hardware = HARDWARE.find()?;
    let state = hardware.state();
    state.mappings.iter().find(|known| address.wrapping_sub(known.pages) < known.size).copied()
}
