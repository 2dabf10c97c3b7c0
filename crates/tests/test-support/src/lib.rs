//! What tests of several crates share: the way back from a decoded event to its bytes, a look at who imports whom, and Python
//! environments.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "helpers of tests: what goes wrong fails the test")]

pub mod imports;
mod python;
mod reencode;

pub use python::{python, run};
pub use reencode::{Reencoded, reencode};
