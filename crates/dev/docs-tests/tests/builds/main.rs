//! The tests of `docs-tests` that build drivers or programs, one module for each subject. `cargo xtask test` runs programs of this name
//! beside the others, because they mostly wait for compilers.
#![cfg(test)]

mod code;
mod commands;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod conventions;
mod examples;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod guides;
mod irql;
mod links;
mod manifests;
mod names;
mod performance;
mod products;
mod programs;
mod publish;
mod releases;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tutorial;
mod workflows;
