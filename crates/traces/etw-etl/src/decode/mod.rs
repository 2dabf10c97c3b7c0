//! Decodes a record into names and values.
//!
//! A TraceLogging event contains its own schema. `etw-types` parses the schema and walks the payload; this module builds a tree
//! from it and decides how each value is shown ([`Scalar`]). A [`Decoder`] finds the schemas of other events: in the trace, in
//! files, and among the kernel's classes. Nothing is lost: data that could not be decoded is kept as bytes.

mod decoded;
mod flat;
mod flat_values;
mod frames;
mod insert;
mod links;
mod lookup;
mod names;
mod own;
mod plan;
mod recent_names;
mod schema;
mod sinks;
mod tree;
mod value;
mod walk;

pub use decoded::Decoded;
pub use flat::Flat;
pub use flat_values::{Elements, FixedValues, FlatValue, NumberPlace};
pub use frames::FrameNames;
pub use names::{NameSource, Names, Process};
pub use own::decode;
pub use schema::{Decoder, Identity};
pub use tree::{Field, Node};
pub use value::Scalar;
pub use value::escape::escaped;
pub(crate) use value::show;

pub use crate::event::{Kind, Parts};

#[cfg(test)]
mod tests;
