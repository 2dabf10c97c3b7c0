//! `deploy` over a real SSH connection. Only Windows itself is played: each step fails, hangs and loses the connection once.
//!
//! A program of its own, because it takes minutes: each of the steps connects several times.
#![cfg(test)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod server;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use driver_exercise::{Evidence, Plan, Status, expect};
use server::Server;
use test_support::windows::{Fault, Machine};

/// The calls of scripts in a deployment in which nothing fails.
const CALLS: [&str; 10] = [
    "machine.ps1",
    "install.ps1 -Check",
    "uninstall.ps1",
    "record.ps1 -Start",
    "install.ps1",
    "send.ps1",
    "collect.ps1",
    "remove.ps1",
    "record.ps1 -Stop",
    "uninstall.ps1",
];

/// The same with a restart, during which the second check loses its connection.
const RESTART_CALLS: [&str; 14] = [
    "machine.ps1",
    "install.ps1 -Check",
    "uninstall.ps1",
    "boot-trace.ps1 Enable",
    "install.ps1 -Restart",
    "restart.ps1 -Now",
    "restart.ps1 -Check",
    "restart.ps1 -Check",
    "restart.ps1 -Check",
    "send.ps1",
    "collect.ps1",
    "remove.ps1",
    "boot-trace.ps1 Remove",
    "uninstall.ps1",
];

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// The program with the arguments that cargo adds for `cargo driver`.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
    command.arg("driver").env("CARGO_DRIVER_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
}

fn manifest() -> PathBuf {
    root().join("driver-sample/Cargo.toml")
}

/// The sample's trace and replies, made by nt-host, and a package with the sample.
struct Made {
    trace: PathBuf,
    replies: String,
    package: PathBuf,
    client: PathBuf,
}

static MADE: LazyLock<Made> = LazyLock::new(|| {
    let image = root().join("target/driver/x64/driver_sample.sys");
    assert!(image.is_file(), "{} is not there: run `cargo xtask build` first", image.display());
    let (_, plan) = Plan::from_manifest(&manifest()).unwrap();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deploy");
    let package = dir.join("package");
    fs::create_dir_all(&package).unwrap();
    let trace = dir.join("played.etl");
    let replies = expect::run(&image, &plan, &trace).unwrap();
    let replies: Vec<String> = replies.iter().map(|reply| serde_json::to_string(reply).unwrap()).collect();
    fs::copy(&image, package.join("driver_sample.sys")).unwrap();
    for entry in fs::read_dir(root().join("crates/toolchain/driver-package/deploy")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
    }
    fs::write(package.join("package.psd1"), "@{}").unwrap();
    let client = dir.join("driver-client.exe");
    fs::write(&client, "a program").unwrap();
    Made { trace, replies: replies.join("\n") + "\n", package, client }
});

/// A machine with a server, or `None` if there is no program for it.
fn machine(name: &str) -> Option<(Machine, Server)> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("deploy-{name}"));
    let machine = Machine::new(&dir, &MADE.trace, &MADE.replies).unwrap();
    let server = Server::start(&machine)?;
    Some((machine, server))
}

/// The command that deploys the sample.
fn command(machine: &Machine, server: &Server, options: &[&str]) -> Command {
    let mut command = program();
    command.args(["deploy", "vm"]).args(options).arg("--manifest-path").arg(manifest());
    command.arg("--package-dir").arg(&MADE.package).arg("--client").arg(&MADE.client);
    // A relative path, which is not relative to the folder that sftp runs in.
    let config = Path::new("ssh").join(server.config.file_name().unwrap());
    command.current_dir(machine.path("")).arg("--ssh-config").arg(config).arg("--out").arg(machine.path("out"));
    command.stdin(Stdio::null());
    command
}

fn deploy(machine: &Machine, server: &Server, options: &[&str]) -> Output {
    command(machine, server, options).output().unwrap()
}

fn evidence(machine: &Machine) -> Evidence {
    Evidence::read(&machine.path("out/evidence.json")).unwrap()
}

/// What is in the home of the machine's user.
fn home(machine: &Machine) -> Vec<String> {
    let entries = fs::read_dir(machine.path("home")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_driver_is_exercised_and_nothing_is_left() {
    let Some((machine, server)) = machine("passes") else { return };
    let output = deploy(&machine, &server, &["--record", "1ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(machine.calls().as_slice(), CALLS.map(String::from).as_slice());
    assert_eq!(server.connections(), 1);
    assert!(machine.state().is_empty(), "{:?}", home(&machine));
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
    let text = printed(&output);
    for part in ["install      passed", "DriverEntry", "the trace is that of nt-host: "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let evidence = evidence(&machine);
    assert!(evidence.is_good(), "{evidence:?}");
    assert!(evidence.replies.len() == 9, "{evidence:?}");
    for name in ["windows.etl", "expected.etl", "logs.zip", "install.log"] {
        assert!(machine.path("out").join(name).is_file(), "{name}");
    }
}

/// The calls at which a fault happens, with the number of the call.
const FAULTS: [(&str, u32); 11] = [
    ("machine.ps1", 1),
    ("install.ps1 -Check", 1),
    ("uninstall.ps1", 1),
    ("verifier.ps1", 1),
    ("record.ps1 -Start", 1),
    ("install.ps1", 1),
    ("send.ps1", 1),
    ("collect.ps1", 1),
    ("remove.ps1", 1),
    ("record.ps1 -Stop", 1),
    ("uninstall.ps1", 2),
];

/// Either the machine is as it was, or the message says what is left. Then the next run repairs it.
fn check_after_fault(machine: &Machine, server: &Server, output: &Output, what: &str, options: &[&str]) {
    let text = printed(output);
    let is_clean = machine.state().is_empty() && home(machine).is_empty();
    assert_eq!(is_clean, !text.contains("left on vm:"), "{what}: {:?} {:?} {text}", machine.state(), home(machine));
    machine.repair();
    if is_clean {
        return;
    }
    let next = deploy(machine, server, options);
    assert_eq!(next.status.code(), Some(0), "{what}, then: {}", printed(&next));
    assert!(machine.state().is_empty(), "{what}: {:?} {:?}", machine.state(), home(machine));
    assert!(home(machine).is_empty(), "{what}: {:?} {:?}", machine.state(), home(machine));
}

/// The calls that only an exercise with a restart makes.
const RESTART_FAULTS: [(&str, u32); 5] = [
    ("boot-trace.ps1 Enable", 1),
    ("install.ps1 -Restart", 1),
    ("restart.ps1 -Now", 1),
    ("restart.ps1 -Check", 1),
    ("boot-trace.ps1 Remove", 1),
];

/// Every fault, with the option of the deployment.
fn faults() -> impl Iterator<Item = ((&'static str, u32), &'static str)> {
    let restart = RESTART_FAULTS.into_iter().map(|fault| (fault, "--reboot"));
    FAULTS.into_iter().map(|fault| (fault, "--verifier")).chain(restart)
}

#[test]
fn a_machine_that_restarts_is_waited_for_and_its_start_is_recorded() {
    let Some((machine, server)) = machine("restarts") else { return };
    let output = deploy(&machine, &server, &["--reboot"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert_eq!(machine.calls(), RESTART_CALLS);
    assert!(machine.state().is_empty(), "{:?}", home(&machine));
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
    for part in
        ["waiting until vm has restarted, at most 300 s", "restart      passed", "the trace is that of nt-host: "]
    {
        assert!(printed(&output).contains(part), "{part} in {}", printed(&output));
    }
    let evidence = evidence(&machine);
    assert!(evidence.is_good(), "{evidence:?}");
    assert!(evidence.replies.len() == 9, "{evidence:?}");
    let output = deploy(&machine, &server, &["--reboot", "--verifier"]);
    assert_eq!(output.status.code(), Some(2), "volatile settings do not survive a restart: {}", printed(&output));
}

#[test]
fn a_step_that_fails_leaves_the_machine_as_it_was_or_says_what_is_left() {
    let Some((machine, server)) = machine("fails") else { return };
    for ((call, count), option) in faults() {
        machine.set_fault(call, count, Fault::Fail).unwrap();
        let output = deploy(&machine, &server, &[option]);
        assert_eq!(output.status.code(), Some(1), "{call}: {}", printed(&output));
        assert!(evidence(&machine).steps.iter().any(|step| step.status == Status::Failed), "{call}");
        check_after_fault(&machine, &server, &output, call, &[option]);
    }
}

#[test]
fn a_connection_that_breaks_in_any_step_is_repaired_by_the_next_run() {
    let Some((machine, server)) = machine("breaks") else { return };
    for ((call, count), option) in faults() {
        machine.set_fault(call, count, Fault::Disconnect).unwrap();
        let output = deploy(&machine, &server, &[option]);
        // A connection that breaks is what a restart looks like.
        let is_expected = call == "restart.ps1 -Check";
        assert_eq!(output.status.code(), Some(i32::from(!is_expected)), "{call}: {}", printed(&output));
        assert_eq!(printed(&output).contains("the connection failed: "), !is_expected, "{call}: {}", printed(&output));
        check_after_fault(&machine, &server, &output, call, &[option]);
    }
}

/// A step that hangs ends with Ctrl-C, and the machine is cleaned.
#[test]
fn an_interrupt_ends_a_step_that_hangs_and_cleans_up() {
    let Some((machine, server)) = machine("hangs") else { return };
    let pipe = machine.path("hangs");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for ((call, count), option) in faults().filter(|((call, _), _)| FORWARD.contains(call)) {
        machine.set_fault(call, count, Fault::Hang).unwrap();
        let child =
            command(&machine, &server, &[option]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Opening the pipe waits until the script hangs.
        let mut line = String::new();
        fs::File::open(&pipe).unwrap().read_to_string(&mut line).unwrap();
        assert_eq!(line.trim_end(), call);
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let is_left = printed(&output).contains("left on vm:");
        assert_eq!(output.status.code(), Some(if is_left { 1 } else { 130 }), "{call}: {}", printed(&output));
        check_after_fault(&machine, &server, &output, call, &[option]);
    }
}

/// The calls that an interrupt ends. The others clean up, and are not interrupted.
const FORWARD: [&str; 10] = [
    "machine.ps1",
    "install.ps1 -Check",
    "verifier.ps1",
    "record.ps1 -Start",
    "install.ps1",
    "send.ps1",
    "boot-trace.ps1 Enable",
    "install.ps1 -Restart",
    "restart.ps1 -Now",
    "restart.ps1 -Check",
];

#[test]
fn a_full_disk_changes_nothing() {
    let Some((machine, server)) = machine("full") else { return };
    fs::write(machine.path("full"), "").unwrap();
    let output = deploy(&machine, &server, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("check the free space"), "{}", printed(&output));
    assert!(printed(&output).contains("nothing was changed"), "{}", printed(&output));
    assert!(machine.calls().is_empty(), "{:?}", home(&machine));
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
}

#[test]
fn a_connection_that_breaks_while_files_are_copied_changes_nothing() {
    let Some((machine, server)) = machine("cut") else { return };
    fs::write(machine.path("cut"), "").unwrap();
    let output = deploy(&machine, &server, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("nothing was changed there"), "{}", printed(&output));
    assert!(machine.calls().is_empty(), "{:?}", home(&machine));
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
}

#[test]
fn a_machine_without_test_mode_is_refused_with_the_line_that_fixes_it() {
    let Some((machine, server)) = machine("test-mode") else { return };
    machine.set_test_mode(false).unwrap();
    let output = deploy(&machine, &server, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("bcdedit /set testsigning on"), "{}", printed(&output));
    assert_eq!(machine.calls(), ["machine.ps1", "install.ps1 -Check"]);
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
}

#[test]
fn a_driver_that_is_kept_is_removed_on_request() {
    let Some((machine, server)) = machine("keep") else { return };
    let output = deploy(&machine, &server, &["--keep"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(machine.state().contains_key("driver"), "{:?}", machine.state());
    assert!(!machine.state().contains_key("session"), "{:?}", machine.state());
    assert!(printed(&output).contains("cargo driver deploy vm --remove"), "{}", printed(&output));
    let output = deploy(&machine, &server, &["--remove"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(machine.state().is_empty(), "{:?}", home(&machine));
    assert!(home(&machine).is_empty(), "{:?}", home(&machine));
    let again = deploy(&machine, &server, &["--remove"]);
    assert!(again.status.success(), "{}", printed(&again));
    assert!(printed(&again).contains("nothing was changed"), "{}", printed(&again));
}

#[test]
fn a_machine_that_cannot_be_reached_is_named() {
    let Some((machine, server)) = machine("reach") else { return };
    let config = server.config.clone();
    drop(server);
    let mut command = program();
    command.args(["deploy", "vm", "--manifest-path"]).arg(manifest()).arg("--package-dir").arg(&MADE.package);
    command.arg("--client").arg(&MADE.client).arg("--ssh-config").arg(config).arg("--out").arg(machine.path("out"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert!(printed(&output).contains("vm cannot be reached: the connection failed: "), "{}", printed(&output));
}
