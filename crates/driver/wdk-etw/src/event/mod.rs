//! Events: what the macros' expansions are made of, and events that are described at run time.
//!
//! Owns how a value becomes payload bytes. Besides `backend`, this is where `unsafe` is: to view padding-free values as
//! bytes, and to read the kernel's string types. Nothing in it panics, allocates or locks.

pub(crate) mod data;
pub(crate) mod dynamic;
pub(crate) mod frame;
pub(crate) mod manifest;
pub(crate) mod native_string;
pub(crate) mod packed;
pub(crate) mod send;
pub(crate) mod stop;
pub(crate) mod text;
pub(crate) mod value;

pub(crate) use data::Event;
