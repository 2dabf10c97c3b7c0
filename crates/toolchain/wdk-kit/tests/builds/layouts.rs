//! Compares the kit's headers with Microsoft's metadata, as windows-sys 0.61 publishes it.
//!
//! Compares every structure, constant and routine that both have: sizes, alignments, offsets of fields at any depth, values,
//! and parameter counts. Sizes depend on the Windows target, so the comparison is a crate of constant assertions that is
//! compiled for that target.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::support::metadata::Metadata;
use crate::support::module::Module;
use test_support::images::{Toolchain, is_without};
use wdk_build::{ApiSubset, BuilderExt, Config, CpuArchitecture, DriverConfig, KmdfConfig};

/// Known errors of the metadata for 64-bit drivers: the beginning of the text of a comparison, and the reason.
const EXCEPTIONS: [(&str, &str); 39] = [
    ("value of DeviceProperty", "the types of the values are added, which only source-code analysis uses"),
    ("size_of DEVICE_OBJECT", "alignment attributes are not in the metadata"),
    ("align_of DEVICE_OBJECT", "alignment attributes are not in the metadata"),
    ("align_of IRP", "alignment attributes are not in the metadata"),
    ("size_of SLIST_ENTRY", "alignment attributes are not in the metadata"),
    ("align_of SLIST_", "alignment attributes are not in the metadata"),
    ("offset of IO_STACK_LOCATION.Parameters.", "nor is the pointer alignment of parameters"),
    ("size_of CM_", "packing to 4 bytes is not in the metadata"),
    ("align_of CM_", "packing to 4 bytes is not in the metadata"),
    ("offset of CM_", "packing to 4 bytes is not in the metadata"),
    ("size_of ERESOURCE", "a field that 64-bit systems add is missing"),
    ("offset of ERESOURCE.Address", "a field that 64-bit systems add is missing"),
    ("offset of ERESOURCE.CreatorBackTraceIndex", "a field that 64-bit systems add is missing"),
    ("offset of ERESOURCE.SpinLock", "a field that 64-bit systems add is missing"),
    ("offset of KTIMER.Period", "two fields that 64-bit systems add are missing"),
    ("size_of PHYSICAL_", "page numbers are those of 32-bit systems"),
    ("align_of PHYSICAL_", "page numbers are those of 32-bit systems"),
    ("offset of PHYSICAL_MEMORY_", "page numbers are those of 32-bit systems"),
    ("size_of OBJECT_ATTRIBUTES32", "a record for 32-bit programs has pointers of this system"),
    ("align_of OBJECT_ATTRIBUTES32", "a record for 32-bit programs has pointers of this system"),
    ("offset of OBJECT_ATTRIBUTES32", "a record for 32-bit programs has pointers of this system"),
    ("size_of SCATTER_GATHER_LIST", "the array at the end has no element in the WDK"),
    ("size_of KFLOATING_SAVE", "the record is that of 32-bit processors"),
    ("value of KERNEL_", "stacks are those of 32-bit systems"),
    ("value of __", "the WDK's headers say otherwise"),
    ("value of WINVER", "the WDK's headers say otherwise"),
    ("value of PRAGMA_DEPRECATED_DDK", "the WDK's headers say otherwise"),
    ("value of FLUSH_MULTIPLE_MAXIMUM", "the WDK's headers say otherwise"),
    ("value of FILE_REGION_USAGE_QUERY_ALIGNMENT", "the WDK's headers say otherwise"),
    ("value of FILE_CHARACTERISTICS_REMOVAL_POLICY_MASK_EX", "the WDK's headers say otherwise"),
    ("value of FILE_ATTRIBUTE_VALID_", "the WDK's headers say otherwise"),
    ("value of DMA_IOMMU_INTERFACE_EX_VERSION", "the WDK's headers say otherwise"),
    ("value of DeviceProperty", "the metadata has the type flags of a static analyser in it"),
    ("value of CLOCK_LEVEL", "IRQLs are those of 32-bit processors"),
    ("value of HIGH_LEVEL", "IRQLs are those of 32-bit processors"),
    ("value of IPI_LEVEL", "IRQLs are those of 32-bit processors"),
    ("value of POWER_LEVEL", "IRQLs are those of 32-bit processors"),
    ("value of KI_USER_SHARED_DATA", "the address is that of 32-bit systems"),
    ("value of PROFILE_LEVEL", "IRQLs are those of 32-bit processors"),
];

/// Assertions for these exceptions, with values from public documents and debuggers.
const KNOWN: &str = "
const _: () = assert!(size_of::<kit::DEVICE_OBJECT>() == 0x150);
const _: () = assert!(size_of::<kit::IRP>() == 0xd0);
const _: () = assert!(size_of::<kit::SLIST_ENTRY>() == 16);
const _: () = assert!(size_of::<kit::ERESOURCE>() == 0x68);
const _: () = assert!(offset_of!(kit::KTIMER, Period) == 0x3c);
const _: () = assert!(size_of::<kit::CM_PARTIAL_RESOURCE_DESCRIPTOR>() == 20);
const _: () = assert!(size_of::<kit::CM_PARTIAL_RESOURCE_LIST>() == 28);
const _: () = assert!(size_of::<kit::CM_RESOURCE_LIST>() == 40);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.DeviceIoControl.InputBufferLength) == 0x10);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.DeviceIoControl.IoControlCode) == 0x18);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.DeviceIoControl.Type3InputBuffer) == 0x20);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.Read.ByteOffset) == 0x18);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.Create.EaLength) == 0x20);
const _: () = assert!(offset_of!(kit::IO_STACK_LOCATION, Parameters.Power.State) == 0x18);
";

/// The parts of wdk-sys.
const SUBSETS: [ApiSubset; 8] = [
    ApiSubset::Base,
    ApiSubset::Wdf,
    ApiSubset::Gpio,
    ApiSubset::Hid,
    ApiSubset::ParallelPorts,
    ApiSubset::Spb,
    ApiSubset::Storage,
    ApiSubset::Usb,
];

fn is_exception(what: &str) -> bool {
    EXCEPTIONS.iter().any(|(start, _)| what.starts_with(start))
}

/// Returns the kit that `cargo xtask build` uses.
fn kit() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit");
    let root = wdk_kit::make(&folder).unwrap();
    wdk_build::kit::choose(&root);
    root
}

fn bindings(architecture: CpuArchitecture, triple: &str) -> String {
    kit();
    let config = Config::for_model(DriverConfig::Kmdf(KmdfConfig::default()), architecture);
    let headers = config.bindgen_header_contents(SUBSETS).unwrap();
    bindgen::Builder::wdk_default(&config)
        .unwrap()
        // A driver's build leaves out these assertions: the layouts in Rust are those in C.
        .layout_tests(true)
        .clang_arg(format!("--target={triple}"))
        .header_contents("kit.h", &headers)
        .formatter(bindgen::Formatter::Prettyplease)
        .generate()
        .unwrap()
        .to_string()
}

/// The kit's declarations for one processor and the metadata that they are compared with.
pub(crate) struct Declarations {
    bindings: String,
    pub(crate) kit: Module,
    metadata: Metadata,
}

impl Declarations {
    fn read(architecture: CpuArchitecture, processor: &str) -> Self {
        let bindings = bindings(architecture, &triple(processor));
        let kit = Module::parse(&bindings, |_| true);
        Self { bindings, kit, metadata: Metadata::read(processor) }
    }
}

/// Three tests need these, and reading them takes long.
pub(crate) static X64: LazyLock<Declarations> = LazyLock::new(|| Declarations::read(CpuArchitecture::Amd64, "x86_64"));

fn triple(processor: &str) -> String {
    format!("{processor}-pc-windows-msvc")
}

/// Returns a crate of assertions, and the number of records, fields and values in it.
fn assertions(kit: &Module, metadata: &Metadata) -> (String, [usize; 3]) {
    let mut text = String::from(KNOWN);
    let mut counts = [0; 3];
    let mut seen = BTreeSet::new();
    let mut assert = |what: String, ours: String, theirs: String| {
        if !is_exception(&what) {
            let _ = writeln!(text, "const _: () = assert!({ours} == {theirs}, {what:?});");
        }
    };
    for (path, theirs) in &metadata.modules {
        for name in theirs.records.keys() {
            let Some(ours) = kit.record(name).filter(|_| seen.insert(name)) else { continue };
            counts[0] += 1;
            for what in ["size_of", "align_of"] {
                let kit = format!("{what}::<kit::{ours}>()");
                let sys = format!("{what}::<windows_sys::{path}::{name}>()");
                assert(format!("{what} {name}"), kit, sys);
            }
            let their_paths = theirs.paths(name);
            for (shown, our_path) in kit.paths(ours) {
                let Some(their_path) = their_paths.get(&shown) else { continue };
                counts[1] += 1;
                assert(
                    format!("offset of {name}.{shown}"),
                    format!("offset_of!(kit::{ours}, {our_path})"),
                    format!("offset_of!(windows_sys::{path}::{name}, {their_path})"),
                );
            }
        }
        for name in theirs.constants.keys() {
            let Some(ours) = kit.constants.get(name).filter(|_| seen.insert(name)) else { continue };
            counts[2] += 1;
            let kit = format!("kit::{ours} as u32");
            let sys = format!("windows_sys::{path}::{name} as u32");
            assert(format!("value of {name}"), kit, sys);
        }
    }
    (text, counts)
}

/// Checks the crate for a target. Returns the output of the compiler if it failed.
fn check(folder: &Path, triple: &str) -> String {
    let toolchain = Toolchain::find_for(triple).unwrap_or_else(|reason| panic!("{reason}"));
    let mut command = toolchain.command("check", "dev", &folder.join("Cargo.toml"), &folder.join("target"));
    let output = command.current_dir(folder).args(["--offline", "--quiet"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { String::new() } else { said }
}

fn compare(processor: &str, declarations: &Declarations) {
    let Declarations { bindings, kit, metadata } = declarations;
    let (text, counts) = assertions(kit, metadata);
    println!("{counts:?} records, fields and values compared");
    assert!(counts[0] > 80, "{counts:?}: the comparison itself is broken");
    assert!(counts[1] > 500, "{counts:?}: the comparison itself is broken");
    assert!(counts[2] > 400, "{counts:?}: the comparison itself is broken");

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/wdk-kit-layouts").join(processor);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[workspace]\n[package]\nname = \"layouts\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies.windows-sys]\nversion = \"={}\"\nfeatures = {:?}\n",
        metadata.version,
        Metadata::features()
    );
    let head = "#![no_std]\n#![allow(warnings, clippy::all)]\nuse core::mem::{align_of, offset_of, size_of};\n\
                mod kit { include!(\"kit.rs\"); }\n";
    for (name, text) in [("Cargo.toml", &manifest), ("src/kit.rs", bindings), ("src/lib.rs", &format!("{head}{text}"))]
    {
        let file = folder.join(name);
        // Cargo checks again what is newer than its last check.
        if !fs::read_to_string(&file).is_ok_and(|old| old == *text) {
            fs::write(file, text).unwrap();
        }
    }
    let errors = check(&folder, &triple(processor));
    let found: Vec<&str> = errors.lines().filter(|line| line.starts_with("error")).collect();
    assert!(errors.is_empty(), "{}\n{errors}", found.join("\n"));
}

/// Returns the routines in the kit's library for hal.dll.
fn routines_of_hal() -> BTreeSet<String> {
    let list = kit().join("Lib").join(wdk_kit::VERSION).join("km/x64/hal.def");
    fs::read_to_string(list).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn x64_layouts_and_values_agree_with_microsofts_metadata() {
    if !is_without(&triple("x86_64")) {
        compare("x86_64", &X64);
    }
}

#[test]
fn arm64_layouts_and_values_agree_with_microsofts_metadata() {
    if !is_without(&triple("aarch64")) {
        compare("aarch64", &Declarations::read(CpuArchitecture::Arm64, "aarch64"));
    }
}

#[test]
fn routines_take_as_many_parameters_as_microsofts_metadata_says() {
    let Declarations { kit, metadata, .. } = &*X64;
    let hal = routines_of_hal();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, (ours, _)) in &kit.routines {
        let theirs = metadata.modules.iter().find_map(|(_, module)| module.routines.get(name));
        let Some((theirs, exporter)) = theirs else { continue };
        compared += 1;
        let ours = ours.len();
        let theirs = theirs.len();
        if ours != theirs {
            wrong.push(format!("{name}: {ours} here, {theirs} there"));
        }
        // The metadata has ntdll.dll or kernel32.dll for routines that exist in both modes.
        let is_of_both = |module: &str| ["ntdll.dll", "kernel32.dll"].contains(&module);
        let theirs = exporter.as_deref().map_or("", |module| if is_of_both(module) { "ntoskrnl.exe" } else { module });
        let ours = if hal.contains(name) { "hal.dll" } else { "ntoskrnl.exe" };
        if ours != theirs {
            wrong.push(format!("{name}: imported from {ours}, exported by {theirs}"));
        }
    }
    println!("{compared} of {} routines compared", kit.routines.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 250, "{compared}: the comparison itself is broken");
}
