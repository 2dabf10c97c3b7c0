//! Raw layouts of an `.etl` file: each a struct, its size as a constant, `parse` and `to_bytes`.
//!
//! A file is a sequence of buffers; a buffer is a [`BufferHeader`](buffer::BufferHeader) and records, each 8-aligned. The
//! first record of the first buffer is the [`LogfileHeader`](logfile::LogfileHeader). This module knows where bytes are, not what
//! they mean together; it must never fail in another way than by answering `None`.

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
