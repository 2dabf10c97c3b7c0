//! The code that all command-line programs of this project share, so that they behave in the same way. docs/conventions.md
//! documents this behaviour for users.
//!
//! A program describes its command line with clap's derive, uses [`VERSION`] as its version, parses with [`parse`], prints results
//! with [`print()`], prints errors and notes to standard error with [`error`] and [`note`], shows a spinner during long work with
//! [`Activity`], takes files to write as [`OutputPath`]s, which [`Outputs`] checks against the [`Inputs`], and ends with [`end`] or
//! [`end_listing`]. Text that others wrote is [`escaped`] before it becomes part of a line. [`device_of_name`] finds names that no file has on
//! Windows. Nothing here depends on what a program does.
//!
//! Without the feature `cli`, there is no command line and no dependency: for programs that must build quickly.
#![deny(unsafe_code)]

#[cfg(feature = "cli")]
mod cli;
mod device_name;
pub mod exit;
mod files;
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the standard library cannot look before its own runtime does")]
mod start;
#[cfg(not(target_os = "linux"))]
mod start {
    pub(crate) const fn had_stdout() -> bool {
        true
    }
}
mod stdout;
mod terminal;

#[cfg(feature = "cli")]
pub use cli::{
    Activity, Deferred, Partial, Words, annotate, end, end_listing, error, explain, handles_interrupts, has_colours,
    info, is_annotating, is_quiet, is_verbose, message, note, parse, parse_as, print, units, words,
};
pub use device_name::device_of_name;
pub use files::{Inputs, Output, OutputDir, OutputError, OutputPath, Outputs, OwnDir};
pub use stdout::{NoStdout, exit_code, exit_code_of_listing, is_unread, require_stdout, stdout_failed, write_stdout};
pub use terminal::{Content, Screen, escaped, shown};

/// The version of the programs, followed by the commit if it is known.
pub const VERSION: &str = env!("VERSION");
