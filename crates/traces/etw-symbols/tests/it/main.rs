//! The integration tests of `etw-symbols`, one module for each subject, linked once.
#![cfg(test)]

mod common;
mod hosts;
mod kernel_routines;
mod lookup;
#[cfg(not(windows))]
mod user;
