//! `cargo xtask build`: builds drivers.

use std::env;
use std::path::PathBuf;

use crate::command::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};
use driver_build::Error;
use driver_build::setup::note;
use driver_build::{Arch, Options, prepare};

pub(super) const COMMAND: Command = Command {
    name: "build",
    summary: "Builds the sample driver, or yours",
    details: "\
Installs what is missing, then builds driver-sample, or any windows-drivers-rs
KMDF or WDM driver, without Windows and without a WDK: the crate wdk-kit
replaces it. Cargo runs in the driver's folder and writes nothing there except
a missing Cargo.lock. The image, its debug information and its map go to
target/driver/x64 or target/driver/arm64. Files that the build did not make are
named.
",
    flags: &FLAGS,
    only_lists: false,
    run,
};

/// The flags that say which driver, and how it is built.
pub(super) const FLAGS: [Flag; 5] = [
    Flag { name: "--arch x64|arm64", summary: "the processor (default: x64)" },
    Flag { name: "--debug", summary: "the dev profile instead of release" },
    Flag { name: "--manifest-path PATH", summary: "a driver's Cargo.toml (default: driver-sample's)" },
    Flag { name: "--package NAME", summary: "a driver of that workspace; repeatable (default: all)" },
    Flag { name: "--wdk DIR", summary: "a real WDK instead of the kit (or WDKContentRoot)" },
];

/// Finds or installs the toolchain for Windows and keeps it in the context.
pub(super) const SETUP: Step = Step { name: "set-up", what: "a toolchain for Windows", required: true, run: set_up };

/// Finds or installs the C compiler, libclang and LLVM's tools. Only drivers need them.
pub(super) const TOOLS: Step =
    Step { name: "tools", what: "clang and LLVM for the driver kit", required: true, run: tools };

pub(super) const DRIVER: Step = Step { name: "driver", what: "a kernel-mode driver", required: false, run: driver };

fn run(context: &Context) -> Result<(), Error> {
    // Reject a wrong command line before anything is installed.
    options(context)?;
    run_all(context, &[SETUP, TOOLS, DRIVER])
}

/// Reads the options from the command line. [`crate::cli::parse`] has checked that flags are known and have values.
pub(super) fn options(context: &Context) -> Result<Options, Error> {
    // Paths are relative to the user's folder: cargo runs xtask there.
    let here = |path: &str| env::current_dir().unwrap_or_default().join(PathBuf::from(path));
    let wdk = env::var_os("WDKContentRoot").map(PathBuf::from);
    let profile = if context.has_flag("--debug") { "dev" } else { "release" };
    let mut options = Options { profile: profile.to_owned(), wdk, ..context.sample() };
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
    if context.windows().is_err() {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    }
    if !context.cache().join("kit").exists() {
        note("making the driver kit; this takes some seconds, once");
    }
    driver_build::build(context, &prepare(context, &options(context)?)?)?;
    Ok(Outcome::Passed)
}

fn set_up(context: &Context) -> Result<Outcome, Error> {
    note(&format!("using {}", context.windows()?.description));
    Ok(Outcome::Passed)
}
