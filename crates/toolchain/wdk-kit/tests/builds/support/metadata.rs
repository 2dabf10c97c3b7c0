//! Finds the sources of windows-sys, and reads the declarations of its kernel-mode parts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::module::Module;

/// The modules with kernel-mode declarations, the more specific first. Each is also a Cargo feature.
const MODULES: [&str; 22] = [
    "Wdk::Foundation",
    "Wdk::System::SystemServices",
    "Wdk::Storage::FileSystem",
    "Wdk::System::IO",
    "Wdk::System::Memory",
    "Wdk::System::Registry",
    "Wdk::System::SystemInformation",
    "Wdk::System::Threading",
    "Win32::Foundation",
    "Win32::Security",
    "Win32::System::Kernel",
    "Win32::System::Power",
    "Win32::System::IO",
    "Win32::System::Diagnostics::Etw",
    "Win32::Storage::FileSystem",
    "Win32::System::SystemServices",
    "Win32::System::SystemInformation",
    "Win32::System::Registry",
    "Win32::System::WindowsProgramming",
    "Win32::System::Ioctl",
    "Win32::Devices::Properties",
    "Win32::System::Threading",
];

/// Microsoft's metadata as windows-sys publishes it.
pub(crate) struct Metadata {
    pub(crate) version: String,
    /// The modules, each with its path in the crate.
    pub(crate) modules: Vec<(&'static str, Module)>,
}

/// Returns the host target of the compiler.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(output.stdout).expect("rustc prints UTF-8");
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// The release of windows-sys that the tests use.
pub(crate) struct Package {
    pub(crate) version: String,
    /// The folder of its sources.
    pub(crate) dir: PathBuf,
}

/// Finds the sources that Cargo downloaded for the tests.
pub(crate) fn package() -> Package {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        // Packages for other platforms may not have been downloaded; with this filter, cargo needs no network.
        .args(["--offline", "--filter-platform", &host()])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let is_wanted_release = |package: &&Value| {
        package["name"] == "windows-sys" && package["version"].as_str().is_some_and(|text| text.starts_with("0.61."))
    };
    let package = metadata["packages"].as_array().unwrap().iter().find(is_wanted_release);
    let package = package.expect("a dependency of the tests");
    let dir = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("src").join("Windows");
    Package { version: package["version"].as_str().unwrap().to_owned(), dir }
}

impl Metadata {
    /// Reads the sources of one processor.
    pub(crate) fn read(processor: &str) -> Self {
        let Package { version, dir } = package();
        let features: BTreeSet<String> = MODULES.iter().copied().map(feature).collect();
        let modules = MODULES.map(|path| {
            let file = dir.join(path.replace("::", "/")).join("mod.rs");
            let text = fs::read_to_string(&file).unwrap();
            (path, Module::parse(&text, |condition| is_wanted(condition, &features, processor)))
        });
        Self { version, modules: modules.into() }
    }

    /// Returns the features that enable the modules.
    pub(crate) fn features() -> Vec<String> {
        MODULES.iter().copied().map(feature).collect()
    }
}

fn feature(module: &str) -> String {
    module.replace("::", "_")
}

/// Whether a declaration exists with these features on this processor.
fn is_wanted(condition: &str, features: &BTreeSet<String>, processor: &str) -> bool {
    let named = condition.split("feature = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let processors: Vec<&str> =
        condition.split("target_arch = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    named.into_iter().all(|name| features.contains(name)) && (processors.is_empty() || processors.contains(&processor))
}
