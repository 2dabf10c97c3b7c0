//! Helpers that the tests of several crates share: re-encoding of decoded events, Python environments, images for
//! Windows, the drivers of nt-host's tests, and a stand-in for a Windows machine.
#![cfg_attr(
    feature = "images",
    expect(clippy::indexing_slicing, clippy::panic, reason = "helpers of tests: an error must fail the test")
)]
#![cfg_attr(feature = "drivers", expect(clippy::expect_used, reason = "as above"))]

#[cfg(feature = "drivers")]
pub mod drivers;
#[cfg(feature = "images")]
pub mod images;
mod python;
mod reencode;
#[cfg(all(unix, feature = "windows"))]
pub mod windows;

pub use python::{python, run};
pub use reencode::{Reencoded, reencode};
