//! The integration tests of `docs-tests`, one module for each subject, linked once.
#![cfg(test)]

mod code;
mod commands;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod conventions;
mod examples;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guides;
mod links;
mod performance;
mod programs;
mod publish;
mod releases;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tutorial;
