//! Builds the test drivers as a user does, and checks their images.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use object::LittleEndian as LE;
use object::pe;
use object::read::pe::{ImageNtHeaders, ImageOptionalHeader, PeFile64};
use object::{Object, ObjectSection, SectionFlags};
use test_support::images::is_without;

/// Allows one build at a time, because builds share folders and the machine.
static BUILDING: Mutex<()> = Mutex::new(());

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Runs `cargo xtask build`. Returns whether it succeeded, and its output.
fn xtask_build(manifest: &Path, arch: &str) -> (bool, String) {
    let _one = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let output = Command::new(env!("CARGO"))
        .current_dir(repository())
        .args(["run", "--quiet", "--package", "xtask", "--", "build", "--arch", arch, "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Builds the drivers of one workspace and returns the image of one of them.
fn image(workspace: &str, name: &str, arch: &str) -> Vec<u8> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(workspace).join("Cargo.toml");
    let lock = manifest.with_file_name("Cargo.lock");
    let before = fs::read(&lock).unwrap();
    let (success, said) = xtask_build(&manifest, arch);
    assert!(success, "{said}");
    assert_eq!(fs::read(&lock).unwrap(), before, "the committed lock file stays as it is");
    fs::read(repository().join("target/driver").join(arch).join(name).with_extension("sys")).unwrap()
}

/// Returns the imported names of each module, by the name of the module in lower case.
fn imports(file: &PeFile64<'_>) -> BTreeMap<String, Vec<String>> {
    let mut modules = BTreeMap::<_, Vec<String>>::new();
    for import in file.imports().unwrap() {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        modules.entry(text(import.library()).to_lowercase()).or_default().push(text(import.name()));
    }
    modules
}

/// Checks the properties that every driver must have.
fn check(bytes: &[u8], arch: &str, allowed: &[&str]) {
    let file = PeFile64::parse(bytes).unwrap();
    let nt = file.nt_headers();
    let header = nt.optional_header();
    let machine = if arch == "x64" { pe::IMAGE_FILE_MACHINE_AMD64 } else { pe::IMAGE_FILE_MACHINE_ARM64 };
    assert_eq!(nt.file_header().machine.get(LE), machine);
    assert_eq!(header.subsystem(), pe::IMAGE_SUBSYSTEM_NATIVE);
    assert_ne!(header.check_sum(), 0);
    assert_eq!(header.section_alignment() % 0x1000, 0);
    for flag in [
        pe::IMAGE_DLLCHARACTERISTICS_DYNAMIC_BASE,
        pe::IMAGE_DLLCHARACTERISTICS_NX_COMPAT,
        pe::IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY,
    ] {
        assert_ne!(header.dll_characteristics() & flag, 0, "{flag:#x}");
    }
    assert_eq!(nt.file_header().characteristics.get(LE) & pe::IMAGE_FILE_RELOCS_STRIPPED, 0);
    let directory = |index| file.data_directory(index).map_or(0, |directory| directory.size.get(LE));
    assert_ne!(directory(pe::IMAGE_DIRECTORY_ENTRY_BASERELOC), 0, "relocations");
    for absent in [
        pe::IMAGE_DIRECTORY_ENTRY_TLS,
        pe::IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT,
        pe::IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR,
    ] {
        assert_eq!(directory(absent), 0, "directory {absent}");
    }

    let base = header.image_base();
    let entry = base + u64::from(header.address_of_entry_point());
    let import_table =
        base + u64::from(file.data_directory(pe::IMAGE_DIRECTORY_ENTRY_IAT).unwrap().virtual_address.get(LE));
    for section in file.sections() {
        let SectionFlags::Coff { characteristics } = section.flags() else { panic!("not a COFF section") };
        let is = |right| characteristics & right != 0;
        let write = is(pe::IMAGE_SCN_MEM_WRITE);
        let execute = is(pe::IMAGE_SCN_MEM_EXECUTE);
        assert!(!(write && execute), "{:?} is writable and executable", section.name());
        let holds = |address: u64| (section.address()..section.address() + section.size()).contains(&address);
        assert!(!holds(entry) || execute, "the entry point is code");
        assert!(!holds(import_table) || !execute, "imports are not code");
    }
    let modules = imports(&file);
    assert!(modules.keys().all(|module| allowed.contains(&module.as_str())), "{modules:?}");
}

/// Returns the address of a symbol in the linker's map.
fn mapped(name: &str, arch: &str, symbol: &str) -> Option<u64> {
    let path = repository().join("target/driver").join(arch).join(name).with_extension("map");
    let map = fs::read_to_string(path).unwrap();
    let line = map.lines().find(|line| line.split_whitespace().nth(1) == Some(symbol))?;
    u64::from_str_radix(line.split_whitespace().nth(2)?, 16).ok()
}

fn entry(bytes: &[u8]) -> u64 {
    let file = PeFile64::parse(bytes).unwrap();
    let header = file.nt_headers().optional_header();
    header.image_base() + u64::from(header.address_of_entry_point())
}

const KMDF: [&str; 3] = ["ntoskrnl.exe", "hal.dll", "wdfldr.sys"];
const WDM: [&str; 2] = ["ntoskrnl.exe", "hal.dll"];

fn check_kmdf_drivers(arch: &str) {
    for name in ["kit_echo", "kit_timer"] {
        let bytes = image("kmdf", name, arch);
        check(&bytes, arch, &KMDF);
        assert_eq!(mapped(name, arch, "FxDriverEntry"), Some(entry(&bytes)), "{name} {arch}");
        let modules = imports(&PeFile64::parse(&*bytes).unwrap());
        assert_eq!(modules["wdfldr.sys"], ["WdfVersionBind", "WdfVersionUnbind"]);
    }
}

fn check_wdm_driver(arch: &str) {
    let bytes = image("wdm", "kit_wdm", arch);
    check(&bytes, arch, &WDM);
    assert_eq!(mapped("kit_wdm", arch, "DriverEntry"), Some(entry(&bytes)), "{arch}");
    let modules = imports(&PeFile64::parse(&*bytes).unwrap());
    assert!(modules["ntoskrnl.exe"].iter().any(|name| name == "IoCreateDevice"));
}

#[test]
fn kmdf_drivers_are_native_images_that_start_in_the_stub() {
    check_kmdf_drivers("x64");
}

#[test]
fn drivers_for_arm64_are_native_images_as_well() {
    if !is_without("aarch64-pc-windows-msvc") {
        check_kmdf_drivers("arm64");
        check_wdm_driver("arm64");
    }
}

#[test]
fn a_driver_of_every_subsystem_imports_from_their_modules() {
    let bytes = image("kmdf", "kit_subsystems", "x64");
    check(&bytes, "x64", &["ntoskrnl.exe", "hal.dll", "wdfldr.sys", "fltmgr.sys", "vhf.sys"]);
    let modules = imports(&PeFile64::parse(&*bytes).unwrap());
    assert_eq!(modules["fltmgr.sys"], ["FltUnregisterFilter"]);
    assert_eq!(modules["vhf.sys"], ["VhfDelete"]);
}

#[test]
fn a_driver_on_an_older_release_of_microsofts_crates() {
    let bytes = image("older", "kit_older", "x64");
    assert_eq!(mapped("kit_older", "x64", "DriverEntry"), Some(entry(&bytes)));
    let modules = imports(&PeFile64::parse(&*bytes).unwrap());
    assert_eq!(modules.into_iter().collect::<Vec<_>>(), [("ntoskrnl.exe".into(), vec!["KeGetCurrentIrql".into()])]);
}

#[test]
fn a_wdm_driver_is_a_native_image_without_a_framework() {
    check_wdm_driver("x64");
}

#[test]
fn a_name_that_the_kit_lacks_is_reported_with_how_to_add_it() {
    for (package, name, place) in [
        ("wdm/lacking/symbol", "`KeNoSuchRoutine`", "exports = [\"FILE.def\"]"),
        ("wdm/lacking/symbol", "`KeNumberProcessors` is a variable", "#[link(name = \"ntoskrnl\")]"),
        ("wdm/lacking/binding", "`IoNoSuchRoutine`", "headers = [\"FILE.h\"]"),
        ("kmdf/lacking", "`WdfCxVerifierKeBugCheck`", "kit/wdf/functions.txt"),
    ] {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(package).join("Cargo.toml");
        let (success, said) = xtask_build(&manifest, "x64");
        assert!(!success);
        let error = said.rsplit("error: ").next().unwrap_or_default();
        assert!(error.contains(name), "{package}: {said}");
        assert!(error.contains(place), "{package}: {said}");
    }
}
