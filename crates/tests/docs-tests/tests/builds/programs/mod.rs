//! Builds the programs of this repository, in the same way as the tests.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use docs_tests::markdown::repository;
use test_support::images::{built, named};

/// The packages of the programs.
const PACKAGES: [&str; 6] = ["xtask", "cargo-driver", "nt-host", "etwctl", "driver-package", "driver-exercise"];

static BUILT: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let packages = PACKAGES.iter().flat_map(|program| ["--package", program]);
    let mut cargo = Command::new(env!("CARGO"));
    built(cargo.current_dir(repository()).args(["build", "--quiet", "--features", "nt-host/demo"]).args(packages))
        .expect("our programs")
});

/// Returns a command that runs a program in the folder of the repository.
pub(crate) fn program(name: &str) -> Command {
    let mut command = Command::new(named(&BUILT, &format!("{name}{EXE_SUFFIX}")).expect("one of our programs"));
    command.current_dir(repository());
    command
}
