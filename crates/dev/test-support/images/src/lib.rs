//! What the images share: routines that compiled code calls implicitly, and panic handlers that tests can find.
//!
//! The panic handlers here always use the panic's location. So if the optimiser could not prove that a panic is
//! impossible, the image shows it in two ways: it has the handler's import and the file name of the panic.

#![no_std]

pub mod kernel;
pub mod user;

/// The linker requires this symbol if code uses floating point.
#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;
