//! What the events of a trace mean: names, fields, maps and messages.
//!
//! Everything that describes events ends in one model, [`EventSchema`], and everything that can be asked for one implements one
//! trait, [`Schema`]. The sources are
//!
//! - [`tdh`]: the `TRACE_EVENT_INFO` and `EVENT_MAP_INFO` structures that a trace stores about its own events,
//! - [`manifest`]: instrumentation manifests (`.man`, XML), those of .NET's `EventSource` included ([`envelope`]),
//! - [`wevt`]: the same compiled into a binary's `WEVT_TEMPLATE` resource,
//! - [`wpp`]: WPP messages, by trace message format files,
//! - [`built_in`]: the classes of the kernel's own events and the events of the .NET runtime.
//!
//! The crate reads bytes of others and trusts none of them: no input makes it panic, loop or use memory without bound. It reads
//! no payloads; that is what `etw-etl` does with the model.
#![forbid(unsafe_code)]

pub mod built_in;
mod bytes;
pub mod envelope;
mod error;
pub mod files;
pub mod manifest;
pub mod message;
pub mod schema;
pub mod tdh;
mod types;
pub mod wevt;
pub mod wpp;

pub use error::Error;
pub use files::SchemaFiles;
pub use schema::{EventKey, EventSchema, Extent, Field, Layers, PointerSize, Schema, Source, ValueMap};
pub use types::{Encoding, Presentation};
