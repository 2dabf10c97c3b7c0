//! All but the text for terminals.

mod activity;
mod annotation;
pub mod exit;
mod inputs;
mod interrupt;
mod output;
mod outputs;
mod program;
mod shared;
mod shells;
pub mod units;
mod words;

pub use activity::Activity;
pub use annotation::{annotate, is_annotating};
pub use inputs::Inputs;
pub use interrupt::{Deferred, Partial, handles_interrupts};
pub use output::{end, is_unread, print};
pub use outputs::{Output, OutputDir, OutputPath, Outputs};
pub use program::{explain, parse, parse_as};
pub use shared::{error, has_colours, info, is_quiet, is_verbose, message, note, words};
pub use words::Words;
