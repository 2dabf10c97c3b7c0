//! Structured exception handling: from a fault or a raised status to the driver's own handlers.
//!
//! A fault arrives in a signal handler, which only looks whether some frame has a handler and then has the thread go on
//! here, outside of the signal: filters and termination handlers are driver code and may do what driver code does. They
//! run on the driver's stack below the frames they belong to, and whoever takes the exception goes on in its own frame.
//! What nobody takes is a finding.
//!
//! Layouts and rules are those of Microsoft's "x64 exception handling" and of the documents on structured exception
//! handling; nothing was compared with a run on Windows.

mod area;
mod context;
mod dispatch;
mod frames;
mod language;
mod raise;

pub(crate) use area::{Exception, raised_at};
pub(crate) use raise::{handle_fault, leave_faulting_routine, prepare};

use crate::kernel::routine::Routine;

/// The families of routines.
pub(crate) const ROUTINES: [&[Routine]; 2] = [frames::ROUTINES, raise::ROUTINES];
