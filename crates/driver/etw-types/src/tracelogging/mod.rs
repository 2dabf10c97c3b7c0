//! TraceLogging: events that carry their own schema.
//!
//! An event's metadata names the event and its fields and gives their types; its payload is the packed values. This
//! module owns both encodings: constants for the macros, a builder over caller's buffers for schemas that are known only
//! at run time, and a reader that never trusts its input. Layout by Microsoft's TraceLogging headers.

mod builder;
mod decode;
mod filetime;
mod in_type;
mod metadata;
mod out_type;
mod reader;
mod tag;
mod value;

pub use builder::{BuildError, EventBuilder};
pub use decode::{DecodeError, Visitor, decode};
pub use filetime::{
    filetime_from_duration_after_1970, filetime_from_duration_before_1970, filetime_from_time32, filetime_from_time64,
};
pub use in_type::InType;
pub use metadata::{Piece, encode_pieces, pieces_len};
pub use out_type::OutType;
pub use reader::{Count, Field, Fields, Metadata, MetadataError};
pub use tag::{MAX_TAG, encode_tag, tag_len};
pub use value::Value;

/// Largest metadata of an event.
pub const MAX_METADATA_SIZE: usize = 0xFFFF;
/// Most data descriptors of an event, the two of the metadata included.
pub const MAX_DESCRIPTORS: usize = 128;
/// Most fields of an event that Windows' decoder takes.
pub const MAX_FIELDS: usize = 128;
/// Most fields of a struct.
pub const MAX_STRUCT_FIELDS: u8 = 127;
/// Bytes that a counted field or elements that an array can have: both counts are a `u16`.
pub const MAX_COUNT: usize = 0xFFFF;

#[cfg(test)]
mod tests;
