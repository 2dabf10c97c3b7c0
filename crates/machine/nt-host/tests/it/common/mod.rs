//! The drivers under test.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test program uses a part of this")]

pub(crate) mod c;
pub(crate) mod steps;

pub(crate) use test_support::drivers::{broken, built, clean, folder, marked_line};
