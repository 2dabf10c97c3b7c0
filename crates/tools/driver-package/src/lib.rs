//! Driver images as files: what is in them, whether Windows would load them, and the packages they are installed from.
//!
//! [`Image`] is the model of a PE file, which the crate `pe-image` reads. [`Verdict::of`] holds it against [`rules`]: each
//! rule says what Windows does about it and where that is written.
//! [`report`] turns both into a table for people or JSON for programs.
//!
//! [`inf`] stamps and lints how a driver is installed, [`sign`] puts an Authenticode signature into an image,
//! [`catalog`] vouches for every file of a package, and [`package`] makes one of an image and an `.inx`, or completes one that the WDK made. What is wrong
//! with an input is a [`Problem`] with file, line and rule.
//!
//! This crate has no `unsafe` code, loads nothing and runs nothing of what it reads.
//!
//! ```
//! use driver_package::{Image, Target, Verdict};
//!
//! let error = Image::parse(b"MZ, but nothing more").unwrap_err();
//! assert_eq!(error.field(), "DOS header");
//!
//! # let bytes = b"";
//! if let Ok(image) = Image::parse(bytes) {
//!     for finding in Verdict::of(&image, Target::default()).findings() {
//!         println!("{}: {}", finding.rule.id, finding.found);
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

pub mod catalog;
pub mod cli;
pub mod inf;
pub mod package;
pub mod problem;
pub mod report;
pub mod sign;
pub mod verify;

pub use load_rules::{self as rules, Finding, Severity, Target, Verdict};
pub use pe_image::{self as pe, Error, Image};
pub use problem::{Level, Problem, Problems};
