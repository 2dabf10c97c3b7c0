//! `--with`, `--framework` and the commands about frameworks.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use test_support::drivers::c::build;
use test_support::drivers::temporary;

fn library(bug: u32) -> PathBuf {
    build("library", bug, "DriverEntry", &["ntoskrnl"])
}

/// The driver that imports from the library without mistakes.
fn user() -> PathBuf {
    let import_library = library(0).with_extension("");
    build("library_user", 0, "DriverEntry", &["ntoskrnl", &import_library.display().to_string()])
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

fn small_framework(bug: u32) -> PathBuf {
    build("small_framework", bug, "DriverEntry", &["ntoskrnl", "WdfLdr"])
}

/// A client of the small framework that needs this minor version.
fn client_image(minor: u32) -> PathBuf {
    build("small_client", minor, "DriverEntry", &["ntoskrnl", "WdfLdr"])
}

fn nt_host(arguments: &[&OsStr]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).args(arguments).output().expect("the command");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

#[test]
fn the_command_loads_other_images_and_names_them_in_findings_and_json() {
    let driver = user();
    let other = in_place_of_library(1);
    let run = |more: &[&str]| {
        let mut arguments = vec!["run".as_ref(), driver.as_os_str(), "--with".as_ref(), other.as_os_str()];
        arguments.extend(more.iter().map(OsStr::new));
        nt_host(&arguments)
    };
    // A mistake of the library alone does not change the outcome.
    let (code, text) = run(&["--ioctl", "222000:05000000"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(
            "findings about other images (1)\n  pool-leak              c_library_0.sys: does not free 24 bytes"
        ),
        "{text}"
    );
    let (code, text) = run(&["--ioctl", "222004"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("through c_library_0.sys+0x"), "{text}");
    let (_, text) = run(&["--ioctl", "222004", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["findings"][0]["image"], serde_json::Value::Null);
    assert_eq!(value["findings"][0]["inner"][0]["image"], "c_library_0.sys");
    assert_eq!(value["other_findings"][0]["image"], "c_library_0.sys");
}

#[test]
fn the_environment_names_the_framework_of_runs_that_name_none() {
    let driver = client_image(0);
    let framework = small_framework(0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    command.args(["run".as_ref(), driver.as_os_str(), "--no-device".as_ref()]);
    let output = command.env("NT_HOST_FRAMEWORK", &framework).output().expect("the command");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("framework: commission"), "{text}");
}

#[test]
fn the_command_compares_frameworks_and_ends_with_3_if_they_differ() {
    let driver = client_image(0);
    let framework = small_framework(0);
    let driver = driver.as_os_str();
    let compare = |more: &[&OsStr]| nt_host(&[&["compare".as_ref(), driver, "--no-device".as_ref()], more].concat());
    let (code, text) = compare(&["--framework".as_ref(), framework.as_os_str()]);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("debug output, only the framework: framework: commission (after: framework: entry, "),
        "{text}"
    );
    assert!(text.contains(" differences between the imitation and "), "{text}");
    assert!(
        text.contains("callbacks, only the framework: Called at IRQL 0 (after: DriverEntry at IRQL 0)\n"),
        "{text}"
    );
    let (code, text) = compare(&["--framework".as_ref(), framework.as_os_str(), "--json".as_ref()]);
    assert_eq!(code, Some(3), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let called = serde_json::json!({
        "aspect": "callbacks", "run": "framework", "line": "Called at IRQL 0", "after": "DriverEntry at IRQL 0",
    });
    assert!(value["differences"].as_array().expect("a list").contains(&called), "{text}");
    let (code, text) = compare(&[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("compare needs a framework: add --framework"), "{text}");
}

#[test]
fn only_microsofts_framework_is_kept_in_the_cache() {
    let cache = temporary("cache");
    let run = |arguments: &[&OsStr]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
        let output =
            command.arg("framework").args(arguments).env("XDG_CACHE_HOME", &cache).output().expect("the command");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let (code, text) = run(&["add".as_ref(), small_framework(0).as_os_str()]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("is not Microsoft's framework: it has no version resource"), "{text}");
    let (code, text) = run(&["add".as_ref(), library(0).as_os_str()]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("it does not import WdfRegisterLibrary"), "{text}");
    assert_eq!(run(&["list".as_ref()]), (Some(0), String::new()));
    let (code, text) = run(&["remove".as_ref(), "1.9".as_ref()]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("there is no framework 1.9: there is none"), "{text}");
}
