//! The integration tests of the demo: what it prints and writes, and its page.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod demo;
mod page;
