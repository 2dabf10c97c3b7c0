//! Builds drivers with cargo on a host without Windows.
//!
//! [`Host`] says where commands run. [`setup`] finds the toolchain for Windows and, if the host allows it, installs what is missing.
//! [`prepare`](prepare()) reads the driver's workspace and makes what its build needs; [`build`](build()), [`check`](check()) and
//! [`package`](package()) run cargo in the driver's own folder with this [`Plan`].
//! A `paths` entry in cargo's configuration replaces `wdk-build` with a stand-in, whatever source the driver gets `wdk-build`
//! from, and leaves `Cargo.lock` unchanged. Compiled crates go to the host's cache, and drivers share them.
//!
//! `cargo driver` and `cargo xtask` call this crate. It has few dependencies, so that `cargo xtask` starts in seconds on a fresh
//! machine.

mod additions;
mod arch;
mod artifacts;
mod build;
mod collect;
mod driver_settings;
mod error;
mod explain;
mod files;
mod host;
mod llvm;
mod metadata;
mod microsoft_tools;
mod model;
pub mod new;
mod options;
pub mod output;
mod override_warning;
mod package;
mod prepare;
mod prepare_error;
mod process;
mod settings;
pub mod setup;
mod shared_dir;
mod stand_in;
mod toolchain;
mod toolchain_file;
mod tools;
mod wdk;
mod workspace;

pub use arch::Arch;
pub use build::{build, check, document};
pub use driver_settings::{DriverSettings, SettingsError};
pub use error::Error;
pub use files::FileError;
pub use host::Host;
pub use metadata::target_dir;
pub use model::{Model, ModelError};
pub use options::{CargoOptions, Options};
pub use package::{PackageOptions, adopt, package};
pub use prepare::{Plan, prepare};
pub use prepare_error::PrepareError;
pub use process::{Started, Tool};
pub use shared_dir::LOCK as BUILD_LOCK;
pub use tools::ensure as ensure_tools;
pub use wdk::link_wdk;
pub use workspace::Workspace;
