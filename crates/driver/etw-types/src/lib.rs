//! Types, layouts and encodings of Event Tracing for Windows (ETW).
//!
//! This crate defines the types that the provider side (`wdk-etw`), the macros and the host side (engine, readers)
//! share: identifiers, event descriptors, status codes, the provider traits blob and TraceLogging metadata. It calls no
//! operating system functions, allocates nothing and has no dependencies. The feature `std` adds types for sessions,
//! which have names and paths and therefore allocate. `unsafe` is used in two places only: to view a GUID as bytes, and
//! to take arguments by value or by reference. Whatever can be a constant is a `const fn`, so that the bytes of
//! providers and events are in the image's read-only data.
//!
//! ```
//! use etw_types::{Guid, Level};
//!
//! // A provider's id follows from its name.
//! const ID: Guid = Guid::from_name("MyProvider");
//! assert_eq!(ID.to_string(), "b3864c38-4273-58c5-545b-8b3608343471");
//! assert_eq!(Level::Warning.as_int(), 3);
//! ```
#![no_std]
#![deny(unsafe_code)]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[macro_use]
mod newtype;

mod bytes;
mod event;
mod guid;
mod information;
mod native_string;
pub mod session;
mod status;
pub mod tracelogging;
pub mod traits;

// An alias is at the re-export: rustdoc 1.95 drops those of an item that it shows elsewhere.
pub use event::channel::Channel;
pub use event::control::{ControlCode, EventFilterDescriptor};
pub use event::data_descriptor::DataKind;
#[doc(alias = "EVENT_DATA_DESCRIPTOR")]
pub use event::data_descriptor::EventDataDescriptor;
pub use event::descriptor::EventDescriptor;
pub use event::keyword::Keyword;
pub use event::level::Level;
pub use event::opcode::Opcode;
pub use guid::{Guid, GuidParseError};
#[doc(alias = "EVENT_INFO_CLASS")]
pub use information::EventInfoClass;
pub use native_string::{AnsiString, UnicodeString};
pub use status::hresult::HResult;
pub use status::nt::NtStatus;
pub use status::win32::Win32Error;
pub use tracelogging::{InType, OutType};
