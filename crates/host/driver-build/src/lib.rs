//! Builds drivers with cargo on a host without Windows.
//!
//! [`Host`] says where commands run and which program makes the driver kit. [`setup`] finds the toolchain for Windows and,
//! if the host allows it, installs what is missing. [`build`](build()) and [`check`](check()) run cargo in the driver's own folder.
//! A `paths` entry in cargo's configuration replaces `wdk-build` with a stand-in, whatever source the driver gets `wdk-build`
//! from, and leaves `Cargo.lock` unchanged. Compiled crates go to the host's cache, and drivers share them.
//!
//! `cargo driver` and `cargo xtask` are built on this crate. It has no dependencies, so that `cargo xtask` starts in seconds on
//! a fresh machine.

mod arch;
mod artifacts;
mod build;
mod error;
mod explain;
mod files;
mod host;
pub mod new;
pub mod output;
mod package;
mod plan;
mod process;
mod settings;
pub mod setup;
mod tools;

pub use arch::Arch;
pub use build::{Options, Workspace, build, check, workspace};
pub use error::Error;
pub use host::Host;
pub use package::{PackageOptions, adopt, package};
pub use process::{Started, Tool};
pub use tools::ensure as ensure_tools;
