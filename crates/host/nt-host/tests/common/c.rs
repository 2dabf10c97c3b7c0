//! Drivers in C, compiled by clang against the kit's headers and linked with its libraries.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use nt_host::{Builder, NtHost};

/// What this program has built.
static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

fn run(tool: &str, arguments: &[String]) {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => panic!("{tool}: {error}; `cargo xtask test` sets it up"),
    };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The linker that comes with Rust, as set-up prefers it, else LLVM's; and the words that it wants first.
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

/// What a driver of the framework is linked with.
pub(crate) const FRAMEWORK: [&str; 4] = ["ntoskrnl", "WdfLdr", "WdfDriverEntry", "BufferOverflowFastFailK"];

/// Freestanding code has no unwind tables unless they are asked for, and every image for x64 Windows needs them.
const UNWIND: &str = "-fasynchronous-unwind-tables";

/// Compiles and links one of the C drivers, unoptimised, the first time that it is asked for.
pub(crate) fn build(name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_at("-O0", name, bug, entry, libraries)
}

/// The same at a level of optimisation.
pub(crate) fn build_at(level: &str, name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_with(&[level], name, bug, entry, libraries)
}

/// The same with any flags for the compiler.
pub(crate) fn build_with(flags: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_as(flags, &[], name, bug, entry, libraries)
}

/// Unoptimised, with more arguments for the linker.
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

/// The driver kit, the same that `cargo xtask build` uses.
fn kit() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit");
    wdk_kit::make(&folder).unwrap_or_else(|error| panic!("{error}; `cargo xtask test` sets up what it needs"))
}

fn build_now(
    (flags, more): (&[&str], &[&str]),
    name: &str,
    bug: u32,
    variant: &str,
    entry: &str,
    libraries: &[&str],
) -> PathBuf {
    let kit = kit();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Test programs may run at the same time, so that each has a folder of its own; its tests share what is built there.
    let folder = folder.join(format!("c-{}", env!("CARGO_CRATE_NAME")));
    std::fs::create_dir_all(&folder).expect("a folder for the driver");
    let (object, image) = (folder.join(format!("{variant}.obj")), folder.join(format!("c_{variant}.sys")));
    let versioned = wdk_kit::VERSION;
    let include = |part: &str| format!("-I{}", kit.join("Include").join(part).display());
    let mut compile: Vec<String> =
        ["--target=x86_64-pc-windows-msvc", "-D_AMD64_", "-c", "-g", "-gcodeview", "-ffreestanding", UNWIND]
            .map(String::from)
            .to_vec();
    compile.extend(flags.iter().copied().map(String::from));
    compile.extend(["-fms-extensions", "-fno-stack-protector", "-mno-red-zone", "-Wall", "-Werror"].map(String::from));
    compile.extend(["-Wno-multichar", "-DKMDF_VERSION_MAJOR=1", "-DKMDF_VERSION_MINOR=33"].map(String::from));
    compile.extend(
        [format!("{versioned}/km"), format!("{versioned}/shared"), "wdf/kmdf/1.33".into()].map(|part| include(&part)),
    );
    compile.push(format!("-DBUG={bug}"));
    compile.push(here.join("drivers/c").join(format!("{name}.c")).display().to_string());
    compile.extend(["-o".into(), object.display().to_string()]);
    run("clang", &compile);
    let mut link: Vec<String> =
        ["/driver", "/subsystem:native", "/nodefaultlib", "/debug", "/dynamicbase"].map(String::from).to_vec();
    // As the WDK links: what is for initialisation only goes away afterwards.
    link.push("/section:INIT,ERD".into());
    link.extend(more.iter().copied().map(String::from));
    link.push(format!("/entry:{entry}"));
    link.push(format!("/out:{}", image.display()));
    link.push(object.display().to_string());
    let folders = [kit.join("Lib").join(versioned).join("km/x64"), kit.join("Lib/wdf/kmdf/x64/1.33")];
    link.extend(folders.iter().map(|folder| format!("/libpath:{}", folder.display())));
    link.extend(libraries.iter().map(|library| format!("{library}.lib")));
    let (linker, flavor) = linker();
    run(&linker, &[flavor, link].concat());
    image
}

/// A host for a driver of the framework.
pub(crate) fn framework(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "FxDriverEntry", &FRAMEWORK))
}

/// A host for a driver without the framework.
pub(crate) fn plain(name: &str) -> Builder {
    NtHost::builder().driver(build(name, 0, "DriverEntry", &["ntoskrnl"]))
}

/// The lines that a driver wrote since the last call.
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
