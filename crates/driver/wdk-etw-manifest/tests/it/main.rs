//! The integration tests of `wdk-etw-manifest`, one module for each subject, linked once.
#![cfg(test)]

mod generated;
mod golden;
mod mistakes;
