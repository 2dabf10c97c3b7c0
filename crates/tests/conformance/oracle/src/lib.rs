//! Microsoft's `tracelogging` 1.2.4, compiled in kernel mode for whatever host runs the tests.
//!
//! Its sources are included unmodified from where Cargo keeps them (see `build.rs`). The routines it calls, `EtwRegister`
//! and the others, are the ones that `etw-symbols` provides, so its events and ours end in the same engine.
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

/// The file with the table of field types, for a test that wants to know whether it tries all of them.
pub const FIELD_TYPES: &str = env!("FIELD_TYPES");
