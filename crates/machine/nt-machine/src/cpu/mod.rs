//! The processor as a driver sees it: stacks, the GS segment, privileged instructions, and the calls on a stack.
//!
//! A driver's code runs on a stack of its own, of the same size as in Windows. Every routine that it imports runs on
//! the host's stack. [`switch`] changes between the two in both directions.

pub(crate) mod context;
pub(crate) mod crossing;
pub(crate) mod decode;
pub(crate) mod handler;
pub(crate) mod operand;
pub(crate) mod stack;
pub(crate) mod stubs;
pub(crate) mod switch;
pub(crate) mod thread;
pub(crate) mod walk;
