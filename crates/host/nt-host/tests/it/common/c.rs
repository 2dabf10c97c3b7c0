//! Drivers in C, compiled by clang against the kit's headers and linked with its libraries.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use nt_host::{Builder, NtHost};

/// The images that this test program has built, by variant.
static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

fn run(tool: &str, arguments: &[String]) {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => panic!("{tool}: {error}; `cargo xtask test` sets it up"),
    };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the linker and its first arguments: `rust-lld` from the Rust toolchain if it exists, else `lld-link`.
fn linker() -> (String, Vec<String>) {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let sysroot = Command::new(rustc).args(["--print", "sysroot"]).output().expect("a compiler");
    let sysroot = String::from_utf8_lossy(&sysroot.stdout);
    let own = Path::new(sysroot.trim()).join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    if own.exists() {
        (own.display().to_string(), ["-flavor", "link"].map(String::from).to_vec())
    } else {
        ("lld-link".to_owned(), Vec::new())
    }
}

/// The libraries that a KMDF driver is linked with.
pub(crate) const FRAMEWORK: [&str; 4] = ["ntoskrnl", "WdfLdr", "WdfDriverEntry", "BufferOverflowFastFailK"];

/// The compiler flag of a driver for KMDF 1.9.
const FOR_1_9: &str = "-DKMDF_VERSION_MINOR=9";

/// Returns the minor version of KMDF that a driver is built for.
fn minor(flags: &[&str]) -> u8 {
    if flags.contains(&FOR_1_9) { 9 } else { 33 }
}

/// Every image for x64 Windows needs unwind tables. clang does not emit them for freestanding code by default.
const UNWIND: &str = "-fasynchronous-unwind-tables";

/// Compiles and links a C driver without optimisation, with `BUG` defined as `bug`. Later calls return the same image.
pub(crate) fn build(name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_at("-O0", name, bug, entry, libraries)
}

/// Like [`build`], at an optimisation level such as `-O1`.
pub(crate) fn build_at(level: &str, name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_with(&[level], name, bug, entry, libraries)
}

/// Like [`build`], with these compiler flags in place of `-O0`.
pub(crate) fn build_with(flags: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_as(flags, &[], name, bug, entry, libraries)
}

/// Builds a KMDF driver for version 1.9 in place of 1.33.
pub(crate) fn build_for_1_9(name: &str, bug: u32) -> PathBuf {
    build_with(&["-O0", FOR_1_9], name, bug, "FxDriverEntry", &FRAMEWORK)
}

/// Like [`build`], with more arguments for the linker.
pub(crate) fn build_linked(more: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_as(&["-O0"], more, name, bug, entry, libraries)
}

fn build_as(flags: &[&str], more: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    let mut variant = format!("{name}_{bug}");
    if flags != ["-O0"] {
        variant += &flags.concat();
    }
    variant += &more.concat().replace(['/', ':', '.', ','], "-");
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let make = || build_now((flags, more), name, bug, &variant, entry, libraries);
    built.entry(variant.clone()).or_insert_with(make).clone()
}

/// Creates an empty folder for the files of a test.
pub(crate) fn temporary(name: &str) -> PathBuf {
    let folder = folder().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The folder of the driver kit, which `cargo xtask build` also uses.
fn kit() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit");
    wdk_kit::make(&folder).unwrap_or_else(|error| panic!("{error}; `cargo xtask test` sets up what it needs"))
}

/// The folder for the images of this test program. Test programs may run at the same time, so each has its own. The tests
/// of one program share its images.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{}", env!("CARGO_CRATE_NAME")));
    std::fs::create_dir_all(&folder).expect("a folder for the driver");
    folder
}

/// Compiles a source file to an object.
fn compile(flags: &[&str], name: &str, bug: u32, object: &Path) {
    let kit = kit();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let versioned = wdk_kit::VERSION;
    let include = |part: &str| format!("-I{}", kit.join("Include").join(part).display());
    let mut compile: Vec<String> =
        ["--target=x86_64-pc-windows-msvc", "-D_AMD64_", "-c", "-g", "-gcodeview", "-ffreestanding", UNWIND]
            .map(String::from)
            .to_vec();
    compile.extend(flags.iter().copied().map(String::from));
    compile.extend(["-fms-extensions", "-fno-stack-protector", "-mno-red-zone", "-Wall", "-Werror"].map(String::from));
    compile.extend(["-Wno-multichar", "-DKMDF_VERSION_MAJOR=1"].map(String::from));
    let minor = minor(flags);
    compile.push(format!("-DKMDF_VERSION_MINOR={minor}"));
    compile.extend(
        [format!("{versioned}/km"), format!("{versioned}/shared"), format!("wdf/kmdf/1.{minor}")]
            .map(|part| include(&part)),
    );
    compile.push(format!("-DBUG={bug}"));
    compile.push(here.join("drivers/c").join(format!("{name}.c")).display().to_string());
    compile.extend(["-o".into(), object.display().to_string()]);
    run("clang", &compile);
}

fn build_now(
    (flags, more): (&[&str], &[&str]),
    name: &str,
    bug: u32,
    variant: &str,
    entry: &str,
    libraries: &[&str],
) -> PathBuf {
    let (kit, folder, versioned) = (kit(), folder(), wdk_kit::VERSION);
    let (object, image) = (folder.join(format!("{variant}.obj")), folder.join(format!("c_{variant}.sys")));
    compile(flags, name, bug, &object);
    let mut link: Vec<String> =
        ["/driver", "/subsystem:native", "/nodefaultlib", "/debug", "/dynamicbase", "/integritycheck"]
            .map(String::from)
            .to_vec();
    // As in the WDK: the INIT section is discardable and is freed after initialisation.
    link.push("/section:INIT,ERD".into());
    link.extend(more.iter().copied().map(String::from));
    link.push(format!("/entry:{entry}"));
    link.push(format!("/out:{}", image.display()));
    link.push(object.display().to_string());
    let folders =
        [kit.join("Lib").join(versioned).join("km/x64"), kit.join(format!("Lib/wdf/kmdf/x64/1.{}", minor(flags)))];
    link.extend(folders.iter().map(|folder| format!("/libpath:{}", folder.display())));
    link.extend(libraries.iter().map(|library| format!("{library}.lib")));
    let (linker, flavor) = linker();
    run(&linker, &[flavor, link].concat());
    image
}

/// A builder of a host for a KMDF driver.
pub(crate) fn framework(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "FxDriverEntry", &FRAMEWORK))
}

/// A builder of a host for a WDM driver.
pub(crate) fn plain(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "DriverEntry", &["ntoskrnl"]))
}

/// A driver's debug output. Each call of `lines` returns the lines since the last call.
#[derive(Default)]
pub(crate) struct Log {
    read: usize,
}

impl Log {
    pub(crate) fn lines(&mut self, host: &NtHost) -> Vec<String> {
        let output = host.report().output().to_owned();
        let new = output.get(self.read..).unwrap_or_default().lines().map(str::to_owned).collect();
        self.read = output.len();
        new
    }
}
