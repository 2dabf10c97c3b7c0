//! A model and its verdict in words: [`table`] for people, [`json`] for programs.
//!
//! Both are pure functions to text; neither decides anything.

pub mod json;
pub mod table;
