//! Limits of the machine that runs the tests: they end a run with a named error, and are never a mistake of the driver.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use test_support::drivers::c::build;
use test_support::drivers::temporary;

fn driver() -> PathBuf {
    build("wdm_cover", 0, "DriverEntry", &["ntoskrnl"])
}

/// Runs the driver in a process with a limit.
fn limited(resource: libc::__rlimit_resource_t, most: u64) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    command.arg("run").arg(driver());
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    let set = move || {
        // SAFETY: passes a complete structure.
        let result = unsafe { libc::setrlimit(resource, &raw const limit) };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the function only makes a system call.
    unsafe { command.pre_exec(set) };
    text(&command.output().expect("the command"))
}

fn text(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn too_little_address_space_is_not_a_mistake_of_the_driver() {
    for gigabytes in [1, 8, 100] {
        let (code, text) = limited(libc::RLIMIT_AS, gigabytes << 30);
        assert_eq!(code, Some(4), "{gigabytes} GB: {text}");
        assert!(text.contains("Linux refuses") || text.contains("cannot start"), "{gigabytes} GB: {text}");
        assert!(text.contains("ulimit -v"), "{gigabytes} GB: {text}");
        assert!(!text.contains("NULL"), "{gigabytes} GB: {text}");
    }
}

#[test]
fn too_many_open_files_are_named() {
    let (code, text) = limited(libc::RLIMIT_NOFILE, 6);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("ulimit -n"), "{text}");
}

#[test]
fn a_folder_for_temporary_files_that_does_not_exist_is_named() {
    let dir = temporary("no-temporaries").join("missing");
    let run = |dir: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
        command.arg("run").arg(driver()).env("TMPDIR", dir);
        text(&command.output().expect("the command"))
    };
    let (code, text) = run(&dir);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains(&format!("no temporary file in {} (TMPDIR)", dir.display())), "{text}");
    let dir = temporary("temporaries");
    let (code, text) = run(&dir);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(fs::read_dir(dir).expect("the folder").count(), 0, "nothing is left");
}
