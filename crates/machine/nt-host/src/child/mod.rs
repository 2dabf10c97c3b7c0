//! The process that runs the driver.
//!
//! It is forked from the process that starts the run. Its first thread handles requests and never runs driver code, so
//! it still replies when the driver has crashed or hangs. A worker thread runs the driver. A third thread handles
//! session control that does not involve the driver.

mod batch;
pub(crate) mod control;
mod debugger;
mod files;
mod filtered;
mod patience;
mod process;
mod server;
mod shared;
mod storm;
mod worker;

pub(crate) use debugger::wait_for_debugger;
pub(crate) use process::Process;
