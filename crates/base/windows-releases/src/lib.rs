//! The Windows releases that drivers are built for.
//!
//! One table for everything that depends on a release: its KMDF version, its routines, and its names on a command line,
//! in an INF and in a driver package. The results never depend on the host. [`load_rules`] has what these releases
//! require of a driver image; it needs the feature `load-rules`, which is on by default.
//!
//! Sources: Microsoft Learn ("KMDF version history", "Windows 10 release information") for names, builds and framework
//! versions; the public sources of the framework (microsoft/Windows-Driver-Frameworks, MIT) for function counts and for
//! the rules of [`Kmdf::bind`]; the reference pages of the routines for [`first_with_routine`].
#![forbid(unsafe_code)]

mod availability;
mod kmdf;
#[cfg(feature = "load-rules")]
pub mod load_rules;
mod release;
mod routines;
#[cfg(all(test, feature = "load-rules"))]
mod tests;

pub use kmdf::Kmdf;
#[cfg(feature = "load-rules")]
pub use load_rules::framework::{Binding, Refusal};
#[cfg(feature = "load-rules")]
pub use pe_image::framework::Client;
pub use release::{NtVersion, Release, UnknownRelease};
pub use routines::{Documented, documented, first_with_routine, routines};
