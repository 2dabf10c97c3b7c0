//! The integration tests of `driver-package`, one module for each subject, linked once.
#![cfg(test)]

mod adopt;
mod bad_inputs;
mod catalog;
mod chains;
mod command;
mod common;
mod events;
mod hostile;
mod hostile_inf;
mod image;
mod inf_rules;
mod package;
mod profile;
mod rules;
mod scripts;
mod stand_ins;
mod verifiers;
mod verify;
#[cfg(windows)]
mod windows;
mod witnesses;
