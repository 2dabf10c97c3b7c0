//! Faults and structured exception handling: from a signal or a raised status to the driver's handlers, or to a
//! finding.
//!
//! A fault arrives in a signal handler, which only checks whether any frame has a handler. If so, the thread continues
//! here, outside the signal handler, because filters and termination handlers are driver code and may do anything that
//! driver code does. They run on the driver's stack, below the frames that they belong to. The handler that takes the
//! exception continues in its own frame. An exception that no handler takes is a finding.
//!
//! Layouts and rules follow Microsoft's "x64 exception handling" and the documentation of structured exception
//! handling. The behaviour was not compared with Windows.

mod area;
pub mod changing;
mod code;
mod dispatch;
mod explain;
pub mod fault;
mod frames;
mod interrupted;
mod language;

mod ports;
pub mod processor;
mod raise;
mod registers;
mod resume;
pub mod shared_data;
pub mod signals;
mod site;
pub mod system_calls;
#[cfg(test)]
mod tests;

pub use area::Exception;
pub use raise::raise_status;
pub use site::FaultSite;

use nt_processor::image;
use nt_processor::layer_state::LayerState;
use nt_processor::memory::Unhandled;

use crate::routine::Routine;
use crate::verify::{Breach, Rule};

use fault::Trap;

/// The families of routines.
pub const ROUTINES: &[&[Routine]] = &[frames::ROUTINES, raise::ROUTINES];

/// The functions of the kernel, the layer above, that fault handling needs.
pub struct Hooks {
    /// Brings in memory that was paged out. Returns whether the address was in such memory.
    pub page_in: fn(u64, &FaultSite) -> bool,
    /// Explains the address of a fault, and whether an instruction was fetched there.
    pub explain: fn(u64, bool) -> Option<(Breach, String)>,
    /// Returns whether an address is outside of a client's own buffer, where the client may have no memory.
    pub is_beside_client_buffer: fn(u64) -> bool,
    /// Returns whether an address is in an allocation of the pool, which may contain code of the driver.
    pub is_pool: fn(u64) -> bool,
    /// Updates the times in the page that Windows shares with every process, and returns the page's address.
    pub shared_data: fn() -> Option<u64>,
    /// Called when the driver changes the IRQL with an instruction.
    pub change_irql: fn(u8),
    /// Returns the address of the page table, for reads of CR3.
    pub page_table: fn() -> u64,
    /// Returns the rule that this thread breaks by waiting forever.
    pub endless_wait: fn() -> Breach,
}

static HOOKS: LayerState<Hooks> = LayerState::new();

/// Handles a fault that nothing else handles.
const STOP: Unhandled = Unhandled(|fault| fault::raise(fault, false));

/// Sets the functions of the kernel, and the place for buffers that change. Later calls have no effect.
pub fn attach(hooks: &'static Hooks, buffers: &'static changing::Buffers) {
    HOOKS.attach(hooks);
    changing::attach(buffers);
    nt_processor::memory::on_unhandled(&STOP);
}

/// Returns whether an instruction at an address is the driver's: in its image, or in pool that it executes.
fn is_code(address: u64) -> bool {
    image::is_loaded(address) || HOOKS.find().is_some_and(|hooks| (hooks.is_pool)(address))
}

/// Explains a fault by its address. Pages of an image that the driver cannot use are read-only, or gone with its `INIT` section.
fn explain_address(trap: &Trap) -> Option<(Breach, String)> {
    if image::is_loaded(trap.address) {
        let reason = if trap.is_refused_write() { "is read-only" } else { "was discarded after DriverEntry" };
        let what = format!("{} {}, which {reason}", trap.verb(), image::describe(trap.address));
        return Some((Rule::AccessViolation.into(), what));
    }
    (HOOKS.find()?.explain)(trap.address, trap.executes())
}

/// Returns whether the driver accesses an address behind or before a client's own buffer.
fn is_beside_client_buffer(trap: &Trap) -> bool {
    !trap.executes() && HOOKS.find().is_some_and(|hooks| (hooks.is_beside_client_buffer)(trap.address))
}
