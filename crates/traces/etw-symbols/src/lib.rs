//! The ETW routines of ntoskrnl and advapi32 as linkable symbols, implemented with `etw-engine`.
//!
//! `wdk-etw` always calls `EtwRegister` and the related routines. In a driver they come from the kernel. A test links
//! this crate (`use etw_symbols as _;`), and the same calls use an [`Engine`] in the process. This crate owns the C ABI:
//! it checks and reads raw pointers and passes safe values on. It makes no decisions about ETW itself.
//!
//! The kernel's routines are the same on every host, because no program has them. Those of advapi32 are here only on
//! hosts other than Windows. On Windows a provider in user mode calls the system's, also in a test, and no [`Host`] sees
//! it.
//!
//! Each test creates its own [`Host`] and enters it, so that tests can run in parallel:
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
#[cfg(not(windows))]
mod modules;
#[cfg(not(windows))]
pub mod user;

// Libraries are searched in the order of their dependencies. This one must come before `wdk-etw`, which contains the import
// library of ntoskrnl.exe.
#[cfg(windows)]
use wdk_etw as _;

pub use common::EnableCallback;
pub use error::win32_from_nt;
pub use etw_engine::{self, Engine};
pub use host::{Entered, Host};
