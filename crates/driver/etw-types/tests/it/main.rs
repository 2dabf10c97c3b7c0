//! The integration tests of `etw-types`, one module for each subject, linked once.
#![cfg(test)]

mod layout;
mod properties;
mod session_layout;
#[cfg(feature = "std")]
mod session_rules;
#[cfg(feature = "std")]
mod session_values;
