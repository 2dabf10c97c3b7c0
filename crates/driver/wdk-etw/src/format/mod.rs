//! Formatting without memory of its own: text in a buffer on the stack, and a guard against text that logs itself.

pub(crate) mod bytes;
pub(crate) mod guard;
pub(crate) mod text;
