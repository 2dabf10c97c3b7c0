//! The code that all command-line programs of this project share, so that they behave in the same way. docs/conventions.md
//! documents this behaviour for users.
//!
//! A program describes its command line with clap's derive, uses [`VERSION`] as its version, parses with [`parse`], prints results
//! with [`print()`], prints errors and notes to standard error with [`error`] and [`note`], shows a spinner during long work with
//! [`Activity`], checks with [`Inputs`] that its output replaces none of its inputs, and ends with [`end`]. Text that others
//! wrote is [`escaped`] before it becomes part of a line. Nothing here depends on what a program does.
//!
//! Without the feature `cli`, there is only the text for terminals, and no dependency: for programs that must build quickly.
#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
mod activity;
#[cfg(feature = "cli")]
mod annotation;
#[cfg(feature = "cli")]
pub mod exit;
#[cfg(feature = "cli")]
mod inputs;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(feature = "cli")]
mod output;
#[cfg(feature = "cli")]
mod program;
#[cfg(feature = "cli")]
mod shared;
#[cfg(feature = "cli")]
mod shells;
mod terminal;
#[cfg(feature = "cli")]
pub mod units;
#[cfg(feature = "cli")]
mod words;

#[cfg(feature = "cli")]
pub use activity::Activity;
#[cfg(feature = "cli")]
pub use annotation::{annotate, is_annotating};
#[cfg(feature = "cli")]
pub use inputs::Inputs;
#[cfg(feature = "cli")]
pub use interrupt::{Deferred, handles_interrupts};
#[cfg(feature = "cli")]
pub use output::{end, print};
#[cfg(feature = "cli")]
pub use program::{explain, parse, parse_as};
#[cfg(feature = "cli")]
pub use shared::{error, has_colours, is_quiet, is_verbose, message, note, say, words};
pub use terminal::{Content, Screen, escaped, shown};
#[cfg(feature = "cli")]
pub use words::Words;

/// The version of the programs, followed by the commit if it is known.
pub const VERSION: &str = env!("VERSION");
