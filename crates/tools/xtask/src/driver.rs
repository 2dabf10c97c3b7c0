//! Builds drivers on a host without Windows, with the kit in `crates/host/wdk-kit`.
//!
//! Cargo runs in the driver's own folder. A `paths` entry in its configuration puts a stand-in in the place of `wdk-build`,
//! wherever the driver gets that from, and leaves Cargo.lock as it is. Everything that is compiled goes to
//! `target/driver/build`, where drivers share what does not depend on them.

mod arch;
#[expect(
    unreachable_pub,
    reason = "a module of pe-image: xtask has no dependencies, and a checksum is computed in one place"
)]
#[path = "../../../host/pe-image/src/checksum.rs"]
mod checksum;
mod explain;
mod files;
mod plan;
mod settings;
mod tools;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use arch::Arch;

use crate::artifacts::{Artifacts, JSON};
use crate::context::Context;
use crate::error::Error;
use crate::process::Tool;
use crate::setup::WindowsToolchain;
use plan::{Group, Plan};

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The driver's manifest.
    pub(crate) manifest: PathBuf,
    /// The packages of its workspace to build, if not that of the manifest.
    pub(crate) packages: Vec<String>,
    pub(crate) arch: Arch,
    /// The `dev` profile instead of `release`.
    pub(crate) debug: bool,
    /// The folder of a WDK to use instead of the kit.
    pub(crate) wdk: Option<PathBuf>,
}

impl Options {
    /// The sample, as it is shipped.
    pub(crate) fn sample(context: &Context) -> Self {
        let manifest = context.path(SAMPLE);
        Self { manifest, packages: Vec::new(), arch: Arch::X64, debug: false, wdk: None }
    }
}

const SAMPLE: &str = "driver-sample/Cargo.toml";

/// Where drivers and all that is needed to build them go.
const FOLDER: &str = "target/driver";

/// Installs the tools that drivers need besides a Rust toolchain.
pub(crate) fn ensure_tools(context: &Context) -> Result<(), Error> {
    if cfg!(windows) {
        return Err(Error::Usage(String::from(
            "on Windows the WDK builds drivers: run `cargo wdk build`, or `cargo make`, in the driver's folder, then \
             `cargo xtask package --adopt target/<profile>/NAME_package`",
        )));
    }
    tools::ensure(context)
}

/// Builds the drivers and returns the images, `target/driver/<arch>/<name>.sys`.
pub(crate) fn build(context: &Context, toolchain: &WindowsToolchain, options: &Options) -> Result<Vec<PathBuf>, Error> {
    let (toolchain, plan) = prepare(context, toolchain, options)?;
    let folder = context.path(FOLDER).join(options.arch.name());
    let mut images = Vec::new();
    for group in &plan.groups {
        let build = build_folder(context, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        let tool = cargo(context, &toolchain, options, &plan, group, "build");
        let (artifacts, result) = run_and_explain(tool.args([JSON]), &group.packages);
        Plan::remember_macros(&build, &artifacts)?;
        result?;
        images.extend(files::collect(&artifacts, &plan.workspace, &folder)?);
    }
    Ok(images)
}

/// Checks the drivers for Windows, with cargo's `check` and other `verbs`; returns settings for an editor.
pub(crate) fn check(
    context: &Context,
    toolchain: &WindowsToolchain,
    options: &Options,
    verbs: &[&str],
) -> Result<String, Error> {
    let (toolchain, plan) = prepare(context, toolchain, options)?;
    for group in &plan.groups {
        let build = build_folder(context, &plan, group);
        plan.take_over(group, &build, options.arch.triple())?;
        for verb in ["check"].iter().chain(verbs) {
            let tool = cargo(context, &toolchain, options, &plan, group, verb);
            let (artifacts, result) = run_and_explain(tool.args([JSON]), &group.packages);
            Plan::remember_macros(&build, &artifacts)?;
            result?;
        }
    }
    let settings = |group: &Group| settings::of_editor(&plan, group, options, &build_folder(context, &plan, group));
    Ok(plan.groups.first().map(settings).unwrap_or_default())
}

/// The toolchain that the driver asks for, and everything that is known before cargo compiles.
fn prepare(
    context: &Context,
    toolchain: &WindowsToolchain,
    options: &Options,
) -> Result<(WindowsToolchain, Plan), Error> {
    let manifest = absolute(&options.manifest)?;
    let own = settings::toolchain(context, &manifest)?;
    let toolchain = own.map_or_else(|| Ok(toolchain.clone()), |name| WindowsToolchain::installed(context, &name))?;
    toolchain.ensure_target(context, options.arch.triple())?;
    let plan = Plan::make(context, &toolchain, options, &manifest, &context.path(FOLDER))?;
    Ok((toolchain, plan))
}

/// Cargo in the driver's workspace, with the stand-in for `wdk-build`.
fn cargo(
    context: &Context,
    toolchain: &WindowsToolchain,
    options: &Options,
    plan: &Plan,
    group: &Group,
    verb: &str,
) -> Tool {
    let triple = options.arch.triple();
    let lower = triple.replace('-', "_");
    let build = build_folder(context, plan, group);
    let mut tool = toolchain
        .cargo_for(context, verb, triple)
        .current_dir(&plan.workspace)
        .args(["--manifest-path".as_ref(), plan.workspace.join("Cargo.toml").as_os_str()])
        .args(["--target-dir".as_ref(), build.as_os_str()])
        .hidden_env("CARGO_BUILD_BUILD_DIR", &build)
        .hidden_env("WDK_KIT_ROOT", &plan.root)
        .hidden_env("WDK_KIT_MODEL", &group.model)
        .hidden_env("PATH", path_with(&plan.tools))
        .hidden_env(&format!("CC_{lower}"), plan.tools.join("clang-cl"))
        .hidden_env(&format!("AR_{lower}"), "llvm-lib");
    for (name, value) in settings::of_prompt(plan, options.arch) {
        tool = tool.hidden_env(name, value);
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
fn build_folder(context: &Context, plan: &Plan, group: &Group) -> PathBuf {
    let is_stable = group.unstable.is_empty() && !plan.has_unstable_flags;
    context.path(FOLDER).join(if is_stable { "build" } else { "build-unstable" })
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
fn run_and_explain(tool: Tool, own: &[String]) -> (Artifacts, Result<(), Error>) {
    let terminal = io::stderr().is_terminal();
    let color = if terminal { "always" } else { "never" };
    let mut tool = tool.hidden_env("CARGO_TERM_COLOR", color);
    if terminal {
        // Cargo sees a pipe, but the reader does not.
        tool = tool.hidden_env("CARGO_TERM_PROGRESS_WHEN", "always").hidden_env("CARGO_TERM_PROGRESS_WIDTH", "80");
    }
    let mut said = Vec::new();
    let mut filter = explain::WithoutOverride::default();
    let (account, result) = tool.run_reading(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            // Nothing can be done about a closed standard error.
            let _ = io::stderr().write_all(&filter.pass(&buffer[..count]));
            said.extend_from_slice(&buffer[..count]);
        }
        let _ = io::stderr().write_all(&filter.rest());
    });
    let result = result.map_err(|error| explained(error, &String::from_utf8_lossy(&said), own));
    (Artifacts::parse(&account), result)
}

fn explained(error: Error, said: &str, own: &[String]) -> Error {
    let reasons = explain::explain(said, own);
    match error {
        Error::Failed(_) if !reasons.is_empty() => {
            Error::Failed(format!("the driver cannot be built as it is\n{}", reasons.join("\n")))
        }
        // The command is long, and cargo has said what is wrong.
        Error::Failed(_) => Error::Failed(String::from("cargo could not build the driver; its messages are above")),
        other => other,
    }
}
