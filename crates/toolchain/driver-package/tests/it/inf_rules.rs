//! Rules of infverif: what violates each of them, on which line, and that the sample driver violates none.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::inputs::INX;
use crate::common::tools;
use driver_package::inf::lint::{RULES, Rule, lint};
use driver_package::inf::{Arch, Inf};

/// Returns the example as it is after stamping, with the same line numbers.
fn example() -> String {
    INX.replace("$ARCH$", "amd64").replace("$KMDFVERSION$", "1.33")
}

fn faults(text: &str) -> Vec<(u16, usize)> {
    let inf = Inf::parse(text).unwrap();
    lint(&inf, Arch::X64).into_iter().map(|fault| (fault.rule, fault.line)).collect()
}

#[test]
fn the_example_breaks_no_rule() {
    assert_eq!(faults(&example()), []);
}

#[test]
fn each_rule_is_broken_by_one_change() {
    for (from, to, expected) in [
        ("$Windows NT$", "$Chicago$", &[(1001, 2)][..]),
        ("Somebody", "Microsoft", &[(1204, 5)]),
        ("Provider    = %Maker%\n", "\n", &[(1006, 1)]),
        ("Class       = Example\n", "\n", &[(1006, 1)]),
        ("CatalogFile = other.cat\n", "\n", &[(1233, 1)]),
        ("PnpLockdown = 1\n", "PnpLockdown = 0\n", &[(1324, 8)]),
        ("PnpLockdown = 1\n", "\n", &[(1324, 1)]),
        ("DefaultDestDir = 13", "DefaultDestDir = 12", &[(1322, 11)]),
        ("%13%\\driver.sys", "%12%\\driver.sys", &[(1322, 42)]),
        ("[Files]\ndriver.sys", "[Files]\nother.sys", &[(1230, 30)]),
        ("HKR,,Speed", "HKLM,Software\\X,Speed", &[(1321, 33)]),
        ("HKR,,Speed,0x00010001,3", "HKLM,Software\\X", &[(1320, 33)]),
        ("0x00000002", "0", &[(1296, 35)]),
        ("AddService = driver,0x00000002,Service\n", "\n", &[(1296, 35), (2083, 38)]),
        (",Root\\Example,Root\\Other", "", &[(1297, 23)]),
        (
            "Models,NTamd64",
            "Models,NTx86",
            &[
                (1297, 19),
                (2083, 22),
                (2083, 25),
                (2083, 29),
                (2083, 32),
                (2083, 35),
                (2083, 38),
                (2083, 44),
                (2083, 47),
            ],
        ),
        ("%Device% =", "%Devise% =", &[(1235, 23)]),
        ("AddReg    = Registry", "AddReg    = Registri", &[(1203, 27), (2083, 32)]),
        ("StartType     = 3\n", "\n", &[(1006, 38)]),
        ("[Strings]", "[Left.Over]\nx = 1\n[Strings]", &[(2083, 50)]),
        ("[Strings]", "[Files.Other]\nx = 1\n[Strings]", &[(2083, 50)]),
    ] {
        let text = example();
        assert!(text.contains(from), "{from}");
        assert_eq!(faults(&text.replace(from, to)), expected, "{from:?} -> {to:?}");
    }
}

/// An INF that is installed as a whole, without a device.
const WITHOUT_DEVICES: &str = "[Version]
Signature   = \"$Windows NT$\"
Class       = System
ClassGuid   = {4D36E97D-E325-11CE-BFC1-08002BE10318}
Provider    = %Maker%
CatalogFile = driver.cat
DriverVer   = 01/02/2024,1.2.3.4
PnpLockdown = 1
[DestinationDirs]
DefaultDestDir = 13
[DefaultInstall.NTamd64]
CopyFiles = Files
[DefaultInstall.NTamd64.Services]
AddService = driver,,Service
[DefaultUninstall.NTamd64]
LegacyUninstall = 1
[DefaultUninstall.NTamd64.Services]
DelService = driver,0x200
[Files]
driver.sys
[Service]
ServiceType   = 1
StartType     = 3
ErrorControl  = 1
ServiceBinary = %13%\\driver.sys
[SourceDisksNames]
1 = %Disk%
[SourceDisksFiles]
driver.sys = 1
[Strings]
Maker = \"Somebody\"
Disk  = \"Disk\"
";

#[test]
fn an_inf_without_devices_has_no_unused_sections_and_its_service_is_checked() {
    assert_eq!(faults(WITHOUT_DEVICES), []);
    let inf = Inf::parse(WITHOUT_DEVICES).unwrap();
    let services: Vec<_> = inf.installs(Arch::X64).into_iter().flat_map(|install| inf.services(install)).collect();
    assert_eq!(services[0].name.as_deref(), Some("driver"));
    for (from, to, expected) in [
        ("CopyFiles = Files", "CopyFiles = Filez", &[(1203, 12), (2083, 19)][..]),
        ("StartType     = 3\n", "", &[(1006, 21)]),
        ("AddService = driver,,Service\n", "", &[(2083, 20)]),
        ("DefaultInstall.NTamd64", "DefaultInstall.NTarm64", &[(1203, 1), (2083, 19), (2083, 21)]),
    ] {
        assert_eq!(faults(&WITHOUT_DEVICES.replace(from, to)), expected, "{from:?} -> {to:?}");
    }
}

#[test]
fn files_services_and_tokens_may_be_written_in_several_ways() {
    for (from, to, expected) in [
        ("CopyFiles = Files", "CopyFiles = @driver.sys", &[(2083, 29)][..]),
        ("CopyFiles = Files", "CopyFiles = @other.sys", &[(1230, 26), (2083, 29)]),
        ("[Files]\ndriver.sys", "[Files]\nrenamed.sys,driver.sys", &[]),
        ("[Files]\ndriver.sys", "[Files]\ndriver.sys,other.sys", &[(1230, 30)]),
        ("DefaultDestDir = 13", "Files = 13", &[]),
        ("DefaultDestDir = 13\n\n", "DefaultDestDir = 13\nFiles = 12\n", &[(1322, 12)]),
        ("DefaultDestDir = 13", "Others = 13", &[(1322, 30)]),
        ("[DestinationDirs]\nDefaultDestDir = 13\n", "\n\n", &[(1322, 30)]),
        ("[SourceDisksNames]\n1 = %Disk%\n", "\n\n", &[(1203, 1)]),
        ("[SourceDisksFiles]\n", "[SourceDisksFiles.amd64]\n", &[]),
        ("CatalogFile = other.cat\n", "CatalogFile.NTamd64 = other.cat\n", &[]),
        (",Root\\Other", ",100%%,%1%", &[]),
        (",Root\\Other", ",%Maker%,%Nobody%", &[(1235, 23)]),
        (",0x00000002,Service", ",2,Service", &[]),
        (",0x00000002,Service", ",0X3,Service", &[]),
        ("[Install.NT.Services]\n", "[Install.NT.Service]\n", &[(1296, 23), (2083, 38)]),
    ] {
        let text = example();
        assert!(text.contains(from), "{from}");
        assert_eq!(faults(&text.replace(from, to)), expected, "{from:?} -> {to:?}");
    }
}

#[test]
fn a_class_of_microsofts_is_not_installed_again() {
    let text = example().replace("= Example\n", "= System\n");
    assert_eq!(faults(&text), [], "using it is fine");
    assert_eq!(faults(&(text + "[ClassInstall32]\nAddReg = Registry\n")), [(1285, 54)]);
}

#[test]
fn sections_may_come_from_an_included_file() {
    let text = example()
        .replace("AddService = driver,0x00000002,Service\n", "Include = machine.inf\nNeeds = X.Services\n")
        .replace("AddReg    = Registry", "AddReg    = Theirs");
    assert_eq!(faults(&text).iter().filter(|(rule, _)| *rule != 2083).count(), 0);
}

#[test]
fn a_section_may_describe_itself() {
    let text = example().replace("[Install.NT.Wdf]\n", "AddChannel = a,0,Service\n[Install.NT.Wdf]\n");
    assert_eq!(faults(&text), []);
}

/// The example for Windows 10 1803 and later, with a provider that the INF registers.
fn with_events() -> String {
    example().replace("16299", "17134")
        + "[Install.NT.Events]\nAddEventProvider = {6b8f0f5e-6a0d-4f57-8b0c-9d4c2d1f7a31},Events\n[Events]\n\
           ProviderName = x\n"
}

#[test]
fn a_directive_that_an_older_windows_does_not_know_needs_sections_of_its_own() {
    let text = with_events();
    let line = text.lines().position(|line| line.starts_with("AddEventProvider")).unwrap() + 1;
    assert_eq!(faults(&text), [(1199, line)]);
    let inf = Inf::parse(&text).unwrap();
    let said = &lint(&inf, Arch::X64)[0].text;
    for part in ["Windows 10 1809", "build 17134", "`NTamd64.10.0...17763`", "[Install.NT]"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert_eq!(faults(&text.replace("17134", "17763")), []);
    // Two models sections: only the newer Windows installs the provider.
    let split = text
        .replace("Models,NTamd64.10.0...17134", "Models,NTamd64.10.0...17134,NTamd64.10.0...17763")
        .replace("[Install.NT.Events]", "[New.NT.Events]")
        + "[Models.NTamd64.10.0...17763]\n%Device% = New,Root\\Example\n[New.NT]\nCopyFiles = Files\n\
           [New.NT.Services]\nAddService = driver,0x00000002,Service\n";
    assert_eq!(faults(&split), []);
    // The description of a service has such directives, too.
    let service = example().replace("StartType     = 3\n", "StartType     = 3\nDelayedAutoStart = 1\n");
    assert!(faults(&service).iter().any(|(rule, _)| *rule == 1199), "{:?}", faults(&service));
}

#[test]
fn every_fault_has_a_rule_in_the_list() {
    for number in [
        1001, 1002, 1003, 1006, 1199, 1203, 1204, 1230, 1233, 1235, 1284, 1285, 1296, 1297, 1320, 1321, 1322, 1324,
        2083,
    ] {
        assert_eq!(Rule::from_number(number).map(|rule| rule.number), Some(number));
    }
    assert!(RULES.is_sorted_by_key(|rule| rule.number));
}

#[test]
fn the_sample_driver_breaks_no_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../driver-sample/driver_sample.inx");
    let text = fs::read_to_string(path).unwrap();
    for arch in [Arch::X64, Arch::Arm64] {
        let stamped = text.replace("$ARCH$", arch.inf_name()).replace("$KMDFVERSION$", "1.33");
        assert_eq!(lint(&Inf::parse(&stamped).unwrap(), arch), []);
    }
}

#[test]
fn the_command_names_file_line_and_rule() {
    let folder = tools::folder("lint");
    fs::write(folder.join("good.inf"), example()).unwrap();
    fs::write(folder.join("bad.inf"), example().replace("PnpLockdown = 1\n", "\n")).unwrap();
    let run = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_driver-package");
        let output = Command::new(program).current_dir(&folder).arg("lint").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&["good.inf"]), (Some(0), String::new()));
    let (code, said) = run(&["good.inf", "bad.inf"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("bad.inf:1: error 1324: [Version] needs PnpLockdown = 1"), "{said}");
    assert_eq!(run(&["none.inf"]).0, Some(2));
    assert!(run(&["--rules"]).1.contains("1322 (error) files stay in the driver store"));
}
