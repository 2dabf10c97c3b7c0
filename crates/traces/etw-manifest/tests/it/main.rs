//! The integration tests of `etw-manifest`, one module for each subject, linked once.
#![cfg(test)]

mod common;
mod generated;
mod golden;
mod mistakes;
mod wevt;
mod witnesses;
mod write;
