//! TraceLogging: events that carry their own schema.
//!
//! An event's metadata has the names of the event and its fields, and their types. Its payload has the packed values.
//! This module implements both encodings: constants for the macros, a builder that uses a caller's buffers for schemas
//! that are known only at run time, and a reader for untrusted input. The layout is that of Microsoft's TraceLogging
//! headers.

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

/// Maximum size of an event's metadata, in bytes.
pub const MAX_METADATA_SIZE: usize = 0xFFFF;
/// Maximum number of data descriptors per event, including the two for metadata.
pub const MAX_DESCRIPTORS: usize = 128;
/// Maximum number of fields per event that the decoder of Windows accepts.
pub const MAX_FIELDS: usize = 128;
/// Maximum number of fields in a struct.
pub const MAX_STRUCT_FIELDS: u8 = 127;
/// Maximum number of bytes in a counted field, and of elements in an array. Both counts are a `u16`.
pub const MAX_COUNT: usize = 0xFFFF;

#[cfg(test)]
mod tests;
