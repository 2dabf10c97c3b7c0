//! Microsoft's `tracelogging` 1.2.4, compiled in kernel mode for the host that runs the tests.
//!
//! Its sources are included unmodified from Cargo's copy (see `build.rs`). `etw-symbols` provides the routines that it
//! calls, such as `EtwRegister`, so its events and ours reach the same engine.
#![no_std]
#![allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    dead_code,
    unused_imports
)]

include!(concat!(env!("OUT_DIR"), "/oracle.rs"));

pub use enums::{Channel, InType, Level, Opcode, OutType};
pub use guid::Guid;
pub use native::{NativeImplementation, ProviderEnableCallback, NATIVE_IMPLEMENTATION};
pub use provider::Provider;
pub use tracelogging_macros::{define_provider, write_event};

/// The file with the table of field types, for a test that checks that it covers all of them.
pub const FIELD_TYPES: &str = env!("FIELD_TYPES");
