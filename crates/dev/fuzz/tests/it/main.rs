//! The integration tests of `fuzz`, one module for each subject, linked once.
#![cfg(test)]

mod replay;
mod seeds;
