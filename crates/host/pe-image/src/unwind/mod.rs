//! Walking back through calls by the unwind tables of an image.
//!
//! Everything here is safe code over the bytes of an image and a function that reads the stack: nobody vouches for
//! either, and whatever they are the answer is a caller's registers or an [`UnwindError`]. Nothing here touches memory by
//! itself or knows about threads; every loop has a bound that does not depend on the data.
//!
//! The layouts are those of Microsoft's document "x64 exception handling".

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

/// Reads a word of the stack; `None` where there is none.
pub type ReadStack<'a> = &'a mut dyn FnMut(u64) -> Option<u64>;
