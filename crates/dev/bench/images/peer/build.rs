//! Sets the link arguments of a driver, and creates a library that the crate links and drivers do not have.
#![expect(clippy::expect_used, reason = "a build script fails by a panic")]

use std::path::PathBuf;
use std::{env, fs};

/// An archive without members.
const EMPTY_LIBRARY: &[u8] = b"!<arch>\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in
        ["/DRIVER", "/SUBSYSTEM:NATIVE", "/ENTRY:DriverEntry", "/NODEFAULTLIB", "/OPT:REF,ICF", "/DYNAMICBASE"]
    {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
    // `tracelogging` links rpcrt4 for a function that these events do not call.
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    fs::write(out.join("rpcrt4.lib"), EMPTY_LIBRARY).expect("OUT_DIR is writable");
    println!("cargo::rustc-link-search=native={}", out.display());
}
