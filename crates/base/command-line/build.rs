//! Sets `VERSION`: the package's version, followed by the commit if git knows it.

use std::path::Path;
use std::process::Command;

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // If a named file does not exist, cargo runs this script again on every build.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    match git(&["rev-parse", "--short=10", "HEAD"]) {
        Some(commit) => println!("cargo::rustc-env=VERSION={version} ({commit})"),
        None => println!("cargo::rustc-env=VERSION={version}"),
    }
}
