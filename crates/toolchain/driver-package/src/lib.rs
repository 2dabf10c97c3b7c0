//! Driver images as files: their contents, whether Windows would load them, and the packages that install them.
//!
//! [`Image`] is the model of a PE file, which the crate `pe-image` reads. [`Verdict::judge`] checks it with [`rules`]:
//! each rule says what Windows does if the rule is broken, and names its source. [`report`] formats both as a table
//! for people or as JSON for programs.
//!
//! [`inf`] stamps and lints INF files, [`sign`] adds an Authenticode signature to an image, and [`catalog`] signs a
//! list of the digests of a package's files. [`package`] makes a package from an image and an `.inx`, or completes
//! one that the WDK made. A fault in an input is a [`Problem`] with file, line and rule.
//!
//! This crate has no `unsafe` code. It never loads or runs the files that it reads.
//!
//! ```
//! use driver_package::{Image, Target, Verdict};
//!
//! let error = Image::parse(b"MZ, but nothing more").unwrap_err();
//! assert_eq!(error.field(), "DOS header");
//!
//! # let bytes = b"";
//! if let Ok(image) = Image::parse(bytes) {
//!     for finding in Verdict::judge(&image, Target::default()).findings() {
//!         println!("{}: {}", finding.rule.id, finding.found);
//!     }
//! }
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod catalog;
pub mod cli;
pub mod inf;
pub mod package;
pub mod problem;
pub mod report;
pub mod sign;
pub mod verify;
mod version;

pub use pe_image::{self as pe, Error, Image};
pub use problem::{Level, Problem, Problems};
pub use windows_releases::load_rules::{self as rules, Finding, Severity, Target, Verdict};
