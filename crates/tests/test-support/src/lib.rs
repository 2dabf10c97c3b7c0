//! What tests of several crates share: the way back from a decoded event to its bytes, a look at who imports whom, and Python
//! environments.

pub mod imports;
mod python;
mod reencode;

pub use python::{python, run};
pub use reencode::{Reencoded, reencode};
