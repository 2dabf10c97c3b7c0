//! Where commands look for the driver, what its settings are, and what `new`, `editor` and `clean` write and remove. Nothing here
//! builds a driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::{folder, printed, program};

/// A folder with a package that is a driver without Microsoft's crates.
pub(crate) fn driver(name: &str, manifest: &str) -> PathBuf {
    let place = folder(name);
    fs::create_dir_all(place.join("src/deep")).unwrap();
    let text = "[workspace]\n[package]\nname = \"plain\"\nversion = \"0.1.0\"\n[lib]\ncrate-type = [\"cdylib\"]\n";
    fs::write(place.join("Cargo.toml"), format!("{text}{manifest}")).unwrap();
    fs::write(place.join("src/lib.rs"), "").unwrap();
    place
}

fn run_in(place: &Path, arguments: &[&str]) -> Output {
    program().args(arguments).current_dir(place).env_remove("CARGO_TARGET_DIR").output().unwrap()
}

#[test]
fn a_mistyped_setting_is_an_error_in_any_folder_of_the_driver() {
    let place = driver("settings", "[package.metadata.driver]\nprovidr = \"My\"\n");
    for dir in ["", "src", "src/deep"] {
        let output = run_in(&place.join(dir), &["build"]);
        assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
        let text = "[package.metadata.driver] of the package plain has the key `providr`, which has no meaning; did you mean `provider`?";
        assert!(printed(&output).contains(text), "{}", printed(&output));
    }
}

#[test]
fn options_reach_cargo() {
    let place = driver("options", "[features]\nmore = []\n");
    for (arguments, message) in [
        (&["build", "--locked"][..], "--locked"),
        (&["build", "--frozen"], "--frozen"),
        (&["build", "-F", "less"], "less"),
        (&["build", "--no-default-features", "--features", "more,less"], "less"),
        (&["build", "-p", "other"], "the workspace has no package `other`"),
    ] {
        let output = run_in(&place, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", printed(&output));
        assert!(printed(&output).contains(message), "{arguments:?}: {}", printed(&output));
    }
}

#[test]
fn a_runner_that_is_not_installed_is_named() {
    let place = driver("nextest", "");
    let mut test = program();
    test.args(["test", "--nextest"]).current_dir(&place).env("CARGO", env!("CARGO"));
    // Cargo looks for its commands in these two.
    let output = test.env("PATH", &place).env("CARGO_HOME", &place).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("cargo install --locked cargo-nextest"), "{}", printed(&output));
}

#[test]
fn settings_for_editors_are_those_that_the_folder_has() {
    let place = driver("editor", "");
    fs::create_dir(place.join(".zed")).unwrap();
    fs::write(place.join(".zed/settings.json"), "").unwrap();
    let output = run_in(&place.join("src"), &["editor"]);
    assert!(output.status.success(), "{}", printed(&output));
    assert!(fs::read_to_string(place.join(".zed/settings.json")).unwrap().contains("overrideCommand"));
    assert!(!place.join(".vscode").exists());
    assert!(run_in(&place, &["editor", "vscode", "neovim"]).status.success());
    assert!(place.join(".vscode/settings.json").is_file());
    assert!(place.join(".nvim.lua").is_file());
}

#[test]
fn clean_removes_what_commands_wrote_and_keeps_the_certificate() {
    let place = driver("clean", "");
    for name in ["driver/x64", "package/x64", "signing", "debug"] {
        fs::create_dir_all(place.join("target").join(name)).unwrap();
        fs::write(place.join("target").join(name).join("file"), "x").unwrap();
    }
    let output = run_in(&place.join("src"), &["clean"]);
    assert!(output.status.success(), "{}", printed(&output));
    let mut left: Vec<_> =
        fs::read_dir(place.join("target")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["debug", "signing"]);
}

/// The program as `cargo install` puts it into a folder, with cargo's record of its source.
fn installed(name: &str, id: &str) -> PathBuf {
    let place = folder(name);
    fs::create_dir(place.join("bin")).unwrap();
    let program = place.join("bin/cargo-driver");
    fs::hard_link(env!("CARGO_BIN_EXE_cargo-driver"), &program).unwrap();
    let record =
        format!("{{\"installs\":{{\"other 1.0.0 (path+file:///x)\":{{}},\"{id}\":{{\"bins\":[\"cargo-driver\"]}}}}}}");
    fs::write(place.join(".crates2.json"), record).unwrap();
    program
}

#[test]
fn a_new_driver_depends_on_what_the_program_was_installed_from() {
    let program = installed("installed-git", "cargo-driver 0.1.0 (git+https://example.com/a.git#0a1b2c)");
    let place = folder("new-git");
    let output = Command::new(program).args(["driver", "new", "adder"]).current_dir(&place).output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    let read = |path: &str| fs::read_to_string(place.join("adder").join(path)).unwrap();
    for manifest in ["Cargo.toml", "host-tests/Cargo.toml"] {
        let text = read(manifest);
        assert!(text.contains("git = \"https://example.com/a.git\", rev = \"0a1b2c\""), "{text}");
        assert!(!text.contains("path ="), "{text}");
    }
    let workflow = read(".github/workflows/driver.yml");
    let install = "cargo install --locked --git https://example.com/a.git --rev 0a1b2c cargo-driver\n";
    assert!(workflow.contains(install), "{workflow}");
    assert!(!workflow.contains("sed "), "{workflow}");
    assert!(!read("src/lib.rs").contains("// trace"));
    let settings: Value = serde_json::from_str(&read(".vscode/settings.json")).unwrap();
    assert_eq!(settings["rust-analyzer.cargo.target"], "x86_64-pc-windows-msvc");

    // A program that was not installed belongs to its clone.
    let output = run_in(&place, &["new", "from-clone"]);
    assert!(output.status.success(), "{}", printed(&output));
    assert!(printed(&output).contains("by path"), "{}", printed(&output));
    assert!(!place.join("from-clone/.github").exists());
}
