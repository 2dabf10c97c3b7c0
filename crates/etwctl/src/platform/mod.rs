//! What differs between Windows and elsewhere: only whether there is a demonstration provider.

#[cfg(not(windows))]
mod host;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use host::Demo;
#[cfg(windows)]
pub(crate) use windows::Demo;
