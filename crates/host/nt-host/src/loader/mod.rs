//! From the bytes of a `.sys` file to code that can run.
//!
//! Everything up to [`Layout`] is safe code over bytes that nobody vouches for: whatever they are, the answer is a layout
//! or an [`ImageError`] that names the field. Only [`Mapped`] touches memory, and only with what a layout has checked.

mod error;
mod flat;
mod imports;
mod layout;
mod map;
mod relocations;
mod tables;

pub use error::ImageError;
pub use imports::{Import, ImportName};
pub use layout::{Guard, Layout, Section};
pub(crate) use map::Mapped;
