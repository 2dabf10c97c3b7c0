//! Builds the release images under `images/` for Windows and reads what is in them.
//!
//! The images are the proof of promises that no host test can give: which routines a driver imports, and that no
//! path of it ends in a panic. Nothing here runs an image.
#![expect(clippy::indexing_slicing, clippy::panic, reason = "helpers of tests: what goes wrong fails the test")]

mod build;
mod cargo;
mod image;
mod toolchain;

pub use build::{build_all, file, image, image_with_key_values};
pub use cargo::{built, named};
pub use image::Image;
pub use toolchain::{TARGET, Toolchain, is_without};
