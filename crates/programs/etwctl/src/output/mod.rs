//! The output of commands: tables for people, JSON for programs, colours on terminals.

mod aside;
mod file;
pub(crate) mod json;
mod meter;
mod sink;
pub(crate) mod table;
mod unread;

pub(crate) use aside::Aside;
pub(crate) use file::{Destination, Output, StdoutError, new_file};
pub(crate) use json::{Json, cell_text, document, milliseconds, object};
pub(crate) use meter::Meter;
pub(crate) use sink::Sink;
pub(crate) use table::Table;
pub(crate) use unread::Unread;
