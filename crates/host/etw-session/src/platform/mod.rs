//! What answers: Windows, or an engine in this process. The only place that knows which.
//!
//! Both are a [`System`](crate::System). Here, and nowhere else, are `unsafe` and `cfg(windows)`.

#[cfg(not(windows))]
mod engine;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use engine::message;
#[cfg(windows)]
pub(crate) use windows::message;

#[cfg(not(windows))]
pub use engine::{EngineSystem, local, local_engine, shows_colours};
#[cfg(windows)]
pub use windows::{WindowsSystem, console::shows_colours, interrupted, local};
