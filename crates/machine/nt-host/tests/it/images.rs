//! Several images in one machine: imports from other images, the order of loading, and which image a finding is about.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::c::{build, temporary};
use etw_types::NtStatus;
use nt_host::{Builder, Error, Finding, NtHost, Outcome, Report, Rule};

const ADD: u32 = 0x0022_2000;
const LEAK: u32 = 0x0022_2004;
const SLEEP: u32 = 0x0022_2008;
const SEND: u32 = 0x0022_200C;

fn library(bug: u32) -> PathBuf {
    build("library", bug, "DriverEntry", &["ntoskrnl"])
}

/// The driver that imports from the library without mistakes.
fn user() -> PathBuf {
    let import_library = library(0).with_extension("");
    build("library_user", 0, "DriverEntry", &["ntoskrnl", &import_library.display().to_string()])
}

fn with_library() -> Builder {
    NtHost::builder().driver(user()).with(library(0))
}

/// Another build of the library under the name that the driver imports from.
fn in_place_of_library(bug: u32) -> PathBuf {
    // Another test may be reading its own copy.
    let folder = temporary(&format!("library-{bug}-{:?}", std::thread::current().id()));
    let path = folder.join(library(0).file_name().expect("a name"));
    let original = library(bug);
    fs::copy(&original, &path).expect("a copy");
    let symbols = original.with_extension("pdb");
    fs::copy(&symbols, folder.join(symbols.file_name().expect("a name"))).expect("a copy of the symbols");
    path
}

/// The line number of a mark in a source.
fn marked(source: &str, mark: &str) -> Option<u32> {
    let mark = format!("/* mark {mark} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

const LIBRARY: &str = include_str!("../../drivers/c/library.c");
const USER: &str = include_str!("../../drivers/c/library_user.c");

/// Sends a request and returns the report of the whole run.
fn after(builder: Builder, code: u32) -> Report {
    let host = builder.start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    device.ioctl(code, &5_u32.to_le_bytes(), 4).expect("a reply");
    host.unload().expect("unload")
}

fn only(findings: &[Finding]) -> &Finding {
    let [finding] = findings else { panic!("{findings:#?}") };
    finding
}

#[test]
fn imports_lead_to_the_exports_of_another_image_and_unload_is_in_reverse_order() {
    let host = with_library().start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    // 5 + 7, and 99 from the handler of an exception in the library.
    let reply = device.ioctl(ADD, &5_u32.to_le_bytes(), 4).expect("a reply");
    assert_eq!(reply.status, NtStatus::Success);
    assert_eq!(reply.output, 111_u32.to_le_bytes().to_vec());
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().collect();
    let path = r"library: entry \Registry\Machine\System\CurrentControlSet\Services\c_library_0";
    assert_eq!(lines, [path, "user: entry, version 7", "user: unload", "library: unload"]);
    // The same again: both images are loaded once more.
    host.load().expect("DriverEntry");
    host.unload().expect("unload").assert_clean();
}

/// Windows does not call the `DriverEntry` of an image that it loads only because others import from it.
#[test]
fn an_export_driver_is_initialized_and_unloaded_by_its_own_routines() {
    let host = NtHost::builder().driver(user()).with(in_place_of_library(4)).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    let reply = device.ioctl(ADD, &5_u32.to_le_bytes(), 4).expect("a reply");
    assert_eq!(reply.output, 111_u32.to_le_bytes());
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().collect();
    let path = r"library: initialize \Registry\Machine\System\CurrentControlSet\Services\c_library_0";
    assert_eq!(lines, [path, "user: entry, version 7", "user: unload", "library: free"]);
    // No image imports from it: it is a driver like any other.
    let alone = NtHost::builder().driver(client_image(0)).framework(small_framework(0)).with(library(4));
    let report = alone.start().expect("DriverEntry").unload().expect("unload");
    assert!(report.output().contains("library: entry "));
    assert!(report.output().contains("library: unload"));
}

#[test]
fn a_missing_export_and_an_image_that_does_not_start_refuse_the_driver_with_a_reason() {
    let refused = |builder: Builder| match builder.start() {
        Err(Error::NotLoaded(status, reason)) => (status, reason),
        other => panic!("{other:?}"),
    };
    let (status, reason) = refused(NtHost::builder().driver(user()).with(in_place_of_library(3)));
    assert_eq!(status, NtStatus::DriverEntryPointNotFound);
    assert_eq!(reason, "the driver imports LibraryHandle from c_library_0.sys, which does not export it");
    let (status, reason) = refused(NtHost::builder().driver(user()).with(in_place_of_library(2)));
    assert_eq!(status, NtStatus::Unsuccessful);
    assert_eq!(reason, "DriverEntry of c_library_0.sys returned 0xC0000001 STATUS_UNSUCCESSFUL");
    let (_, reason) = refused(NtHost::builder().driver(user()).with(in_place_of_library(5)));
    assert_eq!(reason, "DllInitialize of c_library_0.sys returned 0xC0000001 STATUS_UNSUCCESSFUL");
    // Without the library, a call of the import ends the run and names the option.
    let error = NtHost::builder().driver(user()).start().and_then(|host| {
        let device = host.add_device()?;
        device.ioctl(LEAK, &[], 0).map(drop)
    });
    let text = error.expect_err("a trap").to_string();
    assert!(text.contains("c_library_0.sys"), "{text}");
    assert!(text.contains("--with"), "{text}");
    let twice = with_library().with(in_place_of_library(1)).start().expect_err("a name twice").to_string();
    assert!(twice.contains("two images have the name c_library_0.sys"), "{twice}");
}

#[test]
fn the_driver_is_blamed_for_what_it_makes_a_library_do() {
    let report = after(with_library(), LEAK);
    let leak = only(report.findings());
    assert_eq!(leak.rule, Rule::PoolLeak);
    assert_eq!(leak.image.as_deref(), None);
    assert_eq!(leak.routine.as_deref(), Some("ExAllocatePoolWithTag"));
    assert_eq!(leak.location.as_ref().and_then(|location| location.line), marked(USER, "leak"));
    let through = only_place(&leak.inner);
    assert_eq!(through.0, Some("c_library_0.sys"));
    assert_eq!(through.1, marked(LIBRARY, "allocate"));
    // Also if the library allocates for others, or on its own, at the same place.
    let host = NtHost::builder().driver(user()).with(in_place_of_library(1)).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    for code in [ADD, LEAK] {
        device.ioctl(code, &5_u32.to_le_bytes(), 4).expect("a reply");
    }
    let report = host.unload().expect("unload");
    assert_eq!(only(report.findings()).location.as_ref().and_then(|location| location.line), marked(USER, "leak"));
    assert_eq!(only(report.other_findings()).rule, Rule::PoolLeak);
    let report = after(with_library(), SLEEP);
    let sleep = only(report.findings());
    assert_eq!(sleep.rule, Rule::IrqlTooHigh);
    assert_eq!(sleep.image.as_deref(), None);
    assert_eq!(sleep.location.as_ref().and_then(|location| location.line), marked(USER, "sleep"));
    assert!(report.other_findings().is_empty());
}

fn only_place(places: &[nt_host::Location]) -> (Option<&str>, Option<u32>) {
    let [place] = places else { panic!("{places:#?}") };
    (place.image.as_deref(), place.line)
}

#[test]
fn a_library_is_blamed_for_its_own_mistakes_and_the_driver_stays_clean() {
    let report = after(NtHost::builder().driver(user()).with(in_place_of_library(1)), ADD);
    let leak = only(report.other_findings());
    assert_eq!(leak.rule, Rule::PoolLeak);
    assert_eq!(leak.image.as_deref(), Some("c_library_0.sys"));
    assert_eq!(leak.stack.first().and_then(|location| location.line), marked(LIBRARY, "own leak"));
    assert!(leak.to_string().starts_with("c_library_0.sys: pool-leak: does not free 24 bytes"), "{leak}");
    assert_eq!(report.outcome(), Outcome::Clean);
    report.assert_clean();
    // The kernel calls the dispatch routine of the library's device, so its mistake is not the driver's, which sent the
    // request.
    let report = after(with_library(), SEND);
    let tag = only(report.other_findings());
    assert_eq!(tag.rule, Rule::WrongTag);
    assert_eq!(tag.image.as_deref(), Some("c_library_0.sys"));
    assert_eq!(tag.location.as_ref().and_then(|location| location.line), marked(LIBRARY, "tag"));
    assert!(tag.stack.iter().any(|location| location.image.is_none()), "the driver's call is on the stack");
    report.assert_clean();
}

#[test]
fn failures_are_injected_only_into_calls_of_the_driver() {
    let host = with_library().start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    device.ioctl(ADD, &5_u32.to_le_bytes(), 4).expect("a reply");
    let calls = host.fallible_calls().expect("calls");
    assert!(!calls.iter().any(|(name, _)| name == "ExAllocatePoolWithTag"), "{calls:?}");
    assert!(calls.iter().any(|(name, count)| name == "IoCreateDevice" && *count == 1), "{calls:?}");
    host.unload().expect("unload").assert_clean();
}

/// A client of the small framework that needs this minor version.
fn client_image(minor: u32) -> PathBuf {
    build("small_client", minor, "DriverEntry", &["ntoskrnl", "WdfLdr"])
}

fn client(minor: u32) -> Builder {
    NtHost::builder().driver(client_image(minor))
}

fn small_framework(bug: u32) -> PathBuf {
    build("small_framework", bug, "DriverEntry", &["ntoskrnl", "WdfLdr"])
}

#[test]
fn a_framework_of_its_own_binds_the_driver_and_its_class_extension() {
    let host = client(0).framework(small_framework(0)).start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().collect();
    let expected = [
        "framework: entry, diagnostics c0000034 0",
        "framework: commission",
        r"framework: client \Registry\Machine\System\CurrentControlSet\Services\c_small_client_0, \Driver\c_small_client_0",
        "framework: class Small, globals 1",
        "client: class 00000000",
        "client: 42 63",
        "framework: class Small gone",
        "framework: client gone",
        "framework: decommission, 0 clients",
        "framework: unload",
    ];
    assert_eq!(lines, expected);
}

/// A folder with a framework and a loader of its own.
fn with_loader(bug: u32) -> PathBuf {
    let folder = temporary(&format!("loader-{bug}-{:?}", std::thread::current().id()));
    let loader = build("small_loader", bug, "DriverEntry", &["ntoskrnl"]);
    fs::copy(small_framework(0), folder.join("wdf01000.sys")).expect("a copy");
    fs::copy(loader, folder.join("WDFLDR.sys")).expect("a copy");
    folder
}

/// Its exports take the place of nt-host's own routines.
#[test]
fn a_loader_beside_the_framework_binds_the_driver() {
    let host = client(0).framework(with_loader(0)).start().expect("DriverEntry");
    let report = host.unload().expect("unload");
    report.assert_clean();
    let lines: Vec<&str> = report.output().lines().collect();
    let expected = [
        "loader: initialize",
        "loader: service wdf01000",
        "framework: entry, diagnostics 00000000 1",
        r"loader: library \Registry\Machine\System\CurrentControlSet\Services\wdf01000, \Device\Small",
        "framework: commission",
        r"framework: client \Registry\Machine\System\CurrentControlSet\Services\c_small_client_0, \Driver\c_small_client_0",
        "framework: class Small, globals 1",
        "client: class 00000000",
        "client: 42 63",
        "framework: class Small gone",
        "framework: client gone",
        "framework: decommission, 0 clients",
        "framework: unload",
        "loader: free",
    ];
    assert_eq!(lines, expected);
    let folder = with_loader(1);
    let refused = client(0).framework(&folder).start().expect_err("no export").to_string();
    assert!(refused.contains("imports WdfRegisterLibrary from WDFLDR.sys, which does not export it"), "{refused}");
    // The file alone is used with nt-host's loader.
    let host = client(0).framework(folder.join("wdf01000.sys")).start().expect("DriverEntry");
    assert!(host.unload().expect("unload").output().starts_with("framework: entry, diagnostics c0000034 0\n"));
}

#[test]
fn callbacks_have_the_irql_at_which_a_framework_of_its_own_makes_them() {
    for (bug, irql) in [(0, 0), (2, 2)] {
        let host = client(0).framework(small_framework(bug)).record_callbacks().start().expect("DriverEntry");
        host.unload().expect("unload").assert_clean();
        let calls: Vec<String> = host.callbacks().iter().map(ToString::to_string).collect();
        assert_eq!(calls, ["DriverEntry at IRQL 0", &format!("Called at IRQL {irql}"), "Unload at IRQL 0"]);
    }
}

/// Microsoft's framework holds a spin lock while it calls a driver back if it serialises the driver's callbacks, and its
/// samples complete requests there.
#[test]
fn a_driver_may_complete_a_request_under_a_lock_of_the_framework() {
    let host = client(0).framework(small_framework(3)).start().expect("DriverEntry");
    host.open(r"\Device\CSmall").expect("a file").close().expect("closed");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_framework_that_is_too_old_refuses_the_driver_with_the_sentence_of_windows() {
    match client(11).framework(small_framework(0)).start() {
        Err(Error::NotLoaded(status, reason)) => {
            assert_eq!(status, NtStatus::ObjectTypeMismatch);
            let expected =
                "the driver needs KMDF 1.11, c_small_framework_0.sys has KMDF 1.9; the first release with KMDF 1.11 is";
            assert!(reason.starts_with(expected), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_image_that_registers_no_framework_is_not_one() {
    let refused = client(0).framework(small_framework(1)).start().expect_err("no framework").to_string();
    assert!(refused.contains("c_small_framework_1.sys is not a framework"), "{refused}");
    let empty = temporary("empty");
    let missing = client(0).framework(&empty).start().expect_err("no file").to_string();
    assert!(missing.contains("there is no Wdf01000.sys in"), "{missing}");
    let path: &Path = &small_framework(0);
    let value = nt_host::RegistryValue::Dword(1);
    let key = r"\Registry\Machine\System\CurrentControlSet\Control\Wdf\Kmdf\Diagnostics";
    let builder = client(0).framework(path).registry(nt_host::RegistryKey::Path(key.into()), "DbgPrintOn", value);
    let host = builder.start().expect("DriverEntry");
    assert!(host.unload().expect("unload").output().starts_with("framework: entry, diagnostics 00000000 1\n"));
}

/// Windows loads a framework for the drivers that import it. Another driver must not be blamed for what the framework does.
#[test]
fn a_framework_is_not_loaded_for_drivers_that_do_not_import_it() {
    let image = build("wdm_cover", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(&image).framework(small_framework(0)).start().expect("DriverEntry");
    let notes = host.notes().join("\n");
    assert!(notes.contains("is not loaded: no image imports from WdfLdr.sys"), "{notes}");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert_eq!(report.output(), "");
    // The driver does not import it, but the image that it imports from may.
    let host = NtHost::builder().driver(&image).with(client_image(0)).framework(small_framework(0));
    let host = host.start().expect("DriverEntry");
    assert!(host.report().output().contains("framework: client"), "{}", host.report().output());
}
