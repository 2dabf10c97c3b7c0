//! `cargo xtask build`: builds drivers, and the images for Windows that tests inspect.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ChildStderr;

use crate::cli::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};
use driver_build::Error;
use driver_build::setup::{WindowsToolchain, note};
use driver_build::{Arch, Options, Tool};
use driver_build::{Artifacts, JSON};

pub(super) const COMMAND: Command = Command {
    name: "build",
    summary: "Builds the sample driver, or yours",
    details: "\
Installs what is missing, then builds driver-sample, or any windows-drivers-rs
KMDF or WDM driver, without Windows and without a WDK: crates/host/wdk-kit
replaces wdk-build and the WDK. Cargo runs in the driver's folder and writes
nothing there except a missing Cargo.lock. The image, its debug information and
its map go to target/driver/x64 or target/driver/arm64. Files that the build did
not make are named.
Without flags, the small images that the tests inspect are built as well, in
target/images.
",
    flags: &[
        Flag { name: "--arch x64|arm64", summary: "the processor (default: x64)" },
        Flag { name: "--debug", summary: "builds the dev profile instead of release" },
        Flag { name: "--manifest-path PATH", summary: "a driver's Cargo.toml (default: driver-sample's)" },
        Flag { name: "--package NAME", summary: "a driver of that workspace; repeatable (default: all)" },
        Flag { name: "--wdk DIR", summary: "a real WDK instead of the kit (or WDKContentRoot)" },
    ],
    run,
};

/// The workspace of the images. It is separate because it has another profile and lock file.
pub(super) const IMAGES_MANIFEST: &str = "crates/tests/test-images/images/Cargo.toml";
const IMAGES_TARGET_DIR: &str = "target/images";

/// Finds or installs the toolchain for Windows and keeps it in the context.
pub(super) const SETUP: Step = Step { name: "set-up", what: "a toolchain for Windows", required: true, run: set_up };

const IMAGES: Step =
    Step { name: "images", what: "release images for x86_64-pc-windows-msvc", required: false, run: images };

/// Finds or installs the C compiler, libclang and LLVM's tools. Only drivers need them.
pub(super) const TOOLS: Step =
    Step { name: "tools", what: "clang and LLVM for the driver kit", required: true, run: tools };

pub(super) const DRIVER: Step = Step { name: "driver", what: "a kernel-mode driver", required: false, run: driver };

fn run(context: &Context) -> Result<(), Error> {
    // Reject a wrong command line before anything is installed.
    options(context)?;
    if context.words().is_empty() {
        run_all(context, &[SETUP, TOOLS, Step { run: driver_beside_images, ..DRIVER }, IMAGES])
    } else {
        run_all(context, &[SETUP, TOOLS, DRIVER])
    }
}

/// Reads the options from the command line. [`crate::cli::parse`] has checked that flags are known and have values.
pub(super) fn options(context: &Context) -> Result<Options, Error> {
    // Paths are relative to the user's folder: cargo runs xtask there.
    let here = |path: &str| env::current_dir().unwrap_or_default().join(PathBuf::from(path));
    let wdk = env::var_os("WDKContentRoot").map(PathBuf::from);
    let mut options = Options { debug: context.has_flag("--debug"), wdk, ..context.sample() };
    let mut words = context.words().iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice().first()) {
            ("--arch", Some(name)) => {
                let unknown = || Error::Usage(format!("invalid value '{name}' for --arch: expected x64 or arm64"));
                options.arch = Arch::parse(name).ok_or_else(unknown)?;
                words.next();
            }
            ("--manifest-path", Some(path)) => {
                options.manifest = here(path);
                words.next();
            }
            ("--package", Some(name)) => {
                options.packages.push(name.clone());
                words.next();
            }
            ("--wdk", Some(path)) => {
                options.wdk = Some(here(path));
                words.next();
            }
            _ => {}
        }
    }
    Ok(options)
}

fn tools(context: &Context) -> Result<Outcome, Error> {
    driver_build::ensure_tools(context)?;
    Ok(Outcome::Passed)
}

fn driver(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    if !has_kit(context) {
        note("building and running the program that makes the driver kit; this takes about a minute, once");
    }
    driver_build::build(context, toolchain, &options(context)?)?;
    Ok(Outcome::Passed)
}

/// Whether a driver kit was made before, so that this is not the first build.
fn has_kit(context: &Context) -> bool {
    context.cache().join("kit").exists()
}

/// Builds the driver. In the first build, the images compile at the same time, because making the driver kit keeps only one
/// processor busy. The next step builds what is left of them, and reports errors. In later builds there is little to compile, and
/// starting cargo once more would only take time.
fn driver_beside_images(context: &Context) -> Result<Outcome, Error> {
    let toolchain = context.windows().ok().filter(|_| !has_kit(context));
    let _compiling = toolchain.map(|toolchain| build_images(context, toolchain).start());
    driver(context)
}

fn set_up(context: &Context) -> Result<Outcome, Error> {
    note(&format!("using {}", context.windows()?.description));
    Ok(Outcome::Passed)
}

fn images(context: &Context) -> Result<Outcome, Error> {
    let Ok(toolchain) = context.windows() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    let (account, result) = build_images(context, toolchain).run_reading(pass_on);
    result?;
    let mut targets = Artifacts::parse(&account).targets;
    targets.sort_by(|one, other| one.files.cmp(&other.files));
    for image in targets.iter().filter_map(|target| target.file("exe")) {
        note(&format!("{} ({} bytes)", image.display(), fs::metadata(image).map_or(0, |data| data.len())));
    }
    Ok(Outcome::Passed)
}

fn build_images(context: &Context, toolchain: &WindowsToolchain) -> Tool {
    let cargo = toolchain.cargo(context, "build");
    let cargo = cargo.args(["--release", "--locked", "--manifest-path", IMAGES_MANIFEST]);
    cargo.args(["--target-dir", IMAGES_TARGET_DIR, JSON])
}

/// Copies a program's standard error to ours.
fn pass_on(stream: &mut ChildStderr) {
    // A closed standard error is ignored, because no message can report it.
    let _ = io::copy(stream, &mut io::stderr());
}
