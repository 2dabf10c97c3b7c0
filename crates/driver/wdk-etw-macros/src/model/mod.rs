//! The checked model: what a macro call means, after every rule and limit has been checked.
//!
//! This module defines the table of field types, the names of ETW's values, and all limits. It creates no tokens: it
//! passes data and the user's expressions to the code generator.

mod event;
mod field;
mod limits;
mod names;
mod options;
mod provider;
mod result;
mod suggest;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use event::{Event, EventKind};
pub(crate) use field::{Code, Field, Tag};
pub(crate) use names::{CHANNEL, LEVEL, OPCODE, Vocabulary};
pub(crate) use options::Named;
pub(crate) use provider::{Mode, Provider, SetInformation};
pub(crate) use result::ResultType;
pub(crate) use table::{Cut, Shape, ValueType};
