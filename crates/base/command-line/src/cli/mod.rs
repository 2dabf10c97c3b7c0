//! What needs clap: command lines, colours, progress, interrupts.

mod activity;
mod annotation;
mod interrupt;
mod output;
mod program;
mod shared;
mod shells;
pub mod units;
mod words;

pub use activity::Activity;
pub use annotation::{annotate, is_annotating};
pub use interrupt::{Deferred, Partial, handles_interrupts};
pub use output::{end, end_listing, print};
pub use program::{explain, parse, parse_as};
pub use shared::{error, has_colours, info, is_quiet, is_verbose, message, note, words};
pub use words::Words;
