//! The processor as a driver sees it: stacks, the GS segment, privileged instructions, faults.
//!
//! A driver's code runs on a stack of its own, of the size that Windows gives; every routine that it imports runs on the
//! host's. [`switch`] has both ways across. [`fault`] is what a signal becomes.

pub(crate) mod crossing;
pub(crate) mod decode;
mod explain;
pub(crate) mod fault;
mod interrupted;
pub(crate) mod resume;
pub(crate) mod signals;
pub(crate) mod site;
pub(crate) mod stack;
pub(crate) mod stubs;
pub(crate) mod switch;
pub(crate) mod thread;
pub(crate) mod walk;
