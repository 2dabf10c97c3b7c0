//! Builds the programs of this repository, unless `cargo xtask test` has built them.

use std::env;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use docs_tests::markdown::repository;
use test_support::images::{built, named};

/// The packages of the programs.
const PACKAGES: [&str; 7] =
    ["xtask", "cargo-driver", "nt-host-cli", "nt-host-demo", "etwctl", "driver-package", "driver-exercise"];

/// The environment variable of `cargo xtask test`, which has built the programs beside the tests. Building them without the tests would
/// compile most crates again, with fewer features.
const ARE_BUILT: &str = "PROGRAMS_ARE_BUILT";

static BUILT: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    if env::var_os(ARE_BUILT).is_some() {
        let test = env::current_exe().expect("this program");
        let files = fs::read_dir(test.parent().unwrap().parent().unwrap()).expect("the programs beside `deps`");
        return files.map(|file| file.expect("a file").path()).collect();
    }
    let packages = PACKAGES.iter().flat_map(|program| ["--package", program]);
    let mut cargo = Command::new(env!("CARGO"));
    built(cargo.current_dir(repository()).args(["build", "--quiet"]).args(packages)).expect("our programs")
});

/// Returns a command that runs a program in the folder of the repository.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(named(&BUILT, &format!("{name}{EXE_SUFFIX}")).expect("one of our programs"));
    command.current_dir(repository());
    command
}
