//! The processor as a driver sees it: stacks, the GS segment, privileged instructions, and the calls on a stack.
//!
//! A driver's code runs on a stack of its own, of the same size as in Windows. Every routine that it imports runs on
//! the host's stack. [`switch`] changes between the two in both directions.

pub mod context;
pub mod crossing;
pub mod decode;
pub mod handler;
pub mod operand;
pub mod stack;
pub mod stubs;
pub mod switch;
pub mod thread;
pub mod walk;
