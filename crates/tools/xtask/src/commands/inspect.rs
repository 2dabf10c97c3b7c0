//! `cargo xtask inspect`: shows the contents of a driver image and whether Windows would load it.
//!
//! Runs `driver-package inspect`, which is built if necessary, and returns its exit code.

use std::path::Path;

use crate::command::{Command, Flag};
use crate::context::Context;
use driver_build::Error;

pub(super) const COMMAND: Command = Command {
    name: "inspect",
    summary: "Shows driver images and whether Windows would load them",
    details: "\
Prints machine, subsystem, entry point, flags, sections with their rights,
imports, exports, checksum and signature of each file, and every rule that it
breaks. The exit code is 1 if Windows would refuse a file, and 2 if a file is
not an intact image.
",
    flags: &[
        Flag { name: "FILE...", summary: "images: .sys, .dll or .exe" },
        Flag { name: "--json", summary: "prints JSON with one object for each file" },
        Flag { name: "--map FILE", summary: "takes the entry point's name from this linker map" },
        Flag { name: "--windows RELEASE", summary: "the Windows that loads it (default: win11-24h2)" },
        Flag { name: "--rules", summary: "prints every rule, its reason and its source" },
    ],
    run,
};

fn run(context: &Context) -> Result<(), Error> {
    let manifest = context.path("Cargo.toml");
    let build = ["run", "--quiet", "--package", "driver-package", "--manifest-path"];
    context
        .cargo()
        // Paths of files are relative to the user's folder.
        .current_dir(Path::new("."))
        .args(build)
        .args([manifest])
        .args(["--", "inspect"])
        .args(context.words())
        .run_ours()
}
