//! Generates crates with a given number of E2 events for a run, in `target/bench/generated`.
//!
//! Both sides have the same manifest and the same source, except for the crate that provides the macros.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::images::{Toolchain, built, named};

use super::Settings;
use super::images::SIDES;
use crate::tools::{Spent, spent};

/// The numbers of events of the crates.
pub(super) const COUNTS: [u32; 3] = [10, 100, 1000];

/// The section with the addresses of the events. It keeps them in the image and is not counted.
pub(super) const TABLE: &str = ".table";

/// A workspace with a crate for each side and count.
#[derive(Debug)]
pub(super) struct Generated {
    toolchain: Toolchain,
    workspace: PathBuf,
    target: PathBuf,
}

impl Generated {
    /// Writes the sources. Files that already have the same content are not changed.
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let images = settings.root.join("crates/dev/bench/images");
        let images = images.canonicalize().map_err(|error| format!("{}: {error}", images.display()))?;
        let workspace = settings.scratch("generated");
        for (side, _) in SIDES {
            for count in COUNTS {
                let dir = workspace.join(name(side, count));
                write(&dir.join("Cargo.toml"), &manifest(side, count, &images))?;
                write(&dir.join("src/lib.rs"), &source(side, count))?;
            }
        }
        write(&workspace.join("Cargo.toml"), WORKSPACE)?;
        let lock = workspace.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(images.join("Cargo.lock"), &lock).map_err(|error| format!("{}: {error}", lock.display()))?;
        }
        Ok(Self { toolchain: Toolchain::find()?, workspace, target: settings.scratch("images") })
    }

    /// Runs cargo on one crate as if its source had just changed. Its dependencies must be built already. Returns the
    /// time it took.
    pub(super) fn compile(&self, verb: &str, side: &str, count: u32) -> Result<Spent, String> {
        let name = name(side, count);
        let source = self.workspace.join(&name).join("src/lib.rs");
        let touched = fs::File::options()
            .append(true)
            .open(&source)
            .and_then(|file| file.set_modified(std::time::SystemTime::now()));
        touched.map_err(|error| format!("{}: {error}", source.display()))?;
        let mut command = self.command(verb);
        command.args(["--package", &name]);
        spent(|| run(&mut command))
    }

    /// Builds all crates and returns their images.
    pub(super) fn build(&self) -> Result<Vec<PathBuf>, String> {
        built(&mut self.command("build"))
    }

    fn command(&self, verb: &str) -> Command {
        self.toolchain.command(verb, "release", &self.workspace.join("Cargo.toml"), &self.target)
    }
}

/// Reads the image of one crate from those that were built.
pub(super) fn image(built: &[PathBuf], side: &str, count: u32) -> Result<Vec<u8>, String> {
    let path = named(built, &format!("{}.dll", name(side, count).replace('-', "_")))?;
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cargo could not be started: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn name(side: &str, count: u32) -> String {
    format!("{side}-{count}")
}

const WORKSPACE: &str = "\
# Made by the bench.
[workspace]
resolver = \"3\"
members = [\"ours-*\", \"peer-*\"]

[profile.release]
codegen-units = 1
lto = \"fat\"
panic = \"abort\"
";

fn manifest(side: &str, count: u32, images: &Path) -> String {
    let images = images.display();
    let dependency = if side == "ours" {
        format!("wdk-etw = {{ path = \"{images}/../../../driver/wdk-etw\" }}")
    } else {
        String::from(
            "tracelogging = { version = \"=1.2.4\", default-features = false, features = [\"etw\", \"kernel_mode\", \"macros\"] }",
        )
    };
    format!(
        "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nbuild = \"{images}/{side}/build.rs\"\n\n\
         [lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\nsupport = {{ path = \"{images}/support\" }}\n{dependency}\n",
        name(side, count)
    )
}

/// Returns the source of a driver with this many events, each in its own function.
fn source(side: &str, count: u32) -> String {
    let (library, routines) = if side == "ours" { ("wdk_etw", "") } else { ("tracelogging", ROUTINES) };
    let mut text = format!(
        "#![no_std]\nuse support as _;\nuse {library}::{{define_provider, write_event}};\n\
         define_provider!(PROVIDER, \"WdkEtw.Bench\");\n\
         type Event = unsafe extern \"system\" fn(u32, u64, *const u8, usize);\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"system\" fn DriverEntry(_: *mut (), _: *const ()) -> u32 {{\n\
         let _ = unsafe {{ PROVIDER.register() }};\n0\n}}\n{routines}"
    );
    for index in 0..count {
        let _ = write!(
            text,
            "unsafe extern \"system\" fn event{index:04}(id: u32, offset: u64, text: *const u8, length: usize) {{\n\
             let text = unsafe {{ core::slice::from_raw_parts(text, length) }};\n\
             let _ = write_event!(PROVIDER, \"Event{index:04}\", level(Informational), keyword(1), \
             u32(\"id\", &id), u64(\"offset\", &offset), str8(\"text\", text));\n}}\n"
        );
    }
    let _ = write!(
        text,
        "#[unsafe(no_mangle)]\n#[unsafe(link_section = \"{TABLE}\")]\npub static EVENTS: [Event; {count}] = ["
    );
    for index in 0..count {
        let _ = write!(text, "event{index:04},");
    }
    text + "];\n"
}

/// The routines for which `tracelogging` relies on the WDK's import library.
const ROUTINES: &str = "\
mod kernel {
#[link(name = \"ntoskrnl.exe\", kind = \"raw-dylib\", modifiers = \"+verbatim\")]
unsafe extern \"C\" {
pub fn EtwRegister();
pub fn EtwUnregister();
pub fn EtwSetInformation();
pub fn EtwWriteTransfer();
}
}
pub use kernel::*;
";

#[cfg(test)]
mod tests {
    use super::{manifest, source};
    use std::path::Path;

    #[test]
    fn both_sides_have_the_same_events() {
        let events = |side| -> Vec<String> {
            let text = source(side, 3);
            text.lines().filter(|line| line.contains("write_event!(")).map(String::from).collect()
        };
        assert_eq!(events("ours").len(), 3);
        assert_eq!(events("ours"), events("peer"));
    }

    #[test]
    fn each_side_has_its_own_library() {
        let ours = manifest("ours", 10, Path::new("/images"));
        assert!(ours.contains("name = \"ours-10\""));
        assert!(ours.contains("wdk-etw"));
        assert!(!ours.contains("tracelogging"));
        assert!(manifest("peer", 10, Path::new("/images")).contains("tracelogging"));
        assert!(source("peer", 1).contains("use tracelogging::"));
    }
}
