//! Events: the building blocks of the macros' expansions, and events that are described at run time.
//!
//! This module converts values to payload bytes. Apart from `backend`, most `unsafe` code is here: to view padding-free
//! values as bytes, and to read the kernel's string types. Nothing in it panics, allocates or locks.

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
