//! `cargo driver setup` on systems with other package managers: programs on a path of their own take their place.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::{folder, printed, program};

/// A folder with a toolchain and a package manager, without a C compiler and LLVM.
fn system(manager: &str) -> PathBuf {
    let dir = folder(&format!("setup-{manager}"));
    for name in ["cargo", "rustc", "rustup"] {
        let mut dirs = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>().into_iter();
        if let Some(found) = dirs.find_map(|dir| Some(dir.join(name)).filter(|path| path.is_file())) {
            symlink(found, dir.join(name)).unwrap();
        }
    }
    // A package manager that installs something would be noticed.
    play(&dir, manager, "[ \"$1\" = --version ] || echo \"$@\" > installed");
    dir
}

/// Writes a program into a folder of programs.
fn play(dir: &Path, name: &str, script: &str) {
    fs::write(dir.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// A user without root gets what rustup installs, and is told what is left for root.
#[test]
fn without_root_everything_but_packages_is_installed() {
    let dir = folder("setup-without-root");
    // A toolchain that compiles for Windows on x64, without clippy. Rustup notes what it was asked for.
    fs::create_dir(dir.join("lib")).unwrap();
    fs::write(dir.join("lib/libcore-1.rlib"), "").unwrap();
    let libraries = dir.join("lib").display().to_string();
    for (name, script) in [
        ("rustc", format!("case \"$*\" in *aarch64*) ;; *) echo '{libraries}' ;; esac")),
        ("cargo", "exit 1".into()),
        ("rustup", "echo \"$@\" >> asked".into()),
        ("apt-get", "[ \"$1\" = --version ] || echo \"$@\" > installed".into()),
        ("id", "echo 1000".into()),
        ("sudo", "exit 1".into()),
    ] {
        play(&dir, name, &script);
    }
    let mut setup = program();
    setup.arg("setup").env("PATH", &dir).env_remove("CARGO").env_remove("RUSTC").env_remove("WDK_ETW_TOOLCHAIN");
    let output = setup.current_dir(&dir).output().unwrap();
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    for part in ["must be installed by root", "sudo apt-get install --yes clang llvm", "gcc libc6-dev"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!dir.join("installed").exists(), "{text}");
    let asked = fs::read_to_string(dir.join("asked")).unwrap_or_default();
    assert_eq!(asked, "target add aarch64-pc-windows-msvc\ncomponent add clippy\n", "{text}");
}

#[test]
fn each_system_gets_its_own_command_and_nothing_is_installed() {
    for (manager, commands) in [
        ("dnf", ["sudo dnf install clang llvm", "gcc glibc-devel"]),
        ("pacman", ["sudo pacman -S --needed clang llvm", "gcc glibc"]),
        ("brew", ["brew install llvm", "into PATH"]),
    ] {
        let dir = system(manager);
        let output = program().arg("setup").env("PATH", &dir).current_dir(&dir).output().unwrap();
        assert!(!output.status.success(), "{manager}: {}", printed(&output));
        for command in commands {
            assert!(printed(&output).contains(command), "{manager}, {command}: {}", printed(&output));
        }
        assert!(!dir.join("installed").exists(), "{manager}");
    }
}
