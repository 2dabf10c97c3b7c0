//! ETW: passes the driver's calls to the engine, and the engine's callbacks to the driver.

mod data;
mod environment;
mod routines;
mod trace_information;

use nt_verifier::routine::Routine;

pub(crate) use environment::DriverView;
pub use routines::{Writers, report_leaks};

pub(super) const ROUTINES: &[&[Routine]] = &[routines::ROUTINES, trace_information::ROUTINES];
