//! Formatting without allocation: text in a buffer on the stack, and a guard against recursion.

pub(crate) mod bytes;
pub(crate) mod guard;
pub(crate) mod text;
