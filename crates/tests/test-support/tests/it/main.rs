//! The tests of the repository's sources, one module for each subject.
#![cfg(test)]

mod imports;
