//! Builds packages and workspaces with different structures. Each is written to an empty folder and built as a user does. They
//! share one build of wdk-sys with the WDM driver in `tests/drivers` of wdk-kit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use object::Object;

/// Allows one build at a time, because builds share folders and the machine.
static BUILDING: Mutex<()> = Mutex::new(());

pub(crate) const MODEL: &str = "[package.metadata.wdk.driver-model]\ndriver-type = \"WDM\"\n";
pub(crate) const CDYLIB: &str = "[lib]\ncrate-type = [\"cdylib\"]\ntest = false\n";
const DEPENDENCIES: &str = "[dependencies]\nwdk = \"0.5\"\nwdk-alloc = \"0.4\"\nwdk-panic = \"0.5\"\nwdk-sys = \"0.5\"\n[build-dependencies]\nwdk-build = \"0.6\"\n";
// The dependencies and the profile are those of wdk-kit's tests/drivers/wdm, so that its compiled dependencies are used again.
pub(crate) const PROFILE: &str = "[profile.dev]\npanic = \"abort\"\n[profile.release]\npanic = \"abort\"\nlto = true\n";
const BUILD: &str =
    "fn main() -> Result<(), wdk_build::ConfigError> {\n    wdk_build::configure_wdk_binary_build()\n}\n";
const SOURCE: &str = "#![no_std]\nextern crate wdk_panic;\nuse wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};\n\
    #[unsafe(export_name = \"DriverEntry\")]\n\
    pub unsafe extern \"system\" fn driver_entry(_: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS { 0 }\n";

/// A driver without Microsoft's crates, which needs only the compiler. Like some real drivers, it links a user-mode
/// library without calling it.
const PLAIN_BUILD: &str = "fn main() {\n    for argument in [\"/DRIVER\", \"/NODEFAULTLIB\", \"/SUBSYSTEM:NATIVE\", \"/ENTRY:DriverEntry\"] {\n\
    println!(\"cargo::rustc-cdylib-link-arg={argument}\");\n    }\n    more();\n}\n";
const PLAIN_SOURCE: &str = "#![no_std]\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n\
    #[link(name = \"ntoskrnl\")]\nunsafe extern \"system\" { fn PsGetCurrentProcessId() -> isize; }\n\
    #[link(name = \"kernel32\")]\nunsafe extern \"system\" {}\n\
    #[unsafe(no_mangle)]\npub extern \"system\" fn DriverEntry(_: *mut u8, _: *mut u8) -> i32 {\n\
    (unsafe { PsGetCurrentProcessId() } == 0).into()\n}\n";

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Creates an empty folder outside of any workspace. Cargo looks for a workspace in every folder above a package.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("driver-build-shapes-{}", std::process::id())).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes the package of a driver, with `more` in its manifest.
pub(crate) fn package(folder: &Path, name: &str, more: &str) {
    let head = format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(folder.join("Cargo.toml"), &format!("{head}{more}{DEPENDENCIES}"));
    write(folder.join("build.rs"), BUILD);
    write(folder.join("src/lib.rs"), SOURCE);
}

/// Writes a driver that needs only the compiler. Its build script contains `script`, and its source starts with `source`.
pub(crate) fn plain(name: &str, script: &str, source: &str) -> PathBuf {
    let folder = folder(name);
    let head = format!("[workspace]\n[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(folder.join("Cargo.toml"), &format!("{head}{CDYLIB}{PROFILE}"));
    write(folder.join("build.rs"), &format!("{PLAIN_BUILD}fn more() {{\n{script}\n}}\n"));
    write(folder.join("src/lib.rs"), &format!("{source}{PLAIN_SOURCE}"));
    folder
}

/// Returns the output of rustup, or an empty text if there is no rustup.
fn rustup(arguments: &[&str]) -> String {
    let output = Command::new("rustup").args(arguments).env_remove("RUSTUP_TOOLCHAIN").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Copies the lock file of the test drivers, so that no other versions are downloaded or compiled.
pub(crate) fn lock(folder: &Path) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wdk-kit/tests/drivers/wdm/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
}

/// Runs `cargo xtask build`. Returns whether it succeeded, and its output.
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
pub(crate) fn builds(arguments: &[&str], manifest: &Path, images: &[&str]) {
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

/// Builds and expects an error that contains these words.
#[track_caller]
pub(crate) fn is_refused(manifest: &Path, words: &[&str]) {
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
fn a_member_with_settings_of_its_own() {
    let folder = plain("shape-member", "", "");
    let member = folder.join("driver");
    for name in ["build.rs", "src"] {
        fs::create_dir_all(&member).unwrap();
        fs::rename(folder.join(name), member.join(name)).unwrap();
    }
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    // Cargo ignores the profile of a member, so only the flags set `panic = "abort"`.
    write(member.join("Cargo.toml"), &manifest.replace("[workspace]\n", ""));
    write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"driver\"]\n");
    write(
        member.join(".cargo/config.toml"),
        "[build]\ntarget = \"x86_64-pc-windows-msvc\"\nrustflags = [\"-Cpanic=abort\"]\n",
    );
    builds(&[], &member, &["shape_member"]);
    builds(&[], &folder, &["shape_member"]);
    fs::remove_dir_all(member.join(".cargo")).unwrap();
    is_refused(&folder, &["the driver unwinds", "panic = \"abort\""]);
}

#[test]
fn a_driver_that_says_nothing_about_linking() {
    let folder = plain("shape-entry", "", "");
    fs::remove_file(folder.join("build.rs")).unwrap();
    builds(&[], &folder, &["shape_entry"]);
    let image = fs::read(repository().join("target/driver/x64/shape_entry.sys")).unwrap();
    let header = u32::from_le_bytes(image[0x3c..0x40].try_into().unwrap()) as usize;
    let subsystem = u16::from_le_bytes(image[header + 0x5c..header + 0x5e].try_into().unwrap());
    assert_eq!(subsystem, 1, "a driver's subsystem is the native one");
    let source = PLAIN_SOURCE.replace("DriverEntry", "Start");
    write(folder.join("src/lib.rs"), &source);
    is_refused(&folder, &["has no `DriverEntry`", "export_name"]);
}

/// Returns whether an image has code that was inlined from a function of this name, according to its debug information.
fn inlines(path: &Path, name: &str) -> bool {
    let image = pe_image::Image::parse(&fs::read(path).unwrap()).unwrap();
    let symbols = pe_image::Symbols::beside(path, &image);
    let code = image.sections.iter().find(|section| section.is_executable()).unwrap();
    let is_named = |function: Option<&str>| function.is_some_and(|function| function.ends_with(&format!("::{name}")));
    let mut places = (code.rva..).take(code.virtual_size as usize);
    places.any(|at| symbols.frames(at).iter().any(|frame| frame.is_inlined && is_named(frame.function.as_deref())))
}

#[test]
fn lines_and_inlined_calls_are_kept_whatever_the_profile_says() {
    let folder = plain("shape-stripped", "", "");
    let inlined = "#[inline(always)]\nfn inner(id: isize) -> i32 { i32::from(core::hint::black_box(id) == 0) }\n";
    let call = "inner(unsafe { PsGetCurrentProcessId() })";
    let source = PLAIN_SOURCE.replace("(unsafe { PsGetCurrentProcessId() } == 0).into()", call);
    assert!(source.contains(call));
    write(folder.join("src/lib.rs"), &(source + inlined));
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let profile = "strip = true\ndebug = false\ncodegen-units = 1\n[profile.release.package.\"*\"]\ndebug = false\n";
    let small = "[profile.dev]\npanic = \"abort\"\ndebug = false\nopt-level = 1\n";
    write(manifest, &(text.replace("[profile.dev]\npanic = \"abort\"\n", small) + profile));
    for arguments in [&["--debug"][..], &[]] {
        builds(arguments, &folder, &["shape_stripped"]);
        assert!(inlines(&repository().join("target/driver/x64/shape_stripped.sys"), "inner"), "{arguments:?}");
    }
    let symbols = fs::read(repository().join("target/driver/x64/shape_stripped.pdb")).unwrap();
    // A PDB contains the name of a source file only if it has lines of that file.
    let source = folder.join("src/lib.rs").canonicalize().unwrap();
    let name = source.to_str().unwrap().as_bytes();
    assert!(symbols.windows(name.len()).any(|part| part == name), "no lines of {}", source.display());
}

#[test]
fn a_driver_is_built_with_a_wdk_in_packages_of_nuget() {
    let kit = wdk_kit::make(&repository().join("target/driver/kit")).unwrap();
    // What is built with another WDK is kept apart. The same folder in every run: cargo builds again what is newer.
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wdk-kit-nuget");
    let packages = all.join(kit.file_name().unwrap());
    if !packages.is_dir() {
        let _ = fs::remove_dir_all(&all);
        let incomplete = all.join("incomplete");
        for name in ["Include", "Lib"] {
            shout(&kit.join(name), &incomplete.join("Microsoft.Windows.WDK.x64.10.0.26100.1/c").join(name));
        }
        fs::rename(incomplete, &packages).unwrap();
    }
    // The library that the build links with is in the folder of the packages.
    let check = "let library = std::env::var(\"LIB\").unwrap() + \"/ntoskrnl.lib\";\n\
                 let library = std::fs::canonicalize(library).unwrap();\n\
                 assert!(library.to_str().unwrap().contains(\"Microsoft.Windows.WDK\"), \"{library:?}\");";
    let driver = plain("shape-wdk", check, "");
    builds(&["--wdk", packages.to_str().unwrap()], &driver, &["shape_wdk"]);
    // Microsoft's crates also read the headers of this WDK.
    let driver = folder("wdk-sys");
    package(&driver, "shape-wdk-sys", &format!("[workspace]\n{MODEL}{CDYLIB}{PROFILE}"));
    lock(&driver);
    builds(&["--wdk", packages.to_str().unwrap()], &driver, &["shape_wdk_sys"]);
}

/// Copies a folder and changes the names of its files to upper case. On Windows, case does not matter.
fn shout(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            shout(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name.to_ascii_uppercase())).unwrap();
        }
    }
}

#[test]
fn libraries_besides_the_kernels_and_instructions_that_are_functions() {
    let more = "unsafe extern \"system\" { fn AuxKlibQueryModuleInformation(a: *mut u32, b: u32, c: *mut u8) -> i32; }\n\
                unsafe extern \"system\" { fn __writemsr(register: u32, value: u64); fn PsGetCurrentThread() -> isize; }\n\
                #[unsafe(no_mangle)]\npub unsafe extern \"system\" fn more(a: *mut u32) -> i32 {\n\
                unsafe { __writemsr(0x10, PsGetCurrentThread() as u64); AuxKlibQueryModuleInformation(a, 8, a.cast()) }\n}\n";
    let folder = plain("shape-libraries", "println!(\"cargo::rustc-link-lib=aux_klib\");", "");
    write(folder.join("src/lib.rs"), &format!("{PLAIN_SOURCE}{more}"));
    builds(&[], &folder, &["shape_libraries"]);
    let image = fs::read(repository().join("target/driver/x64/shape_libraries.sys")).unwrap();
    let file = object::read::pe::PeFile64::parse(&*image).unwrap();
    let imports: Vec<Vec<u8>> = file.imports().unwrap().iter().map(|import| import.name().to_vec()).collect();
    let has = |name: &str| imports.iter().any(|import| import == name.as_bytes());
    assert!(has("PsGetCurrentThread"), "{imports:?}");
    assert!(has("ZwQuerySystemInformation"), "{imports:?}");
    assert!(has("ExAllocatePool2"), "{imports:?}");
    // Only the parts of the auxiliary library that the driver uses are linked.
    assert!(!has("KiBugCheckData"), "{imports:?}");
    assert!(!has("ExGetSystemFirmwareTable"), "{imports:?}");
    assert!(!has("__writemsr"), "{imports:?}");
}

#[test]
fn a_folder_without_a_driver_is_refused_with_what_to_do() {
    let folder = plain("shape-below", "", "");
    let below = folder.join("drivers/one");
    fs::create_dir_all(&below).unwrap();
    for name in ["Cargo.toml", "build.rs", "src"] {
        fs::rename(folder.join(name), below.join(name)).unwrap();
    }
    is_refused(&folder, &["Cargo.toml", "--manifest-path", "cargo driver new"]);
    write(folder.join("Cargo.toml"), "[workspace]\nresolver = \"3\"\nmembers = [\"tool\"]\n");
    write(
        folder.join("tool/Cargo.toml"),
        "[package]\nname = \"shape-other\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    write(folder.join("tool/src/main.rs"), "fn main() {}\n");
    is_refused(&folder, &["has no driver"]);
}

#[test]
fn drivers_that_cannot_be_built_are_refused_with_what_to_change() {
    let folder = folder("refused");
    package(&folder.join("a"), "shape-a", &format!("{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("a"), &["shape-a", "[package.metadata.wdk.driver-model]", "Cargo.toml"]);
    let umdf = "[package.metadata.wdk.driver-model]\ndriver-type = \"UMDF\"\numdf-version-major = 2\ntarget-umdf-version-minor = 33\n";
    package(&folder.join("b"), "shape-b", &format!("{umdf}{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("b"), &["shape-b", "UMDF"]);
    let kmdf = "[package.metadata.wdk.driver-model]\ndriver-type = \"KMDF\"\nkmdf-version-major = 1\ntarget-kmdf-version-minor = 11\n";
    package(&folder.join("c"), "shape-c", &format!("{kmdf}{CDYLIB}{PROFILE}"));
    is_refused(&folder.join("c"), &["KMDF 1.11", "1.9", "1.15", "1.33"]);
    package(&folder.join("d"), "shape-d", &format!("{MODEL}{CDYLIB}{PROFILE}"));
    let broken = SOURCE.replace("{ 0 }", "{ unsafe { wdk_sys::ntddk::KeNoSuchRoutine() }; 0 }");
    write(folder.join("d/src/lib.rs"), &broken);
    lock(&folder.join("d"));
    is_refused(&folder.join("d"), &["`KeNoSuchRoutine`", "headers = [\"FILE.h\"]"]);
}

#[test]
fn a_toolchain_file_is_honoured() {
    let none = plain("shape-no-toolchain", "", "");
    write(none.join("rust-toolchain.toml"), "[toolchain]\nchannel = \"wdk-kit-has-no-such\"\n");
    if rustup(&["--version"]).is_empty() {
        println!("skipped: there is no rustup");
        return;
    }
    is_refused(&none, &["toolchain", "wdk-kit-has-no-such", "shape-no-toolchain"]);

    let active = rustup(&["show", "active-toolchain"]);
    let list = rustup(&["toolchain", "list"]);
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let has_target = |name: &&str| {
        let root = rustup(&["run", name, "rustc", "--print", "sysroot"]);
        Path::new(root.trim()).join("lib/rustlib/x86_64-pc-windows-msvc").is_dir()
    };
    // Releases by number can be too old for edition 2024.
    let other = names.filter(|name| !active.starts_with(name) && !name.starts_with("1.")).find(has_target);
    let Some(other) = other else {
        println!("skipped: no second toolchain compiles for Windows");
        return;
    };
    let script = format!("assert_eq!(std::env::var(\"RUSTUP_TOOLCHAIN\").as_deref(), Ok({other:?}));");
    let folder = plain("shape-toolchain", &script, "");
    write(folder.join("rust-toolchain.toml"), &format!("[toolchain]\nchannel = {other:?}\n"));
    builds(&[], &folder, &["shape_toolchain"]);
}

#[test]
fn unstable_features_are_enabled_or_named() {
    let unstable = "#![feature(core_intrinsics)]\n#![allow(internal_features)]\n";
    let folder = plain("shape-unstable", "", unstable);
    builds(&[], &folder, &["shape_unstable"]);
    let folder = plain("shape-unknown", "", "#![feature(wdk_kit_knows_no_such)]\n");
    is_refused(&folder, &["unstable feature", "rust-toolchain.toml"]);
}

#[test]
fn programs_of_microsofts_that_build_scripts_run() {
    let run = |program: &str| {
        let call = format!("std::process::Command::new({program:?}).arg(\"/?\").status().unwrap()");
        format!("if !{call}.success() {{ panic!(\"it failed\"); }}")
    };
    let folder = plain("shape-mc", &run("mc.exe"), "");
    is_refused(&folder, &["runs mc.exe, the message compiler", "the crate etw-manifest", "cfg!(windows)"]);
    let folder = plain("shape-rc", &run("rc"), "");
    if Command::new("llvm-rc").arg("/?").output().is_ok() {
        builds(&[], &folder, &["shape_rc"]);
    } else {
        is_refused(&folder, &["runs rc, the resource compiler", "llvm-rc"]);
    }
}

/// Cargo keeps in `target` what rustc says about the flags, also that a stable one rejects them.
#[test]
fn unstable_flags_work_again_when_cargo_has_a_target_folder() {
    let folder = plain("unstable-flags", "", "");
    write(folder.join(".cargo/config.toml"), "[target.x86_64-pc-windows-msvc]\nrustflags = [\"-Zemit-stack-sizes\"]\n");
    fs::create_dir(folder.join("target")).unwrap();
    for _ in 0..2 {
        builds(&[], &folder, &["unstable_flags"]);
    }
}
