//! Packages of every shape that drivers come in. Each is written to an empty folder and built as a user would; they share one
//! build of wdk-sys with the WDM driver in `tests/drivers`.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// One build at a time: they share folders, and the machine.
static BUILDING: Mutex<()> = Mutex::new(());

const MODEL: &str = "[package.metadata.wdk.driver-model]\ndriver-type = \"WDM\"\n";
const CDYLIB: &str = "[lib]\ncrate-type = [\"cdylib\"]\ntest = false\n";
const DEPENDENCIES: &str = "[dependencies]\nwdk = \"0.5\"\nwdk-alloc = \"0.4\"\nwdk-panic = \"0.5\"\nwdk-sys = \"0.5\"\n[build-dependencies]\nwdk-build = \"0.6\"\n";
// These and the profile are as in tests/drivers/wdm, so that what is compiled for it is used again.
const PROFILE: &str = "[profile.dev]\npanic = \"abort\"\n[profile.release]\npanic = \"abort\"\nlto = true\n";
const BUILD: &str =
    "fn main() -> Result<(), wdk_build::ConfigError> {\n    wdk_build::configure_wdk_binary_build()\n}\n";
const SOURCE: &str = "#![no_std]\nextern crate wdk_panic;\nuse wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};\n\
    #[unsafe(export_name = \"DriverEntry\")]\n\
    pub unsafe extern \"system\" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS { 0 }\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// An empty folder outside of any workspace. Cargo looks for one in every folder above a package.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("wdk-kit-shapes-{}", std::process::id())).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A driver's package, with `more` in its manifest.
fn package(folder: &Path, name: &str, more: &str) {
    let head = format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(folder.join("Cargo.toml"), &format!("{head}{more}{DEPENDENCIES}"));
    write(folder.join("build.rs"), BUILD);
    write(folder.join("src/lib.rs"), SOURCE);
}

/// The versions of the test drivers, so that nothing is looked up or compiled again.
fn lock(folder: &Path) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers/wdm/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
}

/// Runs `cargo xtask build`; returns whether it succeeded, and what it said.
fn build(arguments: &[&str], manifest: &Path) -> (bool, String) {
    let _one = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["run", "--quiet", "--package", "xtask", "--", "build"])
        .args(arguments)
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Builds and expects these images.
#[track_caller]
fn builds(arguments: &[&str], manifest: &Path, images: &[&str]) {
    let path = |name: &str| repository().join("target/driver/x64").join(name).with_extension("sys");
    for name in images {
        let _ = fs::remove_file(path(name));
    }
    let (success, said) = build(arguments, manifest);
    assert!(success, "{said}");
    assert!(!said.contains("path override"), "{said}");
    for name in images {
        assert!(path(name).is_file(), "{name}: {said}");
    }
}

/// Builds and expects an error with these words in it.
#[track_caller]
fn is_refused(manifest: &Path, words: &[&str]) {
    let (success, said) = build(&[], manifest);
    assert!(!success, "{said}");
    let error = said.rsplit("error: ").next().unwrap_or_default();
    assert!(words.iter().all(|word| error.contains(word)), "{said}");
}

#[test]
fn a_package_without_a_workspace_table_and_with_a_path_with_spaces() {
    let folder = folder("a driver of mine");
    package(&folder, "shape-plain", &format!("{MODEL}{CDYLIB}{PROFILE}"));
    lock(&folder);
    builds(&[], &folder, &["shape_plain"]);
    assert!(!folder.join("target").exists(), "nothing is built in the driver's folder");
}

#[test]
fn members_of_a_workspace_together_and_alone() {
    let folder = folder("workspace");
    let members = "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\", \"tool\"]\n";
    write(
        folder.join("Cargo.toml"),
        &format!("{members}[workspace.metadata.wdk.driver-model]\ndriver-type = \"WDM\"\n{PROFILE}"),
    );
    package(&folder.join("one"), "shape-one", CDYLIB);
    package(&folder.join("two"), "shape-two", CDYLIB);
    write(
        folder.join("tool/Cargo.toml"),
        "[package]\nname = \"shape-tool\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    write(folder.join("tool/src/main.rs"), "fn main() {}\n");
    lock(&folder);
    builds(&[], &folder, &["shape_one", "shape_two"]);
    builds(&["--package", "shape-two"], &folder, &["shape_two"]);
    builds(&[], &folder.join("one"), &["shape_one"]);
    is_refused(&folder.join("tool"), &["shape-tool", "cdylib"]);
}

#[test]
fn a_driver_with_settings_of_its_own() {
    let folder = folder("settings");
    package(&folder, "shape-settings", &format!("[workspace]\n{MODEL}{CDYLIB}{PROFILE}"));
    write(
        folder.join(".cargo/config.toml"),
        "[build]\ntarget-dir = \"elsewhere\"\nrustflags = [\"-Cforce-frame-pointers\"]\n",
    );
    lock(&folder);
    builds(&[], &folder, &["shape_settings"]);
    assert!(!folder.join("elsewhere").exists());
}

#[test]
fn drivers_that_cannot_be_built_are_refused_with_what_to_change() {
    let folder = folder("refused");
    package(&folder.join("a"), "shape-a", &format!("{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("a"), &["shape-a", "[package.metadata.wdk.driver-model]", "Cargo.toml"]);
    let umdf = "[package.metadata.wdk.driver-model]\ndriver-type = \"UMDF\"\numdf-version-major = 2\ntarget-umdf-version-minor = 33\n";
    package(&folder.join("b"), "shape-b", &format!("{umdf}{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("b"), &["shape-b", "UMDF"]);
    let kmdf = "[package.metadata.wdk.driver-model]\ndriver-type = \"KMDF\"\nkmdf-version-major = 1\ntarget-kmdf-version-minor = 9\n";
    package(&folder.join("c"), "shape-c", &format!("{kmdf}{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("c"), &["KMDF 1.9", "1.15", "1.33"]);
    package(&folder.join("d"), "shape-d", &format!("{MODEL}{CDYLIB}{PROFILE}"));
    let broken = SOURCE.replace("{ 0 }", "{ unsafe { wdk_sys::ntddk::KeNoSuchRoutine() }; 0 }");
    write(folder.join("d/src/lib.rs"), &broken);
    lock(&folder.join("d"));
    is_refused(&folder.join("d"), &["`KeNoSuchRoutine`", "README.md"]);
}
