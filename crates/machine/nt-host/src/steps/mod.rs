//! The steps of a driver's clients: what `nt-host run` takes as options, and what the fuzzer sends many times per second.
//!
//! A step is declared once, in `step.rs` or `file_step.rs`: its values, its number between the processes, its options with their help,
//! its text, and its lines in the test that reproduces a finding. The tests here go through all declarations. What a step does is in
//! `child/batch.rs` for the fuzzer, and in the program for a run.

mod declare;
mod file_step;
mod form;
mod properties;
pub(crate) mod requests;
mod step;
mod test_code;

pub use file_step::FileStep;
pub use form::Form;
pub(crate) use properties::DataMut;
pub use step::Step;
pub(crate) use test_code::{Code, below};

#[cfg(test)]
mod tests;
