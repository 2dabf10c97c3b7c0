//! The integration tests of the program `nt-host`, one module for each subject, linked once.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod command;
mod common;
mod coverage;
mod debugger;
mod devices;
mod fuzz;
mod hardware;
mod images;
mod limits;
mod machine_limits;
mod matrix;
mod releases;
mod reproductions;
mod steps;
mod traces;
mod traffic;
