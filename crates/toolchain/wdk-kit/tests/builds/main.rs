//! The tests of `wdk-kit` that build drivers or programs, one module for each subject. `cargo xtask test` runs programs of this name
//! beside the others, because they mostly wait for compilers.
#![cfg(test)]

mod c_code;
mod c_constants;
mod constants;
mod images;
mod layouts;
mod published;
mod support;
mod types;
mod wdf_headers;
mod wdf_layouts;
mod wdf_table;
