//! Faults and structured exception handling: from a signal or a raised status to the driver's own handlers, or to a finding.
//!
//! A fault arrives in a signal handler, which only looks whether some frame has a handler and then has the thread go on
//! here, outside of the signal: filters and termination handlers are driver code and may do what driver code does. They
//! run on the driver's stack below the frames they belong to, and the one that takes the exception goes on in its own
//! frame. What nobody takes is a finding.
//!
//! Layouts and rules are those of Microsoft's "x64 exception handling" and of the documents on structured exception
//! handling; nothing was compared with a run on Windows.

mod area;
mod dispatch;
mod explain;
pub(crate) mod fault;
mod frames;
mod interrupted;
mod language;
mod raise;
mod resume;
pub(crate) mod shared_data;
pub(crate) mod signals;
mod site;
pub(crate) mod system_calls;

pub(crate) use area::Exception;
pub(crate) use site::FaultSite;

use crate::memory::Unhandled;
use crate::part::Part;
use crate::routine::Routine;
use crate::verify::Rule;

/// The families of routines.
pub(crate) const ROUTINES: [&[Routine]; 2] = [frames::ROUTINES, raise::ROUTINES];

/// What a fault needs of the kernel, which is above this layer.
pub(crate) struct Hooks {
    /// Brings memory in that was paged out; whether it was such memory.
    pub(crate) page_in: fn(u64, &FaultSite) -> bool,
    /// What an address that faulted was.
    pub(crate) explain: fn(u64) -> Option<(Rule, String)>,
    /// Where the page is that Windows shares with every process, with the times of this moment.
    pub(crate) shared_data: fn() -> Option<u64>,
    /// The driver changed the IRQL with an instruction of its own.
    pub(crate) change_irql: fn(u8),
    /// The page table that the processor says it has.
    pub(crate) page_table: fn() -> u64,
}

static HOOKS: Part<Hooks> = Part::new();

/// What a fault does that nobody handles.
const STOP: Unhandled = Unhandled(|fault| fault::raise(fault, false));

/// Makes the kernel known; a second one is refused.
pub(crate) fn attach(hooks: &'static Hooks) {
    HOOKS.attach(hooks);
    crate::memory::on_unhandled(&STOP);
}

fn explain_address(address: u64) -> Option<(Rule, String)> {
    (HOOKS.find()?.explain)(address)
}
