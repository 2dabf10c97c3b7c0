//! The processor as a driver sees it: stacks, the GS segment, privileged instructions, the calls on a stack.
//!
//! A driver's code runs on a stack of its own, of the size that Windows gives; every routine that it imports runs on the
//! host's. [`switch`] has both ways across.

pub(crate) mod context;
pub(crate) mod crossing;
pub(crate) mod decode;
pub(crate) mod operand;
pub(crate) mod stack;
pub(crate) mod stubs;
pub(crate) mod switch;
pub(crate) mod thread;
pub(crate) mod walk;
