//! Tests of `cargo xtask package`: the sample's package with `etwctl.exe`, and the completion of a package made with
//! the WDK.
//!
//! They are skipped, with a reason, if the sample has not been built (`cargo xtask build`) or mingw is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The files that `cargo wdk build` and `cargo make` put into a package.
const WDK: [&str; 6] = [
    "WDRLocalTestCert.cer",
    "driver_sample.cat",
    "driver_sample.inf",
    "driver_sample.map",
    "driver_sample.pdb",
    "driver_sample.sys",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
}

/// Runs `cargo xtask package`. etwctl is built without optimisation, as etwctl's test with Wine builds it, so that it
/// is compiled for Windows once.
fn xtask(folder: &Path, arguments: &[&str]) -> Output {
    let settings = [("OPT_LEVEL", "0"), ("LTO", "off"), ("CODEGEN_UNITS", "16")];
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .current_dir(folder)
        .arg("package")
        .args(arguments)
        .envs(settings.map(|(setting, value)| (format!("CARGO_PROFILE_RELEASE_{setting}"), value)))
        .output()
        .unwrap()
}

fn messages(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

fn has_mingw() -> bool {
    let there = Command::new("x86_64-w64-mingw32-gcc").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: x86_64-w64-mingw32-gcc is not installed (Debian: gcc-mingw-w64-x86-64)");
    }
    there
}

/// Runs `driver-package package` for the sample, as `cargo xtask package` does.
fn make(out: &Path, keys: &Path, more: &[&str]) {
    let made = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["run", "--quiet", "--package", "driver-package", "--", "package", "--kmdf", "1.33", "--image"])
        .args(["target/driver/x64/driver_sample.sys", "--inx", "driver-sample/driver_sample.inx", "--out"])
        .arg(out)
        .arg("--keys")
        .arg(keys)
        .args(more)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", messages(&made));
}

/// Makes a folder for the test with a package of the sample that has the files of a WDK package. Returns the folder
/// and the package.
fn wdk_package(test: &str) -> Option<(PathBuf, PathBuf)> {
    if !root().join("target/driver/x64/driver_sample.sys").is_file() {
        eprintln!("skipped: the sample is not built; `cargo xtask build` does that");
        return None;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&place);
    let folder = place.join("target/x86_64-pc-windows-msvc/release/driver_sample_package");
    // `driver-package` signs the same files as the WDK. The files that only it adds are removed below.
    make(&folder, &place.join("keys"), &[]);
    let is_ours = |name: &String| ["txt", "psd1", "ps1", "wprp"].iter().any(|extension| name.ends_with(extension));
    for name in names(&folder).into_iter().filter(is_ours) {
        fs::remove_file(folder.join(name)).unwrap();
    }
    for extension in ["pdb", "map"] {
        fs::write(folder.join("driver_sample").with_extension(extension), extension).unwrap();
    }
    assert_eq!(names(&folder), WDK);
    Some((place, folder))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_package_of_the_wdk_is_completed_with_etwctl() {
    let Some((place, folder)) = wdk_package("xtask-adopt") else { return };
    let relative = "target/x86_64-pc-windows-msvc/release/driver_sample_package";
    let with = has_mingw();
    let flags = if with { &["--adopt", relative, "--with-etwctl"][..] } else { &["--adopt", relative] };
    let output = xtask(&place, flags);
    assert!(output.status.success(), "{}", messages(&output));
    let found = names(&folder);
    for name in ["install.ps1", "uninstall.ps1", "boot-trace.ps1", "package.psd1", "driver_sample.wprp"] {
        assert!(found.contains(&name.into()), "{name}: {found:?}");
    }
    let data = fs::read_to_string(folder.join("package.psd1")).unwrap();
    assert!(data.contains("Provider       = 'WdkEtw.DriverSample'\r\n"), "{data}");
    if with {
        let program = fs::read(folder.join("etwctl.exe")).unwrap();
        // An image for x64 that needs no library of mingw.
        let header = u32::from_le_bytes(program[0x3c..0x40].try_into().unwrap()) as usize;
        assert_eq!(program[header..header + 6], *b"PE\0\0\x64\x86");
        for library in ["libgcc", "libwinpthread", "libstdc"] {
            let is_there = program.windows(library.len()).any(|window| window == library.as_bytes());
            assert!(!is_there, "{library}: Windows does not have it");
        }
    }
    if with {
        verify_signed_program(&place, &folder.join("etwctl.exe"));
    }
    // A second run changes nothing.
    let output = xtask(&place, &["--adopt", relative]);
    let again = if with { "README.txt: error package-file" } else { "everything was there already" };
    assert!(messages(&output).contains(again), "{}", messages(&output));
    assert_eq!(names(&folder), found);
    let output = xtask(root(), &["--adopt", "docs"]);
    assert_eq!(output.status.code(), Some(1), "{}", messages(&output));
    assert!(messages(&output).contains("cargo wdk build"), "{}", messages(&output));
}

/// Checks that `driver-package package` signs the program, and verifies the signature with osslsigncode.
fn verify_signed_program(place: &Path, program: &Path) {
    let out = place.join("ours");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    make(&out, &place.join("keys"), &["--etwctl", &text(program)]);
    let signed = out.join("etwctl.exe");
    assert!(fs::metadata(&signed).unwrap().len() > fs::metadata(program).unwrap().len());
    let pem = text(&place.join("keys/WDRLocalTestCert.pem"));
    match Command::new("osslsigncode").args(["verify", "-CAfile", &pem, &text(&signed)]).output() {
        Ok(output) => assert!(output.status.success(), "{}", messages(&output)),
        Err(error) => eprintln!("skipped osslsigncode: {error}"),
    }
}

#[test]
fn flags_that_exclude_each_other_are_rejected() {
    for (arguments, text) in [
        (&["--adopt", ".", "--cert", "x.pem"][..], "`--cert` cannot be used with `--adopt`"),
        (&["--adopt", ".", "--arch", "arm64"], "`--arch` cannot be used with `--adopt`"),
        (&["--replace"], "`--replace` needs `--adopt`"),
        (&["--adopt"], "`--adopt` needs a value"),
    ] {
        let output = xtask(root(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(messages(&output).contains(text), "{arguments:?}: {}", messages(&output));
    }
}
