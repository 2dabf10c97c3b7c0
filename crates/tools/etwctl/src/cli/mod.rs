//! The command line: one table from which it is parsed, explained and completed.
//!
//! Written by hand: the table is needed anyway for the completions, parsing it takes a page, and the command stays free of
//! dependencies that take longer to build than everything else in it.

pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod parse;
pub(crate) mod spec;

pub(crate) use parse::{Line, parse};
