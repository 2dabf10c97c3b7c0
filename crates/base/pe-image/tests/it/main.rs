//! The integration tests of `pe-image`, one module for each subject, linked once.
#![cfg(test)]

mod common;
mod pdb;
mod symbols;
