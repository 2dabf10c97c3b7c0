//! The checked model: what a macro call means, with every rule and limit already applied.
//!
//! Owns the table of field types, the names of ETW's values, and all limits. It produces no tokens of its own: what it
//! hands to the code generator is data and the user's expressions.

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
