//! Reading, writing and decoding `.etl` trace files, on any host.
//!
//! This crate owns the file format: raw layouts ([`mod@format`]), a [`Writer`] whose file stays readable even if the process
//! dies, a [`Reader`] that returns the events of a file in time order, the decoding of TraceLogging events ([`decode`]) and
//! exports ([`export`]). It treats its input as untrusted: no input makes it panic, loop forever or use unbounded memory, and it
//! reports everything that it could not read. It contains no `unsafe` code and calls no Windows API.
//!
//! The layouts follow files captured on Windows and public declarations. The writer produces little-endian files of 64-bit
//! systems; the reader also accepts files of 32-bit systems.
//!
//! | to | use |
//! |---|---|
//! | read a trace in the order of time | [`Reader`]; its [`Report`] says what could not be read |
//! | name events and their fields | [`Decoder`]; [`Event::decode`] for events that describe themselves; [`Flat`] without a tree, for very many events |
//! | show or convert a trace | [`Exporter`] with a [`Format`]; [`export::Columns`], [`export::Pcapng`] |
//! | write a trace | [`Writer`] with [`EventData`], or whole buffers ([`Buffer`]) |
//! | find what belongs together | [`pair::Pairs`] |
//! | name the frames of stacks | [`Images`], [`Methods`], [`FrameNames`] |
//! | name processes, threads, files and registry keys | [`TraceNames`], [`Names`] |
//! | check a trace in a test | [`mod@expect`] |
//! | compare two traces of the same steps | [`mod@compare`] |
//! | look at the raw layouts | [`mod@format`] |
//!
//! ```
//! use etw_etl::{Event, EventData, ExtendedItem, Reader, Writer, WriterOptions};
//! use etw_types::tracelogging::EventBuilder;
//! use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level};
//!
//! let path = std::env::temp_dir().join(format!("etw-etl-doc-{}.etl", std::process::id()));
//! let (mut metadata, mut payload) = ([0; 64], [0; 64]);
//! let (metadata, payload) =
//!     EventBuilder::new(&mut metadata, &mut payload, "Read", 0).u32("Length", 512).finish()?;
//!
//! let mut writer = Writer::create(&path, WriterOptions::default())?;
//! let items = ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
//! let event = EventData {
//!     provider: Guid::from_name("MyDriver"),
//!     descriptor: EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging),
//!     items: &items,
//!     payload,
//!     ..EventData::default()
//! };
//! writer.write(0, &event)?;
//! writer.close()?;
//!
//! let mut reader = Reader::open(&path)?;
//! let event = reader.find(Event::is_trace_logging).ok_or("no event")?;
//! assert_eq!(event.decode().to_string(), "MyDriver/Read Length=512");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod compare;
pub mod decode;
mod digits;
mod error;
mod event;
pub mod expect;
pub mod export;
pub mod format;
mod images;
mod methods;
mod names;
mod new_file;
pub mod pair;
mod read;
mod rundown;
#[cfg(test)]
mod testing;
mod time;
mod write;

pub use decode::{
    Decoded, Decoder, Elements, FixedValues, Flat, FlatValue, FrameNames, Identity, NameSource, Names, NumberPlace,
    Process, escaped,
};
pub use error::Error;
pub use event::{Event, EventRef, Header, Kind};
pub use export::{About, Exporter, Format};
pub use format::extended::{ExtendedItem, ExtendedType};
pub use images::{Images, Place};
pub use methods::Methods;
pub use names::TraceNames;
pub use new_file::NewFile;
pub use read::owners::Threads;
pub use read::report::{Loss, LossReason, Report};
pub use read::{Reader, ReaderOptions, share};
pub use time::{Clock, ClockKind, FileTime};
pub use write::Writer;
pub use write::buffer::{Buffer, Full};
pub use write::event::EventData;
pub use write::options::{FileMode, WriterOptions};
pub use write::outcome::{BufferOutcome, Summary};
