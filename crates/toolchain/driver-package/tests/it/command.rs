//! Tests the program as a user sees it: text, JSON, messages and exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::inputs::{INX, request, signer};
use crate::common::{CHECKSUM, Driver, put_u32, tools};
use driver_package::report::table;
use driver_package::{Image, Target, Verdict};
use windows_releases::{Client, Release};

fn inspect(folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_driver-package");
    Command::new(program).current_dir(folder).arg("inspect").args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn messages(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The description of the default test image.
const GOOD: &str = "\
good.sys
  machine          x64 (0x8664), PE32+
  subsystem        native (1), version 10.0
  entry            0x1010 in .text (r-x): FxDriverEntry (from its exports)
  characteristics  0x0022 EXECUTABLE_IMAGE LARGE_ADDRESS_AWARE
  DLL flags        0x41e0 HIGH_ENTROPY_VA DYNAMIC_BASE FORCE_INTEGRITY NX_COMPAT GUARD_CF
  image            base 0x140000000, size 0x6000, 4632 bytes in the file
  alignment        0x1000 in memory, 0x200 in the file
  checksum         0x00008471, right
  relocations      1 address in 1 page
  load config      320 bytes, security cookie at 0x140003000, guarded (flags 0x500)
  signature        1 certificate in 24 bytes at 0x1200; `verify` checks who signed it
  framework        none
  Windows          win10-1507 (Windows 10 1507, build 10240) and later
  debug            CodeView: driver_sample.pdb {03020100-0504-0706-0809-0a0b0c0d0e0f} age 1

  sections (5)
    name       address        size      offset     in file  rights
    .text       0x1000       0x200       0x400       0x200  r-x
    .rdata      0x2000       0x58c       0x600       0x600  r--
    .data       0x3000        0x40       0xc00       0x200  rw-
    INIT        0x4000        0x20       0xe00       0x200  r-x discardable
    .reloc      0x5000         0xc      0x1000       0x200  r-- discardable

  imports (2)
    ntoskrnl.exe (3)
      EtwRegister
      EtwUnregister
      KeBugCheckEx
    WDFLDR.SYS (2)
      WdfVersionBind
      WdfVersionUnbind

  exports of driver_sample.dll (1)
        1      0x1010  FxDriverEntry

  Windows would load it (win11-24h2)
    no rule is broken
";

#[test]
fn a_good_driver_is_described_and_accepted() {
    let folder = tools::folder("command-good");
    fs::write(folder.join("good.sys"), Driver::default().build()).unwrap();
    let output = inspect(&folder, &["good.sys"]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains('\u{1b}'), "escape codes where there is no terminal");
    assert_eq!(text, GOOD);
}

#[test]
fn parts_that_an_image_does_not_have_are_described_too() {
    let folder = tools::folder("command-bare");
    let bare = Driver {
        entry: 0,
        exports: vec![],
        imports: vec![],
        relocations: vec![],
        cookie: 0,
        signed: false,
        delayed: vec!["dbghelp.dll"],
        ..Driver::default()
    };
    fs::write(folder.join("bare.sys"), bare.build_with(|file| put_u32(file, CHECKSUM, 0))).unwrap();
    let text = out(&inspect(&folder, &["bare.sys"]));
    for part in [
        "  entry            none\n",
        "  relocations      none\n",
        ", no security cookie, ",
        "  signature        none in the file\n",
        "\n  imports (0)\n    dbghelp.dll (delayed)\n",
        "\n  Windows would refuse it (win11-24h2)\n    REFUSED  ",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("exports of"), "{text}");
}

#[test]
fn headings_are_bold_if_the_style_says_so() {
    let image = Image::parse(&Driver::default().build()).unwrap();
    let verdict = Verdict::judge(&image, Target::default());
    let shown = |bold| table::image("a.sys", &image, &verdict, table::Style { bold });
    assert!(shown(true).starts_with("\u{1b}[1ma.sys\u{1b}[0m\n"));
    assert!(!shown(false).contains('\u{1b}'));
}

#[test]
fn a_refused_driver_is_exit_code_1_with_the_reason() {
    let folder = tools::folder("command-refused");
    fs::write(folder.join("bad.sys"), Driver { subsystem: 3, ..Driver::default() }.build()).unwrap();
    let output = inspect(&folder, &["bad.sys"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("REFUSED  subsystem: it is Windows console (3)"));
}

#[test]
fn a_damaged_file_is_exit_code_2_and_the_others_are_still_shown() {
    let folder = tools::folder("command-damaged");
    let good = Driver::default().build();
    fs::write(folder.join("good.sys"), &good).unwrap();
    fs::write(folder.join("cut.sys"), &good[..0x100]).unwrap();
    let output = inspect(&folder, &["cut.sys", "none.sys", "good.sys"]);
    assert_eq!(output.status.code(), Some(2));
    let text = messages(&output);
    assert!(text.contains("error: cut.sys: optional header: "), "{text}");
    assert!(text.contains("error: none.sys: "), "{text}");
    assert!(out(&output).starts_with("good.sys\n"));
}

#[test]
fn a_map_beside_the_image_names_its_entry_point() {
    let folder = tools::folder("command-map");
    fs::write(folder.join("a.sys"), Driver { exports: vec![], ..Driver::default() }.build()).unwrap();
    let map = " 0001:00000010  FromTheMap  0000000140001010 f  a.obj\n entry point at        0001:00000010\n";
    fs::write(folder.join("a.map"), map).unwrap();
    assert!(out(&inspect(&folder, &["a.sys"])).contains("FromTheMap (from its map)"));
    fs::rename(folder.join("a.map"), folder.join("b.map")).unwrap();
    assert!(!out(&inspect(&folder, &["a.sys"])).contains("FromTheMap"));
    assert!(out(&inspect(&folder, &["--map", "b.map", "a.sys"])).contains("FromTheMap"));
    assert_eq!(inspect(&folder, &["--map", "c.map", "a.sys"]).status.code(), Some(2));
}

#[test]
fn json_is_an_object_that_other_programs_read() {
    let folder = tools::folder("command-json");
    fs::write(folder.join("a.sys"), Driver::default().build()).unwrap();
    fs::write(folder.join("b.sys"), Driver { tls: true, pdb: "C:\\a \"b\".pdb", ..Driver::default() }.build()).unwrap();
    let output = inspect(&folder, &["--json", "a.sys", "b.sys"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output).contains("b.sys: refused: tls: "));
    let text = out(&output);
    assert!(text.starts_with("{\"schema_version\": 1, \"images\": [\n{\n  \"file\": \"a.sys\",\n"));
    assert!(text.contains(r#""pdb": "C:\\a \"b\".pdb""#));
    if tools::is_there("python3", &["--version"]) {
        fs::write(folder.join("out.json"), &text).unwrap();
        let script = "import json,sys; a,b=json.load(open(sys.argv[1]))['images']; print(a['loadable'], b['loadable'], \
                      b['findings'][0]['rule'], a['entry']['symbol'], len(a['sections']))";
        let file = folder.join("out.json");
        let read = tools::run("python3", &["-c", script, file.to_str().unwrap()]).unwrap();
        assert_eq!(read.trim(), "True False tls FxDriverEntry 5");
    }
}

#[test]
fn wrong_usage_is_exit_code_2_and_help_is_not() {
    let folder = tools::folder("command-usage");
    for (arguments, text) in [
        (&["--jsn", "a.sys"][..], "a similar argument exists: '--json'"),
        (&[], "<FILE>..."),
        (&["--windows", "eleven", "a.sys"], "unknown Windows release `eleven`"),
        (&["a.sys", "--windows"], "a value is required for '--windows <RELEASE>'"),
        (&["--map", "a.map", "a.sys", "b.sys"], "single file"),
    ] {
        let output = inspect(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(messages(&output).contains(text), "{arguments:?}: {}", messages(&output));
    }
    let help = inspect(&folder, &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(out(&help).lines().all(|line| line.chars().count() <= 100));
    let rules = out(&inspect(&folder, &["--rules"]));
    assert!(rules.contains("writable-code (memory integrity)"));
}

#[test]
fn an_older_windows_can_be_selected() {
    let folder = tools::folder("command-windows");
    fs::write(folder.join("a.sys"), Driver::default().build()).unwrap();
    let output = inspect(&folder, &["--windows", "6.1", "a.sys"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(out(&output).contains("subsystem-version: the image needs Windows version 10.0, win7 has version 6.1"));
}

#[test]
fn every_release_of_windows_can_be_selected() {
    let folder = tools::folder("command-releases");
    let framework = Some(Client { major: 1, minor: 33, functions: 458, minimum: Some(25) });
    let driver = Driver { framework, subsystem_version: (6, 0), ..Driver::default() };
    fs::write(folder.join("a.sys"), driver.build()).unwrap();
    let help = out(&inspect(&folder, &["--help"]));
    for release in Release::ALL {
        assert!(help.contains(&format!("\n  {release} ")), "{release}: {help}");
        for name in [release.name()].iter().chain(release.aliases()) {
            let output = inspect(&folder, &["--windows", name, "a.sys"]);
            let expected = i32::from(release < Release::Win10_1803);
            assert_eq!(output.status.code(), Some(expected), "{name}: {}", out(&output));
            assert!(out(&output).contains(&format!("it ({release})")), "{name}: {}", out(&output));
        }
    }
    let text = out(&inspect(&folder, &["a.sys"]));
    assert!(text.contains("KMDF 1.33 with 458 functions, runs on 1.25 and later"), "{text}");
    assert!(text.contains("win10-1803 (Windows 10 1803, build 17134) and later"), "{text}");
    let json = out(&inspect(&folder, &["--json", "a.sys"]));
    for part in ["\"oldest_windows\": \"win10-1803\"", "\"oldest_build\": 17134", "\"windows\": \"win11-24h2\""] {
        assert!(json.contains(part), "{part} is not in {json}");
    }
}

#[test]
fn without_a_reader_it_ends_quietly() {
    let folder = tools::folder("command-unread");
    fs::write(folder.join("good.sys"), Driver::default().build()).unwrap();
    // A verdict that nobody has read in full is not one.
    for (arguments, expected) in [
        (&["--help"][..], 0),
        (&["inspect", "--rules"], 0),
        (&["inspect", "good.sys"], 2),
        (&["inspect", "--json", "good.sys"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_driver-package"));
        let child = command.current_dir(&folder).args(arguments).stdout(writer).stderr(Stdio::piped()).spawn();
        let output = child.and_then(Child::wait_with_output).unwrap();
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}");
        assert_eq!(messages(&output), "", "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn images_may_have_names_that_are_not_valid_utf_8_but_not_in_a_package() {
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xFF.sys");
    let folder = tools::folder("command-odd");
    fs::write(folder.join(odd), Driver::default().build()).unwrap();
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driver-package"));
        command.current_dir(&folder);
        command
    };
    let output = program().arg("inspect").arg(odd).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", messages(&output));
    let output = program().args(["package", "--inx", "a.inx", "--out", "out", "--image"]).arg(odd).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output).contains("`odd\\xff.sys` has no name in valid UTF-8"), "{}", messages(&output));
}

/// Makes a package of an image and an INF, and returns its folder.
fn made(name: &str, image: &Driver, inx: &str) -> PathBuf {
    let target = tools::folder(&format!("compare-{name}"));
    let out = target.join("out");
    request(&target, &image.build(), inx.as_bytes()).make(&signer()).unwrap().write(&out).unwrap();
    out
}

#[test]
fn packages_are_compared_by_what_a_kit_decides() {
    let compare = |first: &Path, second: &Path, options: &[&str]| {
        let program = env!("CARGO_BIN_EXE_driver-package");
        Command::new(program).arg("compare").args([first, second]).args(options).output().unwrap()
    };
    let image = || Driver { signed: false, ..Driver::default() };
    let first = made("first", &image(), INX);
    let again = made("again", &image(), INX);
    let same = compare(&first, &again, &[]);
    assert_eq!(same.status.code(), Some(0));
    assert_eq!(out(&same).as_str(), "the packages have the same properties\n");
    let other =
        made("other", &Driver { machine: 0xAA64, ..image() }, &INX.replace("Speed,0x00010001,3", "Speed,0x00010001,4"));
    let differs = compare(&first, &other, &[]);
    assert_eq!(differs.status.code(), Some(3), "{}", messages(&differs));
    for part in [
        "image: machine\n",
        "INF\n",
        "  - [Registry] HKR,,Speed,0x00010001,3\n",
        "  + [Registry] HKR,,Speed,0x00010001,4\n",
    ] {
        assert!(out(&differs).contains(part), "{part} in {}", out(&differs));
    }
    let json: serde_json::Value = serde_json::from_str(&out(&compare(&first, &other, &["--json"]))).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert!(json["differences"].as_array().unwrap().len() >= 2, "{json}");
    // A catalog that does not list the image.
    let image = first.join("driver.sys");
    let mut bytes = fs::read(&image).unwrap();
    bytes[0x400] ^= 1;
    fs::write(&image, bytes).unwrap();
    assert!(out(&compare(&first, &again, &[])).contains("  - the image is not listed\n  + the image is listed\n"));
    fs::remove_file(image).unwrap();
    let missing = compare(&first, &again, &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(messages(&missing).contains(": 0 files with the extension .sys"), "{}", messages(&missing));
}
