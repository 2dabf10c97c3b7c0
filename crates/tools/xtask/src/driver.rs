//! Builds a windows-drivers-rs driver on a host without Windows, with the kit in `crates/host/wdk-kit`.
//!
//! The driver's sources and its lock file are never written to: cargo runs in a shadow of its workspace (see
//! [`shadow`]), where `wdk-build` is patched to be the kit. Everything else comes from where the manifest says.

mod arch;
#[expect(
    unreachable_pub,
    reason = "a module of pe-image: xtask has no dependencies, and a checksum is computed in one place"
)]
#[path = "../../../host/pe-image/src/checksum.rs"]
mod checksum;
mod explain;
mod files;
mod lock;
mod shadow;
mod tools;

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

pub(crate) use arch::Arch;

use crate::artifacts::{Artifacts, JSON};
use crate::context::Context;
use crate::error::Error;
use crate::process::Tool;
use crate::setup::WindowsToolchain;
use shadow::Shadow;

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The driver's manifest.
    pub(crate) manifest: PathBuf,
    pub(crate) arch: Arch,
    /// The `dev` profile instead of `release`.
    pub(crate) debug: bool,
}

impl Options {
    /// The sample, as it is shipped.
    pub(crate) fn sample(context: &Context) -> Self {
        Self { manifest: context.path(SAMPLE), arch: Arch::X64, debug: false }
    }
}

const SAMPLE: &str = "driver-sample/Cargo.toml";

/// Where drivers and all that is needed to build them go.
const FOLDER: &str = "target/driver";
const KIT: &str = "crates/host/wdk-kit";

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

/// Builds the driver and returns the images, `target/driver/<arch>/<name>.sys`.
pub(crate) fn build(context: &Context, toolchain: &WindowsToolchain, options: &Options) -> Result<Vec<PathBuf>, Error> {
    toolchain.ensure_target(context, options.arch.triple())?;
    let manifest = absolute(&options.manifest)?;
    let workspace = workspace_of(context, &manifest)?;
    let shadow = Shadow::create(&context.path(FOLDER).join("shadow"), &workspace)?;
    shadow.forget_macros_of_another_kit(&context.path(KIT).join("kit/wdf/functions.txt"))?;
    let tool = cargo(context, toolchain, options, &shadow, &manifest, "build")?;
    let (artifacts, result) = run_and_explain(tool.args([JSON]));
    shadow.remember_macros(&artifacts)?;
    result?;
    shadow.report_lock();
    files::collect(&artifacts, &shadow.workspace(), &workspace, &context.path(FOLDER).join(options.arch.name()))
}

/// Checks the driver with a toolchain and builds nothing.
pub(crate) fn check(context: &Context, toolchain: &WindowsToolchain, options: &Options) -> Result<(), Error> {
    let manifest = absolute(&options.manifest)?;
    let workspace = workspace_of(context, &manifest)?;
    let shadow = Shadow::create(&context.path(FOLDER).join("shadow"), &workspace)?;
    cargo(context, toolchain, options, &shadow, &manifest, "check")?.run()
}

/// Cargo in the shadow of the driver's workspace, with the kit in place of `wdk-build`.
fn cargo(
    context: &Context,
    toolchain: &WindowsToolchain,
    options: &Options,
    shadow: &Shadow,
    manifest: &Path,
    verb: &str,
) -> Result<Tool, Error> {
    let patch = write_patch(context)?;
    let triple = options.arch.triple();
    let lower = triple.replace('-', "_");
    let mut tool = toolchain
        .cargo_for(context, verb, triple)
        .current_dir(&shadow.workspace())
        .args(["--manifest-path".as_ref(), shadow.inside(manifest).as_os_str()])
        .args(["--config".as_ref(), patch.as_os_str()])
        .args(["--target-dir".as_ref(), shadow.target().as_os_str()])
        // Intermediate files stay there, too: `wdk-build` finds the driver's manifest from them.
        .hidden_env("CARGO_BUILD_BUILD_DIR", shadow.target())
        .hidden_env(&format!("CC_{lower}"), "clang")
        .hidden_env(&format!("AR_{lower}"), "llvm-lib");
    if let Some(flags) = shadow.flags(triple) {
        tool = tool.args(["--config", &flags]);
    }
    if !options.debug {
        tool = tool.args(["--release"]);
    }
    Ok(tool)
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

/// The folder of the workspace that the package belongs to.
fn workspace_of(context: &Context, manifest: &Path) -> Result<PathBuf, Error> {
    let locate = ["locate-project", "--workspace", "--message-format", "plain", "--manifest-path"];
    let root = context.cargo().args(locate).args([manifest]).capture()?;
    let root = Path::new(root.trim());
    Ok(root.parent().unwrap_or(root).to_path_buf())
}

/// The one thing that is different from a build on Windows.
fn write_patch(context: &Context) -> Result<PathBuf, Error> {
    let path = context.path(FOLDER).join("kit.toml");
    let text = format!("[patch.crates-io]\nwdk-build = {{ path = {:?} }}\n", context.path(KIT).to_string_lossy());
    files::write_if_changed(&path, &text)?;
    Ok(path)
}

/// Shows what cargo says while it says it, and returns what it built. An error is explained if it is about something that
/// the kit lacks.
fn run_and_explain(tool: Tool) -> (Artifacts, Result<(), Error>) {
    let terminal = io::stderr().is_terminal();
    let color = if terminal { "always" } else { "never" };
    let mut tool = tool.hidden_env("CARGO_TERM_COLOR", color);
    if terminal {
        // Cargo sees a pipe, but the reader does not.
        tool = tool.hidden_env("CARGO_TERM_PROGRESS_WHEN", "always").hidden_env("CARGO_TERM_PROGRESS_WIDTH", "80");
    }
    let mut said = Vec::new();
    let (account, result) = tool.run_reading(|stream| {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            // Nothing can be done about a closed standard error.
            let _ = io::stderr().write_all(&buffer[..count]);
            said.extend_from_slice(&buffer[..count]);
        }
    });
    let result = result.map_err(|error| explained(error, &String::from_utf8_lossy(&said)));
    (Artifacts::parse(&account), result)
}

fn explained(error: Error, said: &str) -> Error {
    let lacks = explain::explain(said);
    match error {
        Error::Failed(_) if !lacks.is_empty() => {
            Error::Failed(format!("the kit lacks something that this driver uses\n{}", lacks.join("\n")))
        }
        // The command is long, and cargo has said what is wrong.
        Error::Failed(_) => Error::Failed(String::from("cargo could not build the driver; its messages are above")),
        other => other,
    }
}
