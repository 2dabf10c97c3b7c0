//! Formats an image and its verdict: [`table`] for people, [`json`] for programs.
//!
//! Both modules only format text. They never check anything.

pub mod json;
pub mod table;
