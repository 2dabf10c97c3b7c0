//! The `nt-host` command: its exit codes and its output.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use test_support::drivers::{broken, built, c, clean, marked_line};

fn nt_host(arguments: &[&str], path: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
    let (verb, options) = arguments.split_first().expect("a command");
    command.arg(verb).arg(path).args(options).output().expect("the command")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_clean_driver_ends_with_0() {
    let output = nt_host(&["run"], &clean("pool_leak"));
    assert_eq!(code(&output), Some(0), "{}", text(&output));
    assert!(text(&output).contains("no findings"));
}

#[test]
fn a_driver_entry_that_fails_ends_with_1_and_its_status() {
    let output = nt_host(&["run", "--fail", "ExAllocatePool2"], &clean("pool_leak"));
    assert_eq!(code(&output), Some(1), "{}", text(&output));
    assert!(text(&output).contains("0xC000009A"), "{}", text(&output));
}

#[test]
fn bad_usage_and_bad_files_end_with_2() {
    let driver = broken("pool_leak");
    for (arguments, reason) in [
        (&["run", "--os", "dos"][..], "unknown Windows release `dos`: expected one of win7, win8, win8.1, win10-1507"),
        (&["run", "--os", "win10-180"], "; did you mean `win10-1803`?"),
        (&["run", "--fail", "DbgPrint"], "DbgPrint is not a routine that can fail"),
        (
            &["run", "--fail", "ExAlocatePool2"],
            "there is no routine ExAlocatePool2 that can fail; did you mean `ExAllocatePool2`?",
        ),
        (&["run", "--hide", "Nope"], "there is no routine Nope to hide: the command `list --all` lists the routines"),
        (&["run", "--hide", "EtwSetInfomation"], "; did you mean `EtwSetInformation`?"),
        (&["matrix", "--hide", "exallocatepool2"], "; did you mean `ExAllocatePool2`?"),
        (
            &["run", "--hide", "WdfIoQueueCreate"],
            "WdfIoQueueCreate is a function of the framework and cannot be hidden",
        ),
        (&["run", "--fail", "ExAllocatePool2=0"], "`0` is not a failure status: expected 80000000 or higher"),
        (&["run", "--ioctl", "222000:0"], "`0` is not hexadecimal data: expected two digits per byte"),
        (&["run", "--seed"], "a value is required for '--seed <N>'"),
        (&["fly"], "unrecognized subcommand 'fly'"),
    ] {
        let output = nt_host(arguments, &driver);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(text(&output).contains(reason), "{arguments:?}: {}", text(&output));
    }
    let output = nt_host(&["run"], &driver.with_extension("pdb"));
    assert_eq!(code(&output), Some(2));
    assert!(text(&output).contains("this is not a Windows image such as a .sys"), "{}", text(&output));
}

#[test]
fn findings_end_with_3_and_name_rule_routine_and_line() {
    let output = nt_host(&["run"], &broken("pool_leak"));
    assert_eq!(code(&output), Some(3));
    for part in ["pool-leak", "ExAllocatePool2", "image+0x", "pool_leak.rs:17"] {
        assert!(text(&output).contains(part), "{part} is not in {}", text(&output));
    }
    let output = nt_host(&["run", "--json"], &broken("pool_leak"));
    assert_eq!(code(&output), Some(3));
    let start = "{\"schema_version\":1,\"outcome\":\"1 finding\",\"result\":\"findings\",\"unloaded\":true,\"requests\":[],\"memory\":[],\"notes\":[],\"findings\":[{\"rule\":\"pool-leak\"";
    assert!(text(&output).starts_with(start), "{}", text(&output));
}

#[test]
fn a_driver_that_does_not_return_ends_with_3_and_names_routine_and_line() {
    let output = nt_host(&["run", "--timeout", "1s"], &broken("hang"));
    let line = marked_line("hang").expect("a mark");
    assert_eq!(code(&output), Some(3), "{}", text(&output));
    for part in ["hang", "KeWaitForSingleObject", "(thread 1)", &format!("hang.rs:{line}")] {
        assert!(text(&output).contains(part), "{part} is not in {}", text(&output));
    }
}

#[test]
fn the_header_of_a_trace_names_the_file_itself() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("named.etl");
    let path = path.to_str().expect("text");
    let output = nt_host(&["run", "--etl", path], &clean("pool_leak"));
    assert_eq!(code(&output), Some(0), "{}", text(&output));
    assert_eq!(etw_etl::Reader::open(path).expect("a trace file").header().file_name, path);
}

#[test]
fn the_table_of_all_routines_says_what_each_is_and_how_far_it_goes() {
    let list = |options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).args(["list", "--all"]).args(options).output();
        text(&output.expect("the command"))
    };
    let table = list(&["--os", "win7"]);
    let ddi = "https://learn.microsoft.com/windows-hardware/drivers/ddi";
    for line in [
        format!(
            "full             ntoskrnl.exe    apc                 IoCreateDevice \
             (pointer, u32, pointer, u32, u32, boolean, pointer -> status) {ddi}/wdm/nf-wdm-iocreatedevice"
        ),
        "data             ntoskrnl.exe                        ExEventObjectType".to_owned(),
        format!(
            "fixed result     hal.dll         any                 KeStallExecutionProcessor (u32 -> void) \
             {ddi}/wdm/nf-wdm-kestallexecutionprocessor"
        ),
        format!(
            "missing          wdf01000.sys                        WdfDmaEnablerCreate \
             {ddi}/wdfdmaenabler/nf-wdfdmaenabler-wdfdmaenablercreate"
        ),
    ] {
        assert!(table.lines().any(|row| row == line), "{line}\n{table}");
    }
    let newer = "since win10-1507 ntoskrnl.exe    passive  win10-1507 EtwSetInformation ";
    assert!(table.lines().any(|row| row.starts_with(newer)), "{table}");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&list(&["--json"])).expect("JSON");
    assert_eq!(rows.len(), table.lines().count() - 1);
    let pool = rows.iter().find(|row| row["name"] == "ExAllocatePool2").expect("a row");
    let expected = serde_json::json!({
        "name": "ExAllocatePool2",
        "module": "ntoskrnl.exe",
        "signature": "u64, u64, u32 -> pointer",
        "irql": "dispatch",
        "since": "win10-2004",
        "can_fail": true,
        "support": "full",
        "page": format!("{ddi}/wdm/nf-wdm-exallocatepool2"),
    });
    assert_eq!(*pool, expected);
}

#[test]
fn a_list_says_which_imports_are_here() {
    let output = nt_host(&["list", "--os", "win7"], &broken("pool_leak"));
    assert_eq!(code(&output), Some(0));
    assert!(text(&output).contains("since win10-2004 ntoskrnl.exe!ExAllocatePool2"), "{}", text(&output));
    let output = nt_host(&["list"], &broken("foreign_component"));
    for part in [
        "trapped          NDIS.SYS!NdisGetVersion (NDIS)",
        "data             ntoskrnl.exe!NtBuildNumber",
        "1 of components that are not modelled",
        "not modelled: NDIS, 1 routine\n",
    ] {
        assert!(text(&output).contains(part), "{part} is not in {}", text(&output));
    }
    let output = nt_host(&["list"], &broken("not_implemented"));
    assert!(text(&output).contains("trapped          ntoskrnl.exe!KeFooBar"), "{}", text(&output));
}

#[test]
fn the_same_seed_makes_the_same_calls_fail() {
    let sample = built("driver_sample.sys");
    let run = |seed: &str| nt_host(&["run", "--json", "--seed", seed, "--ioctl", "22E000:01"], &sample).stdout;
    assert_eq!(run("7"), run("7"));
    let all: Vec<Vec<u8>> = (1..=8).map(|seed| run(&seed.to_string())).collect();
    assert!(all.iter().any(|output| *output != all[0]), "no seed changes anything");
}

#[test]
fn a_driver_is_queried_for_its_state() {
    let sample = built("driver_sample.sys");
    let without = text(&nt_host(&["run"], &sample));
    let with = nt_host(&["run", "--capture-state"], &sample);
    assert_eq!(code(&with), Some(0), "{}", text(&with));
    let rundowns = |text: &str| text.matches("Rundown").count() + text.matches("DeviceState").count();
    assert!(rundowns(&text(&with)) > rundowns(&without), "{}", text(&with));
}

/// The IDs of a process's child processes.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).expect("a system that lists children");
    text.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn an_interrupt_ends_the_run_keeps_the_trace_and_leaves_no_process() {
    for signal in ["INT", "TERM", "HUP"] {
        ends_in_an_orderly_way(signal);
    }
}

fn ends_in_an_orderly_way(signal: &str) {
    let path = std::env::temp_dir().join(format!("nt-host-{signal}-{}.etl", std::process::id()));
    let mut run = Command::new(env!("CARGO_BIN_EXE_nt-host"))
        .arg("run")
        .arg(built("driver_sample.sys"))
        .args(["--real-time", "--advance", "1h", "--ioctl", "22E000:01", "--etl"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut lines = BufReader::new(run.stdout.take().expect("its output")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.starts_with("ioctl 0022E000"), "{first}");
    let started = children(run.id());
    assert_eq!(started.len(), 1);
    let interrupted = Command::new("kill").args([&format!("-{signal}"), &run.id().to_string()]).status().expect("kill");
    assert!(interrupted.success());
    assert_eq!(run.wait().expect("its end").code(), Some(130), "{signal}");
    for process in started {
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "{process} is left");
    }
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(rest.last().is_some_and(|line| line.contains("interrupted")), "{rest:#?}");
    let events = etw_etl::Reader::open(&path).expect("a trace file").filter(etw_etl::Event::is_trace_logging).count();
    fs::remove_file(&path).expect("the file is there");
    assert!(events > 3, "{events}");
}

#[test]
fn without_a_reader_the_run_ends_quietly_and_the_trace_is_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (arguments, is_traced) in [(&["run", "--json"][..], true), (&["run"], true), (&["list"], false)] {
        let trace = folder.join(format!("unread-{}.etl", arguments.len()));
        let _ = fs::remove_file(&trace);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_nt-host"));
        command.args(&arguments[..1]).arg(clean("pool_leak")).args(&arguments[1..]);
        if is_traced {
            command.arg("--etl").arg(&trace);
        }
        let output =
            command.stdout(writer).stderr(Stdio::piped()).spawn().and_then(std::process::Child::wait_with_output);
        let output = output.expect("the command");
        // The run was clean, but nobody can know.
        let expected = if is_traced { 2 } else { 0 };
        assert_eq!(code(&output), Some(expected), "{arguments:?}");
        assert_eq!(text(&output), String::new(), "{arguments:?}");
        assert_eq!(trace.exists(), is_traced, "{arguments:?}");
    }
}

#[test]
fn files_may_have_names_that_are_not_valid_utf_8() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let driver = folder.join(OsStr::from_bytes(b"odd\xFF.sys"));
    let trace = folder.join(OsStr::from_bytes(b"odd\xFF.etl"));
    fs::copy(broken("pool_leak"), &driver).expect("a copy of the driver");
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&driver).arg("--etl").arg(&trace).output();
    let output = output.expect("the command");
    assert_eq!(code(&output), Some(3), "{}", text(&output));
    assert!(trace.exists());
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&driver).arg("--os").arg(&driver).output();
    let output = output.expect("the command");
    assert_eq!(code(&output), Some(2));
    assert!(text(&output).contains("invalid UTF-8"), "{}", text(&output));
}

#[test]
fn a_failed_registration_is_shown_and_whether_the_driver_continued() {
    let sample = built("driver_sample.sys");
    let output = nt_host(&["run", "--fail", "EtwRegister=C000009A@1"], &sample);
    let shown = text(&output);
    assert_eq!(code(&output), Some(0), "{shown}");
    let status = "0xC000009A STATUS_INSUFFICIENT_RESOURCES";
    for line in [
        format!("  | driver_sample: EtwRegister {status};"),
        "  | driver_sample: the provider is not registered; the driver continues without tracing\n".into(),
        // The manifest's provider is registered and still traces.
        format!("\nEtwRegister returned {status}; the driver continued\n"),
    ] {
        assert!(shown.contains(&line), "no `{line}` in {shown}");
    }
    let quiet = text(&nt_host(&["run", "--no-debug-output"], &sample));
    assert!(!quiet.contains("driver_sample: EtwRegister"), "{quiet}");
    assert!(!quiet.contains("debug output"), "{quiet}");
    let shown = text(&nt_host(&["run"], &sample));
    assert!(shown.contains("debug output\n  | driver_sample: EtwRegister 0x00000000 STATUS_SUCCESS;"), "{shown}");
    let never = text(&nt_host(&["run", "--fail", "EtwRegister@3"], &sample));
    assert!(never.contains("EtwRegister did not fail: the driver called it 2 times"), "{never}");
}

#[test]
fn a_run_that_does_not_exercise_the_driver_ends_with_4_and_says_what_would_help() {
    let image = |bug| c::build("wdm_gaps", bug, "DriverEntry", &["ntoskrnl"]);
    let driver = image(0);
    let port = r"device\PortName=COM5";
    let start = "IRP_MN_START_DEVICE was completed with 0xC0000034";
    let port_name = r"--registry device\PortName=VALUE";
    let no_device = "ioctl 00222000 did not reach the driver: there is no device";
    for (arguments, expected, parts) in [
        (
            &["run"][..],
            4,
            &["no findings\n", "gaps (1)\n  not-started ", start, port_name, "incomplete: IRP_MN_START"][..],
        ),
        (&["run", "--registry", port], 0, &["no findings\n", ": clean ("]),
        (&["run", "--allow", "not-started"], 0, &[": clean ("]),
        (&["run", "--no-device"], 0, &[": clean, without a device (--no-device) ("]),
        (&["run", "--ioctl", "222000"], 4, &["gaps (2)", no_device, ", and 1 more gap ("]),
        // The driver completes it with an error.
        (&["run", "--registry", port, "--ioctl", "222000"], 0, &["ioctl 00222000: 0xC0000010", ": clean ("]),
        // The system does, with the same error.
        (&["run", "--registry", port, "--read", "16"], 4, &["(it did not reach the driver)", "IRP_MJ_READ"]),
        (&["run", "--registry", port, "--open", r"\\.\No"], 4, &["the driver has created no device with a name"]),
        (&["run", "--registry", port, "--interrupt", "0"], 4, &["--resource line"]),
        (
            &["run", "--registry", port, "--fail", "IoCreateDevice@2"],
            4,
            &["IoCreateDevice did not fail: the driver called it once"],
        ),
        (&["matrix", "--seed", "2"], 4, &["incomplete: the run without a failure has gaps", port_name]),
        (&["matrix", "--seed", "2", "--registry", port, "--close"], 4, &["close did not reach the driver"]),
        (&["matrix", "--seed", "2", "--registry", port], 0, &["0 with findings or losses, 0 distinct mistakes\n"]),
    ] {
        let output = nt_host(arguments, &driver);
        assert_eq!(code(&output), Some(expected), "{arguments:?}: {}", text(&output));
        for part in parts {
            assert!(text(&output).contains(part), "{arguments:?}: {part} is not in {}", text(&output));
        }
    }
    let output = nt_host(&["run", "--json"], &driver);
    let start = "{\"schema_version\":1,\"outcome\":\"incomplete: IRP_MN_START_DEVICE was completed with 0xC0000034 STATUS_OBJECT_NAME_NOT_FOUND\",\"result\":\"incomplete\",\"unloaded\":true,";
    let gap = "\"gaps\":[{\"kind\":\"not-started\",\"detail\":\"IRP_MN_START_DEVICE was completed";
    assert!(text(&output).starts_with(start), "{}", text(&output));
    assert!(text(&output).contains(gap), "{}", text(&output));
    // The driver refuses the orderly removal; the run goes on to the unload.
    let output = nt_host(&["run", "--registry", port], &image(4));
    assert_eq!(code(&output), Some(4), "{}", text(&output));
    assert!(
        text(&output).contains("not-removed            the driver refused the removal of its device with 0x80000011")
    );
    // The driver refuses to be opened: this open has reached it, and the request after it has not.
    let output = nt_host(&["run", "--registry", port, "--ioctl", "222000"], &image(5));
    assert_eq!(code(&output), Some(4), "{}", text(&output));
    assert!(text(&output).contains("opening the device failed (0xC0000022"), "{}", text(&output));
}

#[test]
fn a_driver_without_an_unload_routine_is_reported_to_stay() {
    let driver = c::build("wdm_stays", 0, "DriverEntry", &["ntoskrnl"]);
    let output = nt_host(&["run"], &driver);
    assert_eq!(code(&output), Some(0), "{}", text(&output));
    let sentence = "clean; the driver has no unload routine, so it stays loaded and leaks are not checked";
    assert!(text(&output).contains(sentence), "{}", text(&output));
    let output = nt_host(&["run", "--json"], &driver);
    assert!(text(&output).contains(&format!("\"outcome\":\"{sentence}\",\"result\":\"clean\",\"unloaded\":false,")));
}

#[test]
fn the_help_lists_every_release_of_windows() {
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("--help").output().expect("the command");
    for name in nt_host::Os::NAMES {
        assert!(text(&output).contains(&format!("\n  {name} ")), "{name}");
    }
}

/// A driver whose debug output and symbolic link would change a terminal.
fn hostile() -> std::path::PathBuf {
    c::build_with(&["-O0", "-DLINK=1", "-DCOUNT=0"], "wdm_print", 0, "DriverEntry", &["ntoskrnl"])
}

#[test]
fn text_of_a_driver_never_looks_like_a_line_of_the_host() {
    let output = nt_host(&["run"], &hostile());
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(code(&output), Some(3), "the link is left: {shown}");
    for line in [
        "  | Grüße 日本",
        "  | \\u{1b}]0;title\\u{7}\\rover",
        "  | no findings",
        "  | nt-host: WMI event",
        "  | wdm_print.sys: clean",
        "  | \\u{202e}",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no `{line}` in {shown}");
    }
    let finding = shown.lines().find(|line| line.contains("a\\u{1b}[2J\\nno findings\\n\\u{202e}"));
    assert!(finding.is_some(), "the finding names the link in one line: {shown}");
    assert!(!shown.lines().any(|line| line.starts_with("no findings") || line.starts_with("nt-host:")), "{shown}");
    assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown:?}");
    let json = String::from_utf8_lossy(&nt_host(&["run", "--json"], &hostile()).stdout).into_owned();
    assert!(json.contains("nt-host: WMI event\\nwdm_print.sys: clean\\n\u{202e}"), "JSON is data: {json}");
}

/// `script` of util-linux gives the command a terminal. Without it, the test prints that it was skipped.
#[test]
fn a_terminal_gets_nothing_of_a_driver_that_it_executes() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` (Debian: bsdutils)");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile\nerror: fake");
    fs::create_dir_all(&folder).expect("a folder");
    let driver = folder.join("wdm_print.sys");
    fs::copy(hostile(), &driver).expect("a copy of the driver");
    for words in ["run", "run --json", "matrix --seed 1", "list", "run --os none"] {
        let command = format!("{} {words} \"$DRIVER\" 2>&1", env!("CARGO_BIN_EXE_nt-host"));
        let output = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env("DRIVER", &driver)
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output()
            .expect("script runs");
        let shown = String::from_utf8_lossy(&output.stdout);
        // The progress line is cleared with this sequence of ours; the terminal adds carriage returns to line ends.
        let own = shown.replace("\r\x1b[K", "").replace("\r\n", "\n").replace("\x1b[0m", "");
        let own =
            ["\x1b[1m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m"].iter().fold(own, |text, c| text.replace(c, ""));
        assert!(!own.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{words}: {own:?}");
        assert!(!own.lines().any(|line| line.starts_with("error: fake")), "{words}: {own:?}");
    }
    fs::remove_dir_all(folder).expect("the folder");
}

#[test]
fn the_trace_never_replaces_the_driver_or_its_symbols() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replaced");
    fs::create_dir_all(&folder).expect("a folder");
    let sample = built("driver_sample.sys");
    let driver = folder.join("driver_sample.sys");
    for extension in ["sys", "pdb", "map"] {
        fs::copy(sample.with_extension(extension), driver.with_extension(extension)).expect("a copy");
    }
    let link = folder.join("link.etl");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&driver, &link).expect("a link");
    for target in [driver.clone(), driver.with_extension("pdb"), driver.with_extension("map"), link] {
        let before = fs::read(&target).expect("the file");
        let etl = target.to_str().expect("UTF-8");
        let output = nt_host(&["run", "--etl", etl], &driver);
        assert_eq!(code(&output), Some(2), "{etl}: {}", text(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with(&format!("error: --etl {etl} is the input ")), "{said}");
        assert!(fs::read(&target).expect("the file") == before, "{etl} is changed");
    }
    fs::remove_dir_all(folder).expect("the folder");
}

/// A capture file in the format pcap, with one IP datagram without a link header.
fn capture() -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let header = [words(&[0xA1B2_C3D4, 0x0004_0002, 0, 0, 65535, 101]), words(&[0, 0, 20, 20])].concat();
    let datagram = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header[..], &datagram].concat()
}

#[test]
fn no_command_writes_its_lines_over_what_it_reads() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("inputs");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("volume/deep")).expect("a folder");
    fs::create_dir_all(folder.join("corpus")).expect("a folder");
    let sample = built("driver_sample.sys");
    let driver = folder.join("driver_sample.sys");
    for extension in ["sys", "pdb"] {
        fs::copy(sample.with_extension(extension), driver.with_extension(extension)).expect("a copy");
    }
    fs::copy(&sample, folder.join("framework.sys")).expect("a copy");
    fs::copy(&sample, folder.join("other.sys")).expect("a copy");
    fs::write(folder.join("volume/deep/a.txt"), "a file").expect("a file");
    fs::write(folder.join("space"), [0; 256]).expect("a configuration space");
    fs::write(folder.join("capture.pcap"), capture()).expect("a capture");
    fs::write(folder.join("grammar.toml"), "[[request]]\ncode = 0x22E000\n").expect("a grammar");
    fs::write(folder.join("corpus/a.steps"), "--ioctl=22E000\n").expect("an input");
    let at = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let framework = at("framework.sys");
    let other = at("other.sys");
    let volume = at("volume");
    let space = at("space");
    let capture = at("capture.pcap");
    let grammar = at("grammar.toml");
    let corpus = at("corpus");
    let driver_itself: [(&[&str], &str); 2] = [(&[], "driver_sample.sys"), (&[], "driver_sample.pdb")];
    let shared: [(&[&str], &str); 5] = [
        (&["--framework", &framework], "framework.sys"),
        (&["--with", &other], "other.sys"),
        (&["--volume", &volume], "volume/deep/a.txt"),
        (&["--pci", &space], "space"),
        (&["--packet", &capture], "capture.pcap"),
    ];
    let of_fuzz: [(&[&str], &str); 2] =
        [(&["--grammar", &grammar], "grammar.toml"), (&["--corpus", &corpus], "corpus/a.steps")];
    for command in ["run", "matrix", "fuzz"] {
        let own: &[(&[&str], &str)] = if command == "fuzz" { &of_fuzz } else { &[] };
        for (options, target) in driver_itself.iter().chain(&shared).chain(own) {
            let before = fs::read(folder.join(target)).expect("the file");
            let path = at(target);
            let output = nt_host(&[&[command, "--coverage", &path], *options].concat(), &driver);
            assert_eq!(code(&output), Some(2), "{command} {options:?}: {}", text(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.starts_with(&format!("error: --coverage {path} is the input ")), "{command}: {said}");
            assert!(fs::read(folder.join(target)).expect("the file") == before, "{command} {options:?}");
        }
    }
    let both = at("both");
    let output = nt_host(&["run", "--etl", &both, "--coverage", &both], &driver);
    assert_eq!(code(&output), Some(2), "{}", text(&output));
    assert!(text(&output).contains("--etl and --coverage are the same file"), "{}", text(&output));
    fs::remove_dir_all(folder).expect("the folder");
}

#[test]
fn a_driver_without_lines_is_refused_before_it_runs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without-lines");
    fs::create_dir_all(&folder).expect("a folder");
    let driver = folder.join("driver.sys");
    fs::copy(clean("pool_leak"), &driver).expect("a copy");
    let lines = folder.join("lines.info");
    for command in ["run", "matrix", "fuzz"] {
        let output = nt_host(&[command, "--coverage", lines.to_str().expect("UTF-8")], &driver);
        assert_eq!(code(&output), Some(2), "{command}: {}", text(&output));
        assert!(text(&output).contains("has no line information"), "{command}: {}", text(&output));
        assert!(!lines.exists());
    }
    fs::remove_dir_all(folder).expect("the folder");
}
