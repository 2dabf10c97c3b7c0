//! The integration tests of `wdk-kit`, one module for each subject, linked once.
#![cfg(test)]

mod images;
mod layouts;
mod published;
mod shapes;
mod support;
mod wdf_headers;
mod wdf_layouts;
mod wdf_table;
mod wdk;
mod winreg;
