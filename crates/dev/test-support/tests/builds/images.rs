//! Checks what only a linked image can prove: it imports exactly the routines that it uses, and none of its paths
//! panics.

use std::collections::BTreeSet;

use pe_image::{DllCharacteristics, Machine, Section, Subsystem};
use test_support::images::{Image, image, image_with_key_values};

const KERNEL: &str = "ntoskrnl.exe";
/// The routines that only the images' panic handlers call.
const KERNEL_PANIC: &str = "ntoskrnl.exe!KeBugCheckEx";
const USER_PANIC: &str = "kernel32.dll!RaiseException";
/// Routines that compiled code calls implicitly. They differ between compiler versions; the kernel exports all of them.
const COMPILERS_OWN: [&str; 5] = ["__chkstk", "memcmp", "memcpy", "memmove", "memset"];
/// A panic names its source file. These are the folders of our crates and of the images.
const FOLDERS: [&str; 6] = [OURS[0], OURS[1], OURS[2], OURS[3], OURS[4], "src/bin/"];
const OURS: [&str; 5] =
    ["etw-types/src/", "wdk-etw-macros/src/", "wdk-etw/src/", "wdk-etw-log/src/", "wdk-etw-tracing/src/"];

fn assert_imports(image: &Image, expected: &[(&str, &str)]) {
    let expected: BTreeSet<String> = expected.iter().map(|(module, routine)| format!("{module}!{routine}")).collect();
    let own = COMPILERS_OWN.map(|routine| format!("{KERNEL}!{routine}"));
    let mut found = image.imports();
    found.retain(|import| !own.contains(import));
    assert_eq!(found, expected);
}

fn assert_mapped_safely(image: &Image) {
    let header = &image.model.header;
    assert_eq!(header.machine, Machine::X64);
    assert!(header.dll_characteristics.contains(DllCharacteristics::DYNAMIC_BASE));
    assert!(header.dll_characteristics.contains(DllCharacteristics::NX_COMPAT));
    let writable_code = |section: &&Section| section.is_writable() && section.is_executable();
    assert_eq!(image.model.sections.iter().find(writable_code), None);
}

/// Checks what applies to every driver: it is a driver, it cannot panic, and it imports exactly these kernel routines.
fn assert_driver(name: &str, routines: &[&str]) {
    assert_driver_of(name, routines, &FOLDERS);
}

/// Does the same for a driver whose messages contain names of source files. Only files in `folders` count as panics.
fn assert_driver_of(name: &str, routines: &[&str], folders: &[&str]) {
    let image = image(name);
    assert_eq!(image.model.header.subsystem, Subsystem::Native);
    assert_mapped_safely(&image);
    let expected: Vec<_> = routines.iter().map(|routine| (KERNEL, *routine)).collect();
    assert_imports(&image, &expected);
    assert_eq!(image.panic_paths(KERNEL_PANIC, folders), Vec::<String>::new());
}

#[test]
fn a_driver_that_can_panic_is_found_out() {
    let image = image("panicking");
    assert_imports(&image, &[(KERNEL, "KeBugCheckEx")]);
    let signs = image.panic_paths(KERNEL_PANIC, &FOLDERS);
    assert_eq!(signs, ["imports ntoskrnl.exe!KeBugCheckEx", "names a source file in src/bin/"]);
}

#[test]
fn log_messages_need_the_current_thread_and_no_allocator() {
    let routines = ["EtwRegister", "EtwUnregister", "EtwWriteTransfer", "KeGetCurrentThread"];
    assert_driver_of("log", &routines, &OURS);
}

#[test]
fn key_values_bring_the_panics_of_floating_point_numbers_and_no_others() {
    let with = image_with_key_values();
    let routines = ["EtwRegister", "EtwUnregister", "EtwWriteTransfer", "KeBugCheckEx", "KeGetCurrentThread"];
    assert_imports(&with, &routines.map(|routine| (KERNEL, routine)));
    // A message contains its file name, which is not a panic.
    let others = |file: &String| !file.contains("/library/core/src/num/") && !file.ends_with("src/main.rs");
    let others: Vec<String> = with.source_files().into_iter().filter(others).collect();
    assert_eq!(others, Vec::<String>::new());

    let page = include_str!("../../../../../docs/log.md");
    let stated = page.split_once("into the image: about ").and_then(|(_, rest)| rest.split_once(" KiB"));
    let stated = stated.and_then(|(number, _)| number.parse().ok()).map_or(0, |kib: usize| kib * 1024);
    let added = with.size() - image("log").size();
    assert!(added.abs_diff(stated) <= stated / 8, "docs/log.md states {stated} bytes: {added}");
}

#[test]
fn tracing_brings_the_panics_of_tracing_core_and_no_pool() {
    let image = image("tracing");
    let routines = [
        "EtwActivityIdControl",
        "EtwRegister",
        "EtwUnregister",
        "EtwWriteTransfer",
        "KeBugCheckEx",
        "KeGetCurrentThread",
    ];
    assert_imports(&image, &routines.map(|routine| (KERNEL, routine)));
    // An event contains its file name, which is not a panic.
    let theirs = ["/tracing-core-", "/library/alloc/src/", "/library/core/src/"];
    let others =
        |file: &String| !theirs.iter().any(|folder| file.contains(folder)) && !file.ends_with("src/bin/tracing.rs");
    let others: Vec<String> = image.source_files().into_iter().filter(others).collect();
    assert_eq!(others, Vec::<String>::new());
}

#[test]
fn lookup_mode_does_not_import_the_routine_it_looks_up() {
    assert_driver("lookup", &["EtwRegister", "EtwUnregister", "EtwWriteTransfer", "MmGetSystemRoutineAddress"]);
}

#[test]
fn direct_mode_imports_set_information_and_looks_nothing_up() {
    assert_driver("direct", &["EtwRegister", "EtwSetInformation", "EtwUnregister", "EtwWriteTransfer"]);
}

#[test]
fn off_mode_neither_imports_nor_looks_up() {
    assert_driver("off", &["EtwRegister", "EtwUnregister", "EtwWriteTransfer"]);
}

#[test]
fn fields_of_every_shape_need_no_other_routine() {
    assert_driver("fields", &["EtwRegister", "EtwUnregister", "EtwWriteTransfer"]);
}

#[test]
fn activities_need_the_routine_that_makes_their_ids() {
    assert_driver("activities", &["EtwActivityIdControl", "EtwRegister", "EtwUnregister", "EtwWriteTransfer"]);
}

#[test]
fn callbacks_and_scoped_registrations_need_no_other_routine() {
    assert_driver("lifecycle", &["EtwRegister", "EtwUnregister", "EtwWriteTransfer", "MmGetSystemRoutineAddress"]);
}

#[test]
fn manifest_style_writing_imports_what_it_calls() {
    assert_driver(
        "manifest",
        &[
            "EtwActivityIdControl",
            "EtwEventEnabled",
            "EtwProviderEnabled",
            "EtwRegister",
            "EtwUnregister",
            "EtwWriteEx",
            "EtwWriteString",
            "EtwWriteTransfer",
        ],
    );
}

#[test]
fn a_user_mode_provider_imports_nothing_of_the_kernel() {
    let image = image("user");
    assert_eq!(image.model.header.subsystem, Subsystem::WindowsConsole);
    assert_mapped_safely(&image);
    assert_imports(
        &image,
        &[
            ("advapi32.dll", "EventRegister"),
            ("advapi32.dll", "EventUnregister"),
            ("advapi32.dll", "EventWriteTransfer"),
            ("kernel32.dll", "FreeLibrary"),
            ("kernel32.dll", "GetModuleHandleExW"),
            ("kernel32.dll", "GetProcAddress"),
        ],
    );
    assert_eq!(image.panic_paths(USER_PANIC, &FOLDERS), Vec::<String>::new());
}
