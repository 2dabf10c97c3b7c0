//! The meaning of the events of a trace: names, fields, maps and messages.
//!
//! All descriptions of events are converted to one model, [`EventSchema`], and all sources of schemas implement one trait,
//! [`Schema`]. The sources are
//!
//! - [`tdh`]: the `TRACE_EVENT_INFO` and `EVENT_MAP_INFO` structures that a trace stores about its own events,
//! - [`manifest`]: instrumentation manifests (`.man`, XML), including those of .NET's `EventSource` ([`envelope`]),
//! - [`wevt`]: manifests compiled into the `WEVT_TEMPLATE` resource of a binary,
//! - [`wpp`]: WPP messages, described by trace message format files,
//! - [`built_in`]: the classes of the kernel's own events and the events of the .NET runtime.
//!
//! For build scripts of drivers, [`codegen`] generates typed functions and resources from a manifest.
//!
//! The crate treats all of its input as untrusted: no input makes it panic, loop forever or use unbounded memory. It does not
//! decode payloads; `etw-etl` does that with the model.
//!
//! The feature `binaries` (on by default) is needed for [`wpp`], [`files`] and [`wevt::resources`], which read binaries and
//! PDBs.
#![forbid(unsafe_code)]

pub mod built_in;
mod bytes;
pub mod codegen;
pub mod envelope;
#[cfg(feature = "binaries")]
mod error;
#[cfg(feature = "binaries")]
pub mod files;
pub mod manifest;
pub mod message;
pub mod schema;
pub mod tdh;
mod types;
pub mod wevt;
#[cfg(feature = "binaries")]
pub mod wpp;

#[cfg(feature = "binaries")]
pub use error::Error;
#[cfg(feature = "binaries")]
pub use files::SchemaFiles;
pub use schema::{EventKey, EventSchema, Extent, Field, Layers, PointerSize, Schema, Source, ValueMap};
pub use types::{Encoding, Presentation};
