//! One record of a trace: its header, its bytes, its kind, and the parts of a TraceLogging event.
//!
//! This module must not depend on how a file is read or how an event is decoded.

mod header;
mod kind;
mod parts;
mod record;

pub use header::Header;
pub use kind::Kind;
pub use parts::Parts;
pub(crate) use parts::name_text;
pub use record::{Event, EventRef};
