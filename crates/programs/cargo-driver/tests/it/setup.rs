//! `cargo driver setup` on systems with other package managers: programs on a path of their own take their place.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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

/// A folder with the programs of a user without root: a toolchain that compiles for Windows on x64, and apt-get. Rustup notes what it
/// was asked for.
fn without_root(name: &str) -> PathBuf {
    let dir = folder(name);
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
    dir
}

/// Runs `setup` with the programs of a folder, and a cache in it.
fn set_up(dir: &Path) -> Output {
    let mut setup = program();
    setup.arg("setup").env("PATH", dir).env_remove("CARGO").env_remove("RUSTC").env_remove("WDK_ETW_TOOLCHAIN");
    setup.env_remove("LIBCLANG_PATH").env("CARGO_DRIVER_CACHE", dir.join("cache")).current_dir(dir).output().unwrap()
}

/// A user without root gets what rustup installs, and is told what is left for root.
#[test]
fn without_root_everything_but_packages_is_installed() {
    let dir = without_root("setup-without-root");
    let output = set_up(&dir);
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    for part in [
        "neither pip nor uv is installed",
        "must be installed by root",
        "sudo apt-get install --yes clang llvm",
        "gcc libc6-dev",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!dir.join("installed").exists(), "{text}");
    let asked = fs::read_to_string(dir.join("asked")).unwrap_or_default();
    assert_eq!(asked, "target add aarch64-pc-windows-msvc\ncomponent add clippy\n", "{text}");
}

/// Pip that installs a program with the name of Zig's, which prints its arguments.
const PIP: &str = r#"
case "$*" in *--help*) exit 0 ;; esac
while [ $# -gt 0 ]; do
    case "$1" in --target) target=$2 ;; --requirement) list=$2 ;; esac
    shift
done
/bin/cp "$list" wheels
/bin/mkdir -p "$target/ziglang" "$target/clang/native"
printf '#!/bin/sh\necho "$@"\n' > "$target/ziglang/zig"
/bin/chmod +x "$target/ziglang/zig"
"#;

#[test]
fn without_root_llvm_comes_from_pypi_and_root_is_asked_for_the_rest() {
    let dir = without_root("setup-wheels");
    play(&dir, "python3", PIP);
    let text = printed(&set_up(&dir));
    assert!(text.contains("ziglang 0.13.0 and libclang 18.1.1 from PyPI, with python3"), "{text}");
    // Only the C compiler is left for root.
    assert!(text.contains("gcc, libc6-dev must be installed by root"), "{text}");
    let wheels = fs::read_to_string(dir.join("wheels")).unwrap();
    assert!(wheels.lines().all(|line| line.contains("==") && line.contains(" --hash=sha256:")), "{wheels}");

    // What is installed stays: the second run needs no pip. Under the name of Microsoft's compiler, clang reads its options.
    for name in ["cc", "cargo"] {
        play(&dir, name, "");
    }
    play(&dir, "python3", "exit 1");
    let output = set_up(&dir);
    assert!(output.status.success(), "{}", printed(&output));
    assert!(printed(&output).contains("everything is installed"), "{}", printed(&output));
    let programs = dir.join("cache/llvm/bin");
    let started = |program: &Path| printed(&Command::new(program).arg("/c").output().unwrap());
    symlink(programs.join("clang"), dir.join("clang-cl")).unwrap();
    let resources = dir.join("cache/llvm/ziglang/lib");
    let expected = |mode: &str| format!("clang --driver-mode={mode} -resource-dir {} /c\n", resources.display());
    assert_eq!(started(&programs.join("clang")), expected("gcc"));
    assert_eq!(started(&dir.join("clang-cl")), expected("cl"));
    assert_eq!(started(&programs.join("llvm-lib")), "lib /c\n");

    // `clean --cache` removes it.
    let clean = program().args(["clean", "--cache"]).env("CARGO_DRIVER_CACHE", dir.join("cache")).output().unwrap();
    assert!(clean.status.success(), "{}", printed(&clean));
    assert!(!dir.join("cache/llvm").exists(), "{}", printed(&clean));
}

/// `setup` knows no driver, so it installs no driver's own toolchain.
#[test]
fn the_command_that_installs_a_drivers_own_toolchain_is_named() {
    let dir = folder("setup-pinned");
    play(&dir, "rustup", "exit 1");
    let path = env::var_os("PATH").unwrap();
    let path = env::join_paths([dir.clone()].into_iter().chain(env::split_paths(&path))).unwrap();
    let driver = dir.join("a driver");
    fs::create_dir(&driver).unwrap();
    fs::write(driver.join("Cargo.toml"), "").unwrap();
    fs::write(driver.join("rust-toolchain.toml"), "[toolchain]\nchannel = \"1.80.0\"\n").unwrap();
    let mut build = program();
    build.args(["build", "--manifest-path"]).arg(driver.join("Cargo.toml")).current_dir(&dir);
    let output = build.env("PATH", path).env_remove("RUSTUP_TOOLCHAIN_SOURCE").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    let command = format!("run: cd '{}' && rustup toolchain install\n", driver.canonicalize().unwrap().display());
    assert!(printed(&output).contains(&command), "{}", printed(&output));
    assert!(!printed(&output).contains("setup,"), "{}", printed(&output));
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
