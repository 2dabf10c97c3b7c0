//! Raw layouts of an `.etl` file. Each is a struct with a constant for its size, `parse` and `to_bytes`.
//!
//! A file is a sequence of buffers. A buffer is a [`BufferHeader`](buffer::BufferHeader) followed by records, each aligned to 8
//! bytes. The first record of the first buffer is the [`LogfileHeader`](logfile::LogfileHeader). This module knows where the
//! bytes are, not what they mean together. Its only failure is returning `None`.

pub mod buffer;
pub(crate) mod bytes;
pub mod classic;
pub mod event;
pub mod extended;
pub mod logfile;
pub mod message;
pub mod record;
pub mod stack;

/// Alignment of records in a buffer and of extended items in a record.
pub const ALIGNMENT: usize = 8;
