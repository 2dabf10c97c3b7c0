//! An in-process ETW runtime: serves providers on systems without Windows.
//!
//! [`Engine`] keeps registrations, sessions and what each session enabled. It runs the providers' enable callbacks and
//! captures the events that they write. It follows the rules of the Windows kernel as far as they are public, so that a
//! provider can be tested against them: `register` reports an existing session synchronously, the callbacks of one
//! provider are serialised, and an operation that would deadlock in the kernel fails with a status and is recorded as a
//! [`Finding`]. The statuses are those of the kernel's routines.
//!
//! Sessions are those of `StartTrace`: they write files that any `.etl` reader opens, deliver to real-time consumers,
//! or buffer in memory. They implement every rule about modes and sizes, filters, extended data, consistent counts, and
//! all information classes ([`Properties`], [`Enable`], [`Statistics`], [`Engine::query_trace_information`]).
//! [`Engine::start_session`] is a shortcut for tests: a session that captures events in memory, with everything that
//! the writer passed.
//!
//! Writing an event takes no lock while registrations and sessions do not change: a thread keeps the routes that it
//! used last, and records go into per-processor buffers by compare-and-swap, in safe code. The record of calls is a
//! test instrument and does take a lock; see [`Engine::record_calls`].
//!
//! This crate has no `unsafe` code and no C ABI: raw pointers are handled in `etw-symbols`, which exports this engine
//! under the names of the real routines. It does not panic on any input. Behaviour that Windows does not document is
//! marked as our choice in the comments.
//!
//! ```
//! use etw_engine::{Block, Enable, Engine, EventWrite};
//! use etw_types::{EventDescriptor, Guid, Keyword, Level};
//!
//! let engine = Engine::new();
//! let provider = Guid::from_name("MyProvider");
//! let handle = engine.register(provider, None, |_| {}).expect("a fresh engine registers anything");
//!
//! let session = engine.start_session("example");
//! session.enable(provider, Enable { level: Level::Warning, ..Enable::default() });
//!
//! let blocks = [Block::data(b"hello")];
//! for level in [Level::Error, Level::Verbose] {
//!     let event = EventWrite::new(handle, EventDescriptor::new(level, Keyword::NONE));
//!     assert!(engine.write(&event, blocks.as_slice()).is_success());
//! }
//! assert_eq!(session.events().len(), 1, "the verbose event was not asked for");
//! assert_eq!(session.events()[0].payload, b"hello");
//! ```
//!
//! The same, with a file:
//!
//! ```
//! # use etw_engine::{Block, Enable, Engine, EventWrite, Properties};
//! # use etw_types::{EventDescriptor, Guid, Keyword, Level};
//! # let engine = Engine::new();
//! # let provider = Guid::from_name("MyProvider");
//! # let handle = engine.register(provider, None, |_| {}).expect("a fresh engine registers anything");
//! # let path = std::env::temp_dir().join(format!("etw-engine-doc-{}.etl", std::process::id()));
//! let session = engine.start(&Properties::to_file("example", &path)).expect("nothing else has this name");
//! session.enable(provider, Enable::default());
//! let event = EventWrite::new(handle, EventDescriptor::new(Level::Error, Keyword::NONE));
//! engine.write(&event, [Block::data(b"hello")].as_slice());
//! let statistics = session.finish().expect("the session runs").statistics;
//! assert_eq!((statistics.recorded, statistics.lost), (1, 0));
//! # std::fs::remove_file(&path).expect("the file is there");
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::must_use_candidate, reason = "a caller may ignore a status, as callers of the real routines do")]

mod activity;
mod binaries;
mod block;
mod buffers;
mod callback;
mod capture;
mod control;
mod data;
mod enable;
mod engine;
mod environment;
mod event;
mod filter;
mod finding;
mod gate;
mod gather;
mod information;
mod log;
mod notify;
mod options;
mod record;
mod registration;
mod routes;
mod script;
mod session;
mod state;
mod sync;
mod time;
mod timer;
mod trace_info;
mod write;

pub use etw_types::session::info;
pub use etw_types::session::{Enable, Filter, Properties, SessionStatus, Update};

pub use block::{Block, BlockSource};
pub use callback::{Callback, FilterData, Notification};
pub use capture::{CapturedBlock, CapturedEvent};
pub use enable::{Target, property};
pub use engine::{Engine, WeakEngine};
pub use environment::{Environment, Origin, ThisProcess};
pub use event::{EventWrite, MAX_BLOCKS, MAX_DATA};
pub use finding::Finding;
pub use information::Buffer;
pub use log::{Call, Subject};
pub use options::{Answers, EngineOptions, Rights};
pub use registration::{RegistrationInfo, SECURITY_PROVIDER};
pub use script::Routine;
pub use session::Session;
pub use session::consumer::{Consumer, RealTimeBuffer};
pub use session::information::SetInformation;
pub use session::memory::SessionOptions;
pub use session::message::Message;
pub use session::properties::Overflow;
pub use session::status::{Report, Statistics};
pub use trace_info::QueryError;
