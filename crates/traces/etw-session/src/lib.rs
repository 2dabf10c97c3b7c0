//! ETW session control: sessions, providers and every information class, with typed values.
//!
//! On Windows this crate calls the system. On other systems it uses an in-process engine, with the same types and the
//! same errors. [`Machine`] is the entry point; [`Session`] is a running session; the module [`info`] has one type for
//! each `TRACE_QUERY_INFO_CLASS`. Documented limits are checked before the system is called, because the system only
//! returns a code. Every code comes with its name, its cause and advice ([`Error`]).
//!
//! `unsafe` and `cfg(windows)` are only in [`platform`]. Nothing here prints, and nothing panics on data that a system
//! returns.
//!
//! | to | use |
//! |---|---|
//! | start, find or list sessions | [`Machine::start`] with [`Properties`], [`Machine::attach`], [`Machine::sessions`] |
//! | enable a provider | [`Session::provider`], [`Provider::enable`] with [`Enable`] and [`Filter`] |
//! | start a session at every boot | [`BootSession`] |
//! | receive events while a session runs | [`Machine::consume`] |
//! | set or query an information class | a type of [`info`] with [`Session::set`], [`Session::get`], [`Machine::query`] |
//! | see who is registered | [`Machine::providers`], [`Machine::provider`], [`Machine::groups`] |
//! | tell a user what an error means | [`Error`], [`explain()`] |
//! | put another system in the place of this one | [`System`], [`Machine::with`] |
//!
//! ```
//! # #[cfg(not(windows))] {
//! use etw_session::info::{MaxPmcCounters, ProfileSources, StackTracing};
//! use etw_session::{Enable, Machine, Properties};
//! use etw_types::session::ClassicEventId;
//! use etw_types::{Guid, Level};
//!
//! let machine = Machine::local();
//! let session = machine.start(&Properties::new("Example").real_time().system_logger(0))?;
//! session.provider(Guid::from_name("MyDriver")).enable(&Enable::new(Level::Verbose))?;
//!
//! // System events of these classes and types get a stack; an empty list turns it off again.
//! let event = ClassicEventId { guid: Guid::from_u128(1), event_type: 36, ..ClassicEventId::default() };
//! session.set(&StackTracing::new(vec![event])?)?;
//! session.set(&StackTracing::off())?;
//!
//! let sources = machine.query::<ProfileSources>()?;
//! let MaxPmcCounters(counters) = machine.query()?;
//! assert!(!sources.0.is_empty() && counters > 0);
//!
//! let status = session.stop()?;
//! assert_eq!(status.events_lost, 0);
//! # }
//! # Ok::<(), etw_session::Error>(())
//! ```
#![deny(unsafe_code)]

mod boot;
mod enable;
mod error;
mod explain;
mod grow;
mod machine;
pub mod platform;
mod poll;
mod registered;
mod registry;
mod session;
mod system;

pub use etw_types::session::info;
pub use etw_types::session::info::Malformed;
pub use etw_types::session::mode::NAMES as MODES;
pub use etw_types::session::{ClockType, Enable, Filter, Limit, Listed, Properties, Selection, SessionStatus, Update};

pub use boot::BootSession;
pub use enable::Provider;
pub use error::Error;
#[doc(alias = "FormatMessage")]
pub use explain::explain;
pub use explain::{Call, Explanation};
pub use machine::{Consumer, Machine, Unstopped};
pub use poll::{Polled, poll};
pub use registered::registered_provider;
pub use registry::{RegistryKey, RegistryValue};
pub use session::Session;
pub use system::{Control, EnableRequest, EventSource, Received, Refusal, System, Target};
