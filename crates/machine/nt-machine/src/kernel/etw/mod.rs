//! ETW: passes the driver's calls to the engine, and the engine's callbacks to the driver.

mod data;
mod environment;
mod routines;
mod trace_information;

pub(crate) use environment::DriverView;
pub(crate) use routines::{Writers, report_leaks};

use crate::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[routines::ROUTINES, trace_information::ROUTINES];
