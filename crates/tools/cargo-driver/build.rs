//! The version with the commit that the program was built from, as far as git knows it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../../.git/HEAD");
    let commit = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
    let commit =
        commit.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    let version = env!("CARGO_PKG_VERSION");
    match commit {
        Some(commit) => println!("cargo::rustc-env=VERSION={version} ({})", commit.trim()),
        None => println!("cargo::rustc-env=VERSION={version}"),
    }
}
