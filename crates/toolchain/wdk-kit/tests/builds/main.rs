//! The tests of `wdk-kit` that build drivers or programs, one module for each subject. `cargo xtask test` runs programs of this name
//! beside the others, because they mostly wait for compilers.
#![cfg(test)]

mod c_code;
mod c_headers;
mod constants;
mod images;
mod layouts;
// nt-processor runs on these hosts only.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod machine_layouts;
mod published;
mod support;
mod types;
mod wdf_headers;
mod wdf_layouts;
mod wdf_table;
