//! Stack unwinding with the unwind tables of an image.
//!
//! This is safe code that works on the bytes of an image and a function that reads the stack. Both are untrusted: the result is
//! the registers of the caller or an [`UnwindError`]. Nothing here accesses memory directly or knows about threads, and the bound
//! of every loop is independent of the data.
//!
//! The layouts are those of Microsoft's documentation of x64 exception handling.

mod code;
mod epilog;
mod error;
mod functions;
mod info;
mod registers;
mod step;
#[cfg(test)]
mod tests;

pub use error::UnwindError;
pub use functions::{Function, Functions};
pub use registers::Registers;
pub use step::{Handler, Unwound};

/// Reads a word of the stack. Returns `None` if there is no word at the address.
pub type ReadStack<'a> = &'a mut dyn FnMut(u64) -> Option<u64>;
