//! The integration tests of `etw-symbols`, one module for each subject, linked once.
#![cfg(test)]

mod common;
mod hosts;
mod kernel_routines;
mod lookup;
mod user_routines;
