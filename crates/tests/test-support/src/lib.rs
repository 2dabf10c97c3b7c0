//! What tests of several crates share: the way back from a decoded event to its bytes, and a look at who imports whom.

pub mod imports;
mod reencode;

pub use reencode::{Reencoded, reencode};
