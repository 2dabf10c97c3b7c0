//! The integration tests of the demo: what it prints and writes, and its page.
#![cfg(all(test, target_os = "linux", target_arch = "x86_64"))]

mod demo;
mod page;
