//! The integration tests of `wdk-etw`, one module for each subject, linked once.
#![cfg(test)]

mod activity;
mod callback;
mod compat;
mod enabled;
mod events;
mod formatting;
mod manifest;
mod registration;
mod run_time_provider;
mod set_information;
// On Windows a provider in user mode calls the system's routines, which no engine sees.
#[cfg(windows)]
mod system;
#[cfg(not(windows))]
mod user_mode;
