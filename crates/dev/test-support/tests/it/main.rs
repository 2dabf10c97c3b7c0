//! The tests of the repository's sources, one module for each subject.
#![cfg(test)]

// `wdk-kmdf` names its status by the crate that drivers link.
extern crate etw_types as wdk_etw;

mod kmdf_output;
mod locks;

use kmdf_output::Pod;
