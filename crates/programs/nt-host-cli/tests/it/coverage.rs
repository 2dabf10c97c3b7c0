//! `--coverage`: the table, the files, and what is not written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nt_host::LineCoverage;
use test_support::drivers::c::build_at;
use test_support::drivers::{clean, temporary};

fn driver(level: &str) -> PathBuf {
    build_at(level, "wdm_cover", 0, "DriverEntry", &["ntoskrnl"])
}

#[test]
fn the_command_prints_a_table_and_writes_files() {
    let folder = temporary("coverage-of-command");
    let nt_host = |image: &Path, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
        let output = command.arg("run").arg(image).args(options).current_dir(&folder).output().expect("the command");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), text)
    };
    let (code, text) =
        nt_host(&driver("-O0"), &["--open", r"\\.\CCover", "--ioctl", "222000", "--coverage", "run.info"]);
    assert!(code == Some(0), "{text}");
    assert!(text.contains("blocks of code"), "{text}");
    assert!(text.contains("/wdm_cover.c\n"), "{text}");
    let read = LineCoverage::read(folder.join("run.info")).expect("lcov's format");
    assert!(text.contains(&read.to_string()), "{text}");
    let image = clean("pool_leak");
    fs::copy(&image, folder.join("bare_clean.sys")).expect("a copy");
    let _ = fs::remove_file(folder.join("bare.info"));
    let (code, text) = nt_host(&folder.join("bare_clean.sys"), &["--coverage", "bare.info"]);
    assert!(code == Some(2), "{text}");
    assert!(text.contains("has no line information"), "{text}");
    assert!(!folder.join("bare.info").exists());
    let before = fs::read(&image).expect("the image");
    let (code, text) = nt_host(&image, &["--coverage", image.to_str().expect("a path in UTF-8")]);
    assert!(code == Some(2), "an input is not replaced: {text}");
    assert!(fs::read(&image).expect("the image") == before, "an input is not replaced: {text}");
    let (code, text) = nt_host(&folder.join("bare_clean.sys"), &["--coverage"]);
    assert!(code == Some(0), "{text}");
    assert!(text.contains("blocks of code"), "{text}");
    assert!(!text.contains("all files"), "{text}");
}
