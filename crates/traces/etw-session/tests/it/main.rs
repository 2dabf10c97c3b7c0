//! The integration tests of `etw-session`, one module for each subject, linked once.
#![cfg(test)]

mod boot;
#[cfg(not(windows))]
mod class_limits;
#[cfg(not(windows))]
mod classes;
#[cfg(not(windows))]
mod common;
mod documentation;
mod explanations;
#[cfg(not(windows))]
mod files;
mod metadata;
mod payloads;
#[cfg(not(windows))]
mod providers;
#[cfg(not(windows))]
mod sessions;
#[cfg(not(windows))]
mod start_trace_answers;
mod types;
