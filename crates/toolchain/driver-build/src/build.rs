//! Runs cargo in the driver's own folder, with the kit and the stand-in for `wdk-build`.

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use crate::artifacts::{Artifacts, is_json, message_flag, rendered};
use crate::collect;
use crate::driver_settings::DriverSettings;
use crate::error::Error;
use crate::explain;
use crate::host::Host;
use crate::llvm;
use crate::microsoft_tools;
use crate::model::Model;
use crate::options::CargoOptions;
use crate::output::{self, manner};
use crate::override_warning::WithoutOverride;
use crate::prepare::{Plan, prepare};
use crate::process::Tool;
use crate::settings;
use crate::shared_dir::{self, SharedDir};
use crate::workspace::Group;

/// An image of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) model: Model,
    pub(crate) settings: DriverSettings,
}

/// Builds the drivers of a plan and returns the paths of the images. Each has its `.pdb` and `.map` beside it.
///
/// # Errors
///
/// If something is missing, the kit cannot build such a driver, or cargo fails. The error says what to change, if that is known.
pub fn build(host: &Host, plan: &Plan) -> Result<Vec<PathBuf>, Error> {
    Ok(images(host, plan)?.into_iter().map(|image| image.path).collect())
}

/// As [`build`], with the model of each driver.
pub(crate) fn images(host: &Host, plan: &Plan) -> Result<Vec<Image>, Error> {
    let out = plan.options.out.clone().unwrap_or_else(|| plan.workspace.target.join("driver"));
    let out = out.join(plan.options.arch.name());
    let mut images = Vec::new();
    for group in &plan.workspace.groups {
        let dir = SharedDir::take_over(host, plan, group)?;
        let artifacts = run(host, plan, group, &dir, "build", &[])?;
        let found = collect::collect(&artifacts, &plan.workspace.root, &out)?;
        images.extend(found.into_iter().map(|path| {
            let own = group.drivers.iter().find(|driver| path.file_stem().is_some_and(|stem| *stem == *driver.library));
            let settings = own.map(|driver| driver.settings.clone()).unwrap_or_default();
            Image { path, model: group.model, settings }
        }));
    }
    for options in plan.separate() {
        images.extend(self::images(host, &prepare(host, &options)?)?);
    }
    Ok(images)
}

/// Checks the drivers for Windows with a command of cargo: `check`, or one that checks more, such as `clippy`. `arguments` are its
/// last arguments, as in `-- -D warnings`.
///
/// # Errors
///
/// As [`build`].
pub fn check(host: &Host, plan: &Plan, verb: &str, arguments: &[&str]) -> Result<(), Error> {
    for group in &plan.workspace.groups {
        let dir = SharedDir::take_over(host, plan, group)?;
        run(host, plan, group, &dir, verb, arguments)?;
    }
    for options in plan.separate() {
        check(host, &prepare(host, &options)?, verb, arguments)?;
    }
    Ok(())
}

/// Documents a package that the drivers link, as JSON, and returns the file. Every warning of rustdoc is an error. The format is
/// unstable: it is that of the toolchain's rustdoc.
///
/// # Errors
///
/// As [`build`].
pub fn document(host: &Host, plan: &Plan, package: &str) -> Result<PathBuf, Error> {
    let rustdoc = microsoft_tools::unstable_rustdoc(&plan.tools)?;
    for group in plan.workspace.groups.iter().take(1) {
        let dir = SharedDir::take_over(host, plan, group)?;
        let tool = cargo(host, plan, group, "rustdoc", &dir.path).hidden_env("RUSTDOC", &rustdoc);
        let words = ["--package", package, "--lib", "--", "-Dwarnings", "-Zunstable-options", "--output-format=json"];
        run_and_explain(tool.args(words), plan, group).1?;
    }
    let name = package.replace('-', "_");
    Ok(shared_dir::path(host, plan).join(plan.options.arch.triple()).join("doc").join(name).with_extension("json"))
}

/// Runs a command of cargo for the drivers of a group.
fn run(
    host: &Host,
    plan: &Plan,
    group: &Group,
    dir: &SharedDir,
    verb: &str,
    arguments: &[&str],
) -> Result<Artifacts, Error> {
    let flag = message_flag(plan.options.cargo.message_format.as_deref());
    let packages = group.drivers.iter().flat_map(|driver| ["--package", &driver.package]);
    let tool = cargo(host, plan, group, verb, &dir.path).args(packages).args([flag]).args(arguments);
    let (artifacts, result) = run_and_explain(tool, plan, group);
    shared_dir::remember_macros(&dir.path, &artifacts)?;
    result.map(|()| artifacts)
}

/// The command that runs cargo in the driver's folder, with the stand-in for `wdk-build`.
fn cargo(host: &Host, plan: &Plan, group: &Group, verb: &str, build: &Path) -> Tool {
    let Plan { workspace, options, toolchain, .. } = plan;
    let mut tool = toolchain
        .cargo_for(host, verb, options.arch.triple())
        .current_dir(plan.dir())
        .args(["--manifest-path".as_ref(), workspace.root.join("Cargo.toml").as_os_str()])
        .args(["--target-dir".as_ref(), build.as_os_str()])
        .hidden_env("CARGO_BUILD_BUILD_DIR", build)
        .hidden_env("PATH", llvm::with_dir(&plan.tools, &host.search_path()));
    for (name, value) in settings::environment(plan, group) {
        tool = tool.hidden_env(&name, value);
    }
    for setting in settings::for_cargo(plan, group) {
        tool = tool.args(["--config", &setting]);
    }
    if workspace.has_unstable_flags {
        // Cargo passes the unstable flags to every crate, so every crate needs the permission.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", "1");
    } else if !workspace.unstable.is_empty() && !toolchain.builds_core() {
        // Only the named crates may use unstable features.
        tool = tool.hidden_env("RUSTC_BOOTSTRAP", workspace.unstable.join(","));
    }
    let CargoOptions { features, lock, jobs, .. } = &options.cargo;
    let jobs = jobs.iter().flat_map(|jobs| ["--jobs", jobs]);
    tool.args(["--profile", &options.profile]).args(features).args(lock).args(jobs)
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
    let mut messages = Vec::new();
    let mut filter = WithoutOverride::default();
    let (output, result) = tool.run_reading(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer)
            && let Some(read) = buffer.get(..count)
        {
            // If standard error is closed, there is nowhere to report it.
            let _ = io::stderr().write_all(&filter.pass(read));
            messages.extend_from_slice(read);
        }
        let _ = io::stderr().write_all(&filter.rest());
    });
    let mut messages = String::from_utf8_lossy(&messages).into_owned();
    if is_json(plan.options.cargo.message_format.as_deref()) {
        output::print(&output);
        messages += &rendered(&output);
    }
    let result = result.map_err(|error| explained(error, &messages, plan, group));
    (Artifacts::parse(&output), result)
}

fn explained(error: Error, messages: &str, plan: &Plan, group: &Group) -> Error {
    let own: Vec<&str> = group.drivers.iter().map(|driver| driver.package.as_str()).collect();
    let reasons = explain::explain(messages, &own, &settings::imported_variables(&plan.kit));
    match error {
        Error::Failed(_) if !reasons.is_empty() => {
            Error::Failed(format!("the driver cannot be built\n{}", reasons.join("\n")))
        }
        // Without the command, which is long: cargo has printed what is wrong.
        Error::Failed(_) => Error::Failed(String::from("cargo could not build the driver; its messages are above")),
        other => other,
    }
}
