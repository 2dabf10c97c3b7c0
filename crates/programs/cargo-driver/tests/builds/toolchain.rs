//! `cargo +TOOLCHAIN driver`.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{command, driver, printed};

/// Says which compiler builds the driver.
const SCRIPT: &str =
    "fn main() {\n    println!(\"cargo::warning=compiled by {}\", std::env::var(\"RUSTC\").unwrap());\n}\n";

#[test]
fn the_toolchain_of_the_command_line_compiles_the_driver() {
    let place = driver("chosen_toolchain", "");
    fs::write(place.join("build.rs"), SCRIPT).unwrap();
    // The command line comes before this file.
    fs::write(place.join("rust-toolchain.toml"), "[toolchain]\nchannel = \"no-such-toolchain\"\n").unwrap();

    // A rustup of our own knows the compiler by one name only.
    let home = place.join("rustup");
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(rustc.stdout).unwrap();
    let mut rustup = Command::new("rustup");
    let linked = rustup.args(["toolchain", "link", "chosen", sysroot.trim()]).env("RUSTUP_HOME", &home).output();
    if !linked.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no rustup");
        return;
    }

    let programs = Path::new(env!("CARGO_BIN_EXE_cargo-driver")).parent().unwrap().to_path_buf();
    let path = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    // Cargo puts the programs of its own toolchain in front. Rustup's understands `+chosen`.
    let path = path.into_iter().filter(|dir| !dir.starts_with(sysroot.trim()));
    let path = env::join_paths([programs].into_iter().chain(path)).unwrap();
    let mut cargo = Command::new("cargo");
    // The cache and the variables without a meaning here are those of all tests.
    for (name, value) in command(&place, &[]).get_envs() {
        match value {
            Some(value) => cargo.env(name, value),
            None => cargo.env_remove(name),
        };
    }
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTUP_TOOLCHAIN_SOURCE"] {
        cargo.env_remove(name);
    }
    cargo.args(["+chosen", "driver", "build"]).env("RUSTUP_HOME", &home).env("PATH", path).current_dir(&place);
    let output = cargo.output().unwrap();
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    let compiler = home.join("toolchains/chosen/bin/rustc");
    assert!(text.contains(&format!("compiled by {}", compiler.display())), "{text}");
    assert!(place.join("target/driver/x64/chosen_toolchain.sys").is_file(), "{text}");
}
