//! The integration tests of `conformance`, one module for each subject, linked once.
#![cfg(test)]

mod differences;
mod fields;
mod options;
mod porting;
