//! The system that is called: Windows, or an in-process engine. No other module depends on which one it is.
//!
//! Both implement [`System`](crate::System). `unsafe` and `cfg(windows)` are only here.

#[cfg(not(windows))]
mod engine;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use engine::{add_keys, message, registered_providers, remove_key};
#[cfg(windows)]
pub(crate) use windows::registry::{add_keys, remove_key};
#[cfg(windows)]
pub(crate) use windows::{message, registered_providers};

#[cfg(not(windows))]
pub use engine::{EngineSystem, local, local_engine, shows_colours};
#[cfg(windows)]
pub use windows::{WindowsSystem, console::shows_colours, interrupted, local};
