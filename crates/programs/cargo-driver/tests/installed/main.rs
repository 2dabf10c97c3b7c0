//! The program as a user has it: installed, and used from `new` to `package` in a folder outside of the repository.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../it/microsoft.rs"]
mod microsoft;
mod original;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Runs a command and returns its output; panics with the output if the command fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}\n{printed}");
    printed
}

#[test]
fn a_new_driver_of_each_kind_is_tested_and_packaged_by_the_installed_program() {
    let folder = std::env::temp_dir().join(format!("cargo driver {}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    // The repository's target directory, so that crates that other tests compiled are not compiled again.
    let target = repository().join("target");
    run(Command::new(env!("CARGO"))
        .args(["install", "--quiet", "--debug", "--locked", "--no-track", "--path"])
        .arg(repository().join("crates/programs/cargo-driver"))
        .arg("--root")
        .arg(folder.join("installed"))
        .env("CARGO_TARGET_DIR", &target));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(folder.join("installed/bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).unwrap();
    let driver = |place: &Path, arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(place).arg("driver").args(arguments).env("PATH", &path);
        run(cargo.env("CARGO_DRIVER_CACHE", target.join("driver")))
    };
    let request = ["--ioctl", "222000:05000000"];
    let file = ["--file", r"create:\a.keep"];
    let connection = ["--connect", "10.0.0.1:443"];
    for (kind, name, step) in [
        ("--kmdf", "new-kmdf", request),
        ("--wdm", "new-wdm", request),
        ("--minifilter", "new-filter", file),
        ("--wfp", "new-callout", connection),
    ] {
        driver(&folder, &["new", name, kind]);
        let place = folder.join(name);
        driver(&place, &["build"]);
        let image = place.join("target/driver/x64").join(name.replace('-', "_")).with_extension("sys");
        assert!(image.is_file(), "{}", image.display());
        let printed = driver(&place, &["run", "--", step[0], step[1]]);
        assert!(printed.contains("no findings"), "{printed}");
        driver(&place, &["trace", "--", step[0], step[1]]);
        let trace = place.join("target/driver/trace").join(name.replace('-', "_")).with_extension("etl");
        let mut events = etw_etl::Reader::open(&trace).unwrap();
        assert!(events.any(|event| event.decode().event.as_deref() == Some("DriverEntry")), "{}", trace.display());
        let printed = driver(&place, &["test", "--coverage"]);
        assert!(printed.contains("2 passed"), "{printed}");
        assert!(printed.contains("/src/lib.rs\n"), "{printed}");
        assert!(printed.contains("  all files\n"), "{printed}");
        let coverage = place.join("target/driver/coverage");
        assert!(["coverage.info", "index.html"].iter().all(|name| coverage.join(name).is_file()), "{printed}");
        assert!(!place.join("host-tests/target").exists(), "the crates of the tests are in the cache");
        // The first driver's tests compile nt-host, unless an earlier run did. Those of the second find it compiled.
        assert!(name == "new-kmdf" || !printed.contains("Compiling nt-machine"), "{printed}");
        driver(&place, &["package"]);
        let package = place.join("target/package/x64");
        let printed = driver(&place, &["verify", package.to_str().unwrap()]);
        assert!(printed.contains(": valid"), "{printed}");
        assert!(!printed.contains("NOT VALID"), "{printed}");
    }
    fs::remove_dir_all(&folder).unwrap();
}
