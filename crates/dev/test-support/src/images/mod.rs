//! Builds the release images in `images/` for Windows and inspects them.
//!
//! The images prove what no host test can prove: which routines a driver imports, and that none of its paths panics.
//! Nothing here runs an image.

mod build;
mod cargo;
mod image;
mod toolchain;

pub use build::{build_all, file, image, image_with_key_values};
pub use cargo::{built, named};
pub use image::Image;
pub use toolchain::{TARGET, Toolchain, is_without};
