//! What the images share: the routines a compiler calls by itself, and panic handlers that leave a trace.
//!
//! A panic handler here always hands the panic's location on. So a panic that the optimiser could not prove
//! impossible shows in an image twice: the handler's import, and the file name of the panic.

#![no_std]

pub mod kernel;
pub mod user;

/// The linker wants this symbol from code that uses floating point.
#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;
