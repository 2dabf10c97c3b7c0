//! Cargo in the driver's own folder, with the kit and the stand-in for `wdk-build`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::artifacts::{Artifacts, JSON};
use crate::error::Error;
use crate::explain::{self, WithoutOverride};
use crate::files;
use crate::host::Host;
use crate::output::manner;
use crate::plan::{Group, Plan};
use crate::process::Tool;
use crate::settings;
use crate::setup::WindowsToolchain;

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The driver's manifest.
    pub manifest: PathBuf,
    /// The packages of its workspace to build, if not that of the manifest.
    pub packages: Vec<String>,
    /// The processor.
    pub arch: Arch,
    /// The `dev` profile instead of `release`.
    pub debug: bool,
    /// The folder of a WDK to use instead of the kit.
    pub wdk: Option<PathBuf>,
    /// Where the images go, in a folder named after the processor; without one, `driver` in the workspace's target directory.
    pub out: Option<PathBuf>,
}

impl Options {
    /// Everything that the manifest builds, for x64, as it is shipped.
    #[must_use]
    pub fn new(manifest: PathBuf) -> Self {
        Self { manifest, packages: Vec::new(), arch: Arch::X64, debug: false, wdk: None, out: None }
    }
}

/// Builds the drivers and returns the images, each with its `.pdb` and `.map` beside it.
///
/// # Errors
///
/// If something is missing, the kit cannot build such a driver, or cargo fails; the error says what to change if that is known.
pub fn build(host: &Host, toolchain: &WindowsToolchain, options: &Options) -> Result<Vec<PathBuf>, Error> {
    let (toolchain, plan) = prepare(host, toolchain, options)?;
    let folder = options.out.clone().unwrap_or_else(|| plan.target.join("driver")).join(options.arch.name());
    let mut images = Vec::new();
    for group in &plan.groups {
        let build = build_folder(host, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        let tool = cargo(host, &toolchain, options, &plan, group, "build");
        let (artifacts, result) = run_and_explain(tool.args([JSON]), &plan, group);
        Plan::remember_macros(&build, &artifacts)?;
        result?;
        images.extend(files::collect(&artifacts, &plan.workspace, &folder)?);
    }
    Ok(images)
}

/// Checks the drivers for Windows, with cargo's `check` and other `verbs`; returns settings for an editor.
///
/// # Errors
///
/// As [`build`].
pub fn check(host: &Host, toolchain: &WindowsToolchain, options: &Options, verbs: &[&str]) -> Result<String, Error> {
    let (toolchain, plan) = prepare(host, toolchain, options)?;
    for group in &plan.groups {
        let build = build_folder(host, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        for verb in ["check"].iter().chain(verbs) {
            let tool = cargo(host, &toolchain, options, &plan, group, verb);
            let (artifacts, result) = run_and_explain(tool.args([JSON]), &plan, group);
            Plan::remember_macros(&build, &artifacts)?;
            result?;
        }
    }
    let settings = |group: &Group| settings::of_editor(&plan, group, options, &build_folder(host, &plan, group));
    Ok(plan.groups.first().map(settings).unwrap_or_default())
}

/// A driver's workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its folder.
    pub root: PathBuf,
    /// Its target directory.
    pub target: PathBuf,
    /// The names of the packages that are drivers.
    pub drivers: Vec<String>,
    /// How many other packages it has.
    pub others: usize,
}

/// Finds out about the workspace of a driver.
///
/// # Errors
///
/// As [`build`].
pub fn workspace(host: &Host, options: &Options) -> Result<Workspace, Error> {
    let (_, plan) = prepare(host, host.windows()?, options)?;
    let drivers = plan.groups.into_iter().flat_map(|group| group.packages).collect();
    Ok(Workspace { root: plan.workspace, target: plan.target, drivers, others: plan.others })
}

/// The toolchain that the driver asks for, and everything that is known before cargo compiles.
fn prepare(host: &Host, toolchain: &WindowsToolchain, options: &Options) -> Result<(WindowsToolchain, Plan), Error> {
    let manifest = absolute(&options.manifest)?;
    let own = settings::toolchain(host, &manifest)?;
    let toolchain = own.map_or_else(|| Ok(toolchain.clone()), |name| WindowsToolchain::installed(host, &name))?;
    toolchain.ensure_target(host, options.arch.triple())?;
    let plan = Plan::make(host, &toolchain, options, &manifest)?;
    Ok((toolchain, plan))
}

/// Cargo in the driver's folder, with the stand-in for `wdk-build`.
fn cargo(host: &Host, toolchain: &WindowsToolchain, options: &Options, plan: &Plan, group: &Group, verb: &str) -> Tool {
    let triple = options.arch.triple();
    let build = build_folder(host, plan, group);
    let mut tool = toolchain
        .cargo_for(host, verb, triple)
        .current_dir(&plan.folder)
        .args(["--manifest-path".as_ref(), plan.workspace.join("Cargo.toml").as_os_str()])
        .args(["--target-dir".as_ref(), build.as_os_str()])
        .hidden_env("CARGO_BUILD_BUILD_DIR", &build)
        .hidden_env("PATH", path_with(&plan.tools));
    for (name, value) in settings::of_environment(plan, group, options.arch) {
        tool = tool.hidden_env(&name, value);
    }
    for package in &group.packages {
        tool = tool.args(["--package", package]);
    }
    for setting in settings::of_cargo(plan, group, options) {
        tool = tool.args(["--config", &setting]);
    }
    if plan.has_unstable_flags {
        // Cargo passes the flags to every crate.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", "1");
    } else if !group.unstable.is_empty() && !toolchain.builds_core() {
        // Names of crates: no other crate sees it.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", group.unstable.join(","));
    }
    if options.debug { tool } else { tool.args(["--release"]) }
}

/// The search path with another folder in front of it.
fn path_with(folder: &Path) -> OsString {
    let old = env::var_os("PATH").unwrap_or_default();
    env::join_paths([folder.to_path_buf()].into_iter().chain(env::split_paths(&old))).unwrap_or(old)
}

/// Where a group is built. Drivers with unstable features have a folder of their own: packages such as `proc-macro2` are compiled
/// again whenever the variable changes that enables the features.
fn build_folder(host: &Host, plan: &Plan, group: &Group) -> PathBuf {
    let is_stable = group.unstable.is_empty() && !plan.has_unstable_flags;
    host.cache().join(if is_stable { "build" } else { "build-unstable" })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_path_buf() };
    let manifest =
        fs::canonicalize(&manifest).map_err(|error| Error::Usage(format!("{}: {error}", manifest.display())))?;
    match manifest.to_str() {
        Some(_) => Ok(manifest),
        None => Err(Error::Usage(format!(
            "the path `{}` is not valid UTF-8, which cargo needs",
            manifest.as_os_str().as_encoded_bytes().escape_ascii()
        ))),
    }
}

/// Shows what cargo says while it says it, and returns what it built. An error is explained if it is about something that
/// the kit lacks.
fn run_and_explain(tool: Tool, plan: &Plan, group: &Group) -> (Artifacts, Result<(), Error>) {
    let manner = manner();
    let mut tool = tool.hidden_env("CARGO_TERM_COLOR", if manner.has_colours { "always" } else { "never" });
    if manner.is_quiet {
        tool = tool.hidden_env("CARGO_TERM_QUIET", "true");
    } else if io::stderr().is_terminal() {
        // Cargo sees a pipe, but the reader does not.
        tool = tool.hidden_env("CARGO_TERM_PROGRESS_WHEN", "always").hidden_env("CARGO_TERM_PROGRESS_WIDTH", "80");
    }
    let mut said = Vec::new();
    let mut filter = WithoutOverride::default();
    let (account, result) = tool.run_reading(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer)
            && let Some(read) = buffer.get(..count)
        {
            // Nothing can be done about a closed standard error.
            let _ = io::stderr().write_all(&filter.pass(read));
            said.extend_from_slice(read);
        }
        let _ = io::stderr().write_all(&filter.rest());
    });
    let result = result.map_err(|error| explained(error, &String::from_utf8_lossy(&said), plan, group));
    (Artifacts::parse(&account), result)
}

fn explained(error: Error, said: &str, plan: &Plan, group: &Group) -> Error {
    let reasons = explain::explain(said, &group.packages, &settings::imported_variables(&plan.root));
    match error {
        Error::Failed(_) if !reasons.is_empty() => {
            Error::Failed(format!("the driver cannot be built as it is\n{}", reasons.join("\n")))
        }
        // The command is long, and cargo has said what is wrong.
        Error::Failed(_) => Error::Failed(String::from("cargo could not build the driver; its messages are above")),
        other => other,
    }
}
