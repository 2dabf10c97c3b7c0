//! Drivers in C, compiled by clang against the kit's headers and linked with its libraries.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{repository, sources};

/// The images that this test program uses, by variant. A test waits only for an image that another test is building.
static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());

/// Runs a program, which must succeed, and returns what it prints.
fn run(tool: &str, arguments: &[String]) -> String {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => panic!("{tool}: {error}; `cargo xtask test` sets it up"),
    };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What every driver is built with.
struct Tools {
    /// The folder of the driver kit. It has another name if its contents change.
    kit: PathBuf,
    linker: String,
    /// The linker's first arguments.
    flavor: Vec<String>,
    /// The version of the compiler, and a hash of all source files: an image of others is built again.
    identity: String,
}

/// Returns the tools. The first call finds them.
fn tools() -> &'static Tools {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let (linker, flavor) = linker();
        let identity = format!("{}{:x}", run("clang", &["--version".into()]), hash_of_sources());
        Tools { kit: kit(), linker, flavor, identity }
    })
}

/// Returns the linker and its first arguments: `rust-lld` from the Rust toolchain if it exists, else `lld-link`.
fn linker() -> (String, Vec<String>) {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let sysroot = run(&rustc, &["--print", "sysroot"].map(String::from));
    let own = Path::new(sysroot.trim()).join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    if own.exists() {
        (own.display().to_string(), ["-flavor", "link"].map(String::from).to_vec())
    } else {
        ("lld-link".to_owned(), Vec::new())
    }
}

/// The source file of a driver, as its symbols name it.
#[must_use]
pub fn source(name: &str) -> PathBuf {
    sources().join("c").join(format!("{name}.c"))
}

fn hash_of_sources() -> u64 {
    let mut hasher = DefaultHasher::new();
    for folder in ["c", "layer"] {
        let entries = fs::read_dir(sources().join(folder)).expect("sources");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files {
            (fs::read(&file).expect("a source file"), file).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// The libraries that a KMDF driver is linked with.
pub const FRAMEWORK: [&str; 4] = ["ntoskrnl", "WdfLdr", "WdfDriverEntry", "BufferOverflowFastFailK"];

/// The compiler flag of a driver for KMDF 1.9.
const FOR_1_9: &str = "-DKMDF_VERSION_MINOR=9";

/// Returns the minor version of KMDF that a driver is built for.
fn minor(flags: &[&str]) -> u8 {
    if flags.contains(&FOR_1_9) { 9 } else { 33 }
}

/// Every image for x64 Windows needs unwind tables. clang does not emit them for freestanding code by default.
const UNWIND: &str = "-fasynchronous-unwind-tables";

/// Compiles and links a C driver without optimisation, with `BUG` defined as `bug`. Later calls return the same image, and so do
/// other test programs, until something has changed that the image is made from.
#[must_use]
pub fn build(name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_at("-O0", name, bug, entry, libraries)
}

/// Like [`build`], at an optimisation level such as `-O1`.
#[must_use]
pub fn build_at(level: &str, name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_with(&[level], name, bug, entry, libraries)
}

/// Like [`build`], with these compiler flags in place of `-O0`.
#[must_use]
pub fn build_with(flags: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_as(flags, &[], name, bug, entry, libraries)
}

/// Builds a KMDF driver for version 1.9 in place of 1.33.
#[must_use]
pub fn build_for_1_9(name: &str, bug: u32) -> PathBuf {
    build_with(&["-O0", FOR_1_9], name, bug, "FxDriverEntry", &FRAMEWORK)
}

/// Like [`build`], with more arguments for the linker.
#[must_use]
pub fn build_linked(more: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    build_as(&["-O0"], more, name, bug, entry, libraries)
}

fn build_as(flags: &[&str], more: &[&str], name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    let mut variant = format!("{name}_{bug}");
    if flags != ["-O0"] {
        variant += &flags.concat();
    }
    variant += &more.concat().replace(['/', ':', '.', ','], "-");
    let built = BUILT.lock().unwrap_or_else(PoisonError::into_inner).entry(variant.clone()).or_default().clone();
    built.get_or_init(|| build_unless_built((flags, more), name, bug, &variant, entry, libraries)).clone()
}

/// The folder of the driver kit, which `cargo xtask build` also uses.
fn kit() -> PathBuf {
    let folder = repository().join("target/driver/kit");
    wdk_kit::make(&folder).unwrap_or_else(|error| panic!("{error}; `cargo xtask test` sets up what it needs"))
}

/// The folder for the images, which all test programs share. They may run at the same time, so each holds a lock of its own for each
/// image while it builds that.
fn folder() -> PathBuf {
    let folder = repository().join("target/built/c-drivers");
    fs::create_dir_all(&folder).expect("a folder for the driver");
    folder
}

/// Returns the arguments that compile a source file to an object.
fn compiler_arguments(flags: &[&str], name: &str, bug: u32, object: &Path) -> Vec<String> {
    let kit = &tools().kit;
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
    compile.push(source(name).display().to_string());
    compile.extend(["-o".into(), object.display().to_string()]);
    compile
}

fn build_unless_built(
    (flags, more): (&[&str], &[&str]),
    name: &str,
    bug: u32,
    variant: &str,
    entry: &str,
    libraries: &[&str],
) -> PathBuf {
    let Tools { kit, linker, flavor, identity } = tools();
    let folder = folder();
    let versioned = wdk_kit::VERSION;
    let object = folder.join(format!("{variant}.obj"));
    let image = folder.join(format!("c_{variant}.sys"));
    let compile = compiler_arguments(flags, name, bug, &object);
    let mut link = flavor.clone();
    link.extend(
        ["/driver", "/subsystem:native", "/nodefaultlib", "/debug", "/dynamicbase", "/integritycheck"]
            .map(String::from),
    );
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
    let inputs = format!("{identity}\nclang {}\n{linker} {}\n", compile.join(" "), link.join(" "));
    let record = image.with_extension("inputs");
    let lock = File::create(image.with_extension("lock")).expect("a file to lock");
    lock.lock().expect("the lock of an image");
    // A test may remove the symbols of its own image.
    let is_there = image.is_file() && image.with_extension("pdb").is_file();
    if is_there && fs::read_to_string(&record).is_ok_and(|old| old == inputs) {
        return image;
    }
    // An image that is not finished has no record.
    let _ = fs::remove_file(&record);
    run("clang", &compile);
    run(linker, &link);
    fs::write(&record, inputs).expect("the record of what the image is made from");
    image
}
