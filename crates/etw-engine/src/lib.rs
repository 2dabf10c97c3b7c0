//! An ETW runtime in a process: what answers a provider where there is no Windows.
//!
//! [`Engine`] keeps registrations, sessions and what each session enabled, calls providers back, and captures what they
//! write. It follows the rules of the Windows kernel as far as they are public, so that a provider can be tested against
//! them: a session that is already there is reported synchronously inside `register`, callbacks of one provider are
//! serialised, an operation that would deadlock in the kernel is answered with a status and recorded as a [`Finding`],
//! and the statuses are those of the kernel's routines.
//!
//! This crate has no `unsafe` code and knows no C ABI: raw pointers end in `etw-symbols`, which puts this engine behind
//! the names of the real routines. It never panics on any input; what Windows does not document is marked as a choice
//! of ours where it is made.
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
#![forbid(unsafe_code)]
#![expect(clippy::must_use_candidate, reason = "a caller may ignore a status, as callers of the real routines do")]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod activity;
mod block;
mod capture;
mod control;
mod enable;
mod engine;
mod finding;
mod gate;
mod information;
mod log;
mod notify;
mod registration;
mod script;
mod session;
mod state;
mod sync;
mod write;

pub use block::{Block, BlockSource};
pub use capture::{CapturedBlock, CapturedEvent};
pub use enable::{Enable, Filter, Target, property};
pub use engine::{Engine, WeakEngine};
pub use finding::Finding;
pub use information::Buffer;
pub use log::{Call, Subject};
pub use notify::{Callback, Notification};
pub use registration::{RegistrationInfo, SECURITY_PROVIDER};
pub use script::Routine;
pub use session::{Session, SessionOptions};
pub use write::{EventWrite, MAX_BLOCKS, MAX_DATA};
