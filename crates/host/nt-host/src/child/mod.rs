//! The process that runs the driver.
//!
//! It is forked from the one that asked for the run. Its first thread answers requests and never runs driver code, so
//! that it still answers when the driver has crashed or hangs; a worker runs the driver. A third thread answers what can
//! be said of sessions without the driver.

pub(crate) mod control;
mod process;
mod server;
mod storm;
mod worker;

pub(crate) use process::Process;
