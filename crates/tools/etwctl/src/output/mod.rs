//! What the command writes: tables for people, JSON for programs, colours on terminals.

mod file;
pub(crate) mod json;
mod meter;
pub(crate) mod paint;
pub(crate) mod table;

pub(crate) use file::Output;
pub(crate) use json::Json;
pub(crate) use meter::Meter;
pub(crate) use table::Table;
