//! The integration tests of `test-images`, one module for each subject, linked once.
#![cfg(test)]

mod images;
mod symbols;
