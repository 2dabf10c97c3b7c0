//! The ETW routines of ntoskrnl and advapi32 as linkable symbols, answered by `etw-engine`.
//!
//! `wdk-etw` always calls `EtwRegister` and its relatives. On Windows they come from the kernel; in tests on another
//! system a test links this crate (`use etw_symbols as _;`) and the same calls reach an [`Engine`] in the process. This
//! crate owns the C ABI: it checks and reads raw pointers and hands safe values on. It makes no decision about ETW
//! itself. It is meant for hosts other than Windows, where these names are free.
//!
//! Each test makes a [`Host`] of its own and enters it, so tests run side by side:
//!
//! ```
//! use etw_symbols::{Host, kernel::EtwUnregister};
//! use etw_types::NtStatus;
//!
//! let host = Host::new();
//! let _here = host.enter();
//! // The routine returns any handle: there is nothing to prove.
//! let status = unsafe { EtwUnregister(0) };
//! assert_eq!(status, NtStatus::InvalidHandle);
//! assert_eq!(host.engine().calls().len(), 1);
//! ```

mod common;
mod error;
mod host;
pub mod kernel;
pub mod memory;
mod modules;
pub mod user;

pub use common::EnableCallback;
pub use error::win32_from_nt;
pub use etw_engine::{self, Engine};
pub use host::{Entered, Host};
