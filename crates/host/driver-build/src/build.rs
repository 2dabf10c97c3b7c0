//! Runs cargo in the driver's own folder, with the kit and the stand-in for `wdk-build`.

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
    /// The packages of the workspace to build. If empty, the package of the manifest, or all drivers of a workspace.
    pub packages: Vec<String>,
    /// The processor.
    pub arch: Arch,
    /// The `dev` profile instead of `release`.
    pub debug: bool,
    /// The folder of a WDK to use instead of the kit.
    pub wdk: Option<PathBuf>,
    /// The folder for the images; they go to a folder in it that is named after the processor. If `None`, `driver` in the
    /// workspace's target directory.
    pub out: Option<PathBuf>,
}

impl Options {
    /// Every driver of the manifest, for x64, with the `release` profile.
    #[must_use]
    pub fn new(manifest: PathBuf) -> Self {
        Self { manifest, packages: Vec::new(), arch: Arch::X64, debug: false, wdk: None, out: None }
    }
}

/// Builds the drivers and returns the paths of the images. Each has its `.pdb` and `.map` beside it.
///
/// # Errors
///
/// If something is missing, the kit cannot build such a driver, or cargo fails. The error says what to change, if that is known.
pub fn build(host: &Host, toolchain: &WindowsToolchain, options: &Options) -> Result<Vec<PathBuf>, Error> {
    let (own, plan) = prepare(host, toolchain, options)?;
    let folder = options.out.clone().unwrap_or_else(|| plan.target.join("driver")).join(options.arch.name());
    let mut images = Vec::new();
    for group in &plan.groups {
        let build = build_folder(host, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        let tool = cargo(host, &own, options, &plan, group, "build");
        let (artifacts, result) = run_and_explain(tool.args([JSON]), &plan, group);
        Plan::remember_macros(&build, &artifacts)?;
        result?;
        images.extend(files::collect(&artifacts, &plan.workspace, &folder)?);
    }
    for options in separate(&plan, options) {
        images.extend(build(host, toolchain, &options)?);
    }
    Ok(images)
}

/// Checks the drivers for Windows with `cargo check` and then with each of the commands in `verbs`; returns settings for
/// rust-analyzer.
///
/// # Errors
///
/// As [`build`].
pub fn check(host: &Host, toolchain: &WindowsToolchain, options: &Options, verbs: &[&str]) -> Result<String, Error> {
    let (own, plan) = prepare(host, toolchain, options)?;
    for group in &plan.groups {
        let build = build_folder(host, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        for verb in ["check"].iter().chain(verbs) {
            let tool = cargo(host, &own, options, &plan, group, verb);
            let (artifacts, result) = run_and_explain(tool.args([JSON]), &plan, group);
            Plan::remember_macros(&build, &artifacts)?;
            result?;
        }
    }
    let settings = |group: &Group| settings::of_editor(&plan, group, options, &build_folder(host, &plan, group));
    let mut settings = plan.groups.first().map(settings).unwrap_or_default();
    for options in separate(&plan, options) {
        let others = check(host, toolchain, &options, verbs)?;
        settings = if settings.is_empty() { others } else { settings };
    }
    Ok(settings)
}

/// The options for each driver that is built in a separate run of cargo.
fn separate<'a>(plan: &'a Plan, options: &'a Options) -> impl Iterator<Item = Options> + 'a {
    plan.separate.iter().map(|manifest| Options { manifest: manifest.clone(), packages: Vec::new(), ..options.clone() })
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
    /// The number of its other packages.
    pub others: usize,
}

/// Finds the workspace of a driver.
///
/// # Errors
///
/// As [`build`].
pub fn workspace(host: &Host, options: &Options) -> Result<Workspace, Error> {
    let (_, plan) = prepare(host, host.windows()?, options)?;
    let drivers = plan.groups.into_iter().flat_map(|group| group.packages).chain(plan.separate_packages).collect();
    Ok(Workspace { root: plan.workspace, target: plan.target, drivers, others: plan.others })
}

/// Returns the toolchain that the driver asks for, and the plan of the build.
fn prepare(host: &Host, toolchain: &WindowsToolchain, options: &Options) -> Result<(WindowsToolchain, Plan), Error> {
    let manifest = absolute(&options.manifest)?;
    let own = settings::toolchain(host, &manifest)?;
    let toolchain = own.map_or_else(|| Ok(toolchain.clone()), |name| WindowsToolchain::installed(host, &name))?;
    toolchain.ensure_target(host, options.arch.triple())?;
    let plan = Plan::make(host, &toolchain, options, &manifest).map_err(|error| match error {
        Error::Failed(text) if text.contains(files::NEEDED) => {
            Error::Failed(text + &elsewhere(manifest.parent().unwrap_or(&manifest)))
        }
        other => other,
    })?;
    Ok((toolchain, plan))
}

/// Lists the drivers in the folders below one that has no driver, as an addition to an error message.
fn elsewhere(folder: &Path) -> String {
    let mut found = Vec::new();
    find_drivers(folder, 3, &mut found);
    found.sort();
    if found.is_empty() {
        return String::new();
    }
    format!("\nthere are drivers in other folders; name one with --manifest-path: {}", found.join(", "))
}

fn find_drivers(folder: &Path, depth: u32, found: &mut Vec<String>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && depth > 0 && !name.starts_with('.') && name != "target" {
            find_drivers(&path, depth - 1, found);
        } else if name == "Cargo.toml" && fs::read_to_string(&path).is_ok_and(|text| text.contains(files::NEEDED)) {
            found.push(path.display().to_string());
        }
    }
}

/// The command that runs cargo in the driver's folder, with the stand-in for `wdk-build`.
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
        // Cargo passes the unstable flags to every crate, so every crate needs the permission.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", "1");
    } else if !group.unstable.is_empty() && !toolchain.builds_core() {
        // Only the named crates may use unstable features.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", group.unstable.join(","));
    }
    if options.debug { tool } else { tool.args(["--release"]) }
}

/// `PATH` with another folder in front.
fn path_with(folder: &Path) -> OsString {
    let old = env::var_os("PATH").unwrap_or_default();
    env::join_paths([folder.to_path_buf()].into_iter().chain(env::split_paths(&old))).unwrap_or(old)
}

/// The folder in which a group is built. Drivers with unstable features have a separate folder, because packages such as
/// `proc-macro2` are compiled again whenever `RUSTC_BOOTSTRAP` changes.
fn build_folder(host: &Host, plan: &Plan, group: &Group) -> PathBuf {
    let is_stable = group.unstable.is_empty() && !plan.has_unstable_flags;
    host.cache().join(if is_stable { "build" } else { "build-unstable" })
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.to_path_buf() };
    let manifest = fs::canonicalize(&manifest).map_err(|error| {
        let below = manifest.parent().map(elsewhere).unwrap_or_default();
        Error::Usage(format!("{}: {error}{below}", manifest.display()))
    })?;
    match manifest.to_str() {
        Some(_) => Ok(manifest),
        None => Err(Error::Usage(format!(
            "the path `{}` is not valid UTF-8, which cargo needs",
            manifest.as_os_str().as_encoded_bytes().escape_ascii()
        ))),
    }
}

/// Shows cargo's messages while it runs, and returns what it built. The error says what the kit or the driver lacks, if the
/// messages show that.
fn run_and_explain(tool: Tool, plan: &Plan, group: &Group) -> (Artifacts, Result<(), Error>) {
    let manner = manner();
    let mut tool = tool.hidden_env("CARGO_TERM_COLOR", if manner.has_colours { "always" } else { "never" });
    if manner.is_quiet {
        tool = tool.hidden_env("CARGO_TERM_QUIET", "true");
    } else if io::stderr().is_terminal() {
        // Cargo sees a pipe, although the user has a terminal: ask for the progress bar.
        tool = tool.hidden_env("CARGO_TERM_PROGRESS_WHEN", "always").hidden_env("CARGO_TERM_PROGRESS_WIDTH", "80");
    }
    let mut said = Vec::new();
    let mut filter = WithoutOverride::default();
    let (account, result) = tool.run_reading(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer)
            && let Some(read) = buffer.get(..count)
        {
            // If standard error is closed, there is nowhere to report it.
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
            Error::Failed(format!("the driver cannot be built\n{}", reasons.join("\n")))
        }
        // Without the command, which is long: cargo has printed what is wrong.
        Error::Failed(_) => Error::Failed(String::from("cargo could not build the driver; its messages are above")),
        other => other,
    }
}
