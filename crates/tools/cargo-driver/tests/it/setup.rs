//! `cargo driver setup` on systems with other package managers: programs on a path of their own take their place.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

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
    let script = "#!/bin/sh\n[ \"$1\" = --version ] || echo \"$@\" > installed\n";
    fs::write(dir.join(manager), script).unwrap();
    fs::set_permissions(dir.join(manager), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

#[test]
fn each_system_is_told_its_own_command_and_nothing_is_installed() {
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
