//! What tests of several crates have in common: re-encoding of decoded events, checks of imports between modules, and
//! Python environments.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "helpers of tests: what goes wrong fails the test")]

pub mod imports;
mod python;
mod reencode;

pub use python::{python, run};
pub use reencode::{Reencoded, reencode};
