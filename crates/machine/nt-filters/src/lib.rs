//! The filter manager: minifilters, their instances on the only volume, and the operations on files that they filter.
//!
//! A client's operation on a file passes through the pre-operation callbacks of all instances, the highest altitude
//! first, then reaches the file system, and comes back through the post-operation callbacks (`operation`). The file
//! system is the kernel's volume of files in memory (`file_system`).
//!
//! Every operation is based on an IRP, as far as a minifilter can tell: there is neither fast I/O nor paging I/O, and no
//! operation of the cache manager or of the memory manager. Post-operation callbacks of reads and writes run at
//! `DISPATCH_LEVEL`, as the documentation allows, unless the minifilter synchronizes them.
//!
//! This is written from Microsoft's public documentation: the pages of `fltkernel.h` and of file system minifilters.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]
#![expect(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    reason = "the interface is for the crates of this folder, and the errors are faults and statuses"
)]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]
#![expect(non_upper_case_globals, reason = "patterns with constants that have the names of Microsoft's headers")]

mod classes;
mod client;
mod context;
mod contexts;
mod data;
mod file_system;
mod files;
mod information;
mod instance;
mod io;
mod judge;
mod major;
mod name;
mod open;
mod operation;
mod pend;
mod port;
mod query;
mod queue;
mod register;
mod request;
mod state;

use nt_verifier::routine::Routine;

pub use client::{Begun, begin, cancel, close, finish, open, set_attached, why_not_filtered};
pub use client::{FileOpen, FileRequest};
pub use port::{connect, disconnect, messages, ports, reply, send};
pub use register::{report_leaks, unload};
pub use state::{Manager, attach};

/// The filter manager's routines.
pub const ROUTINES: &[&[Routine]] = &[
    context::ROUTINES,
    data::ROUTINES,
    information::ROUTINES,
    instance::ROUTINES,
    io::ROUTINES,
    name::ROUTINES,
    open::ROUTINES,
    pend::ROUTINES,
    port::ROUTINES,
    query::ROUTINES,
    queue::ROUTINES,
    register::ROUTINES,
];
