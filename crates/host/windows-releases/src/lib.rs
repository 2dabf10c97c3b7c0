//! The Windows releases that drivers are built for.
//!
//! One table for everything that depends on a release: its KMDF version, its routines, and its names on a command line,
//! in an INF and in a driver package. The results never depend on the host.
//!
//! Sources: Microsoft Learn ("KMDF version history", "Windows 10 release information") for names, builds and framework
//! versions; the public sources of the framework (microsoft/Windows-Driver-Frameworks, MIT) for function counts and for
//! the rules of [`Kmdf::bind`]; the reference pages of the routines for [`first_with_routine`].
#![forbid(unsafe_code)]

mod kmdf;
mod release;
mod routines;
#[cfg(test)]
mod tests;

pub use kmdf::{Binding, Client, Kmdf, Refusal};
pub use release::{NtVersion, Release, UnknownRelease};
pub use routines::{Documented, documented, first_with_routine, routines};
