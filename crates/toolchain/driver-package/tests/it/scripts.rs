//! Tests the deployment scripts, as far as possible without PowerShell and Windows.
//!
//! `powershell_check.py` parses the scripts and checks them against Microsoft's inventory of the commands, parameters
//! and programs of Windows 10 1607. Their C# code is compiled. The order of their steps is checked in the text. The
//! scripts are not run.

use std::fs;
use std::path::PathBuf;

use crate::common::inputs::{names, signer, usual};
use crate::common::tools;
use crate::common::verifiers::{Verdict, ask, program, python, root, script};
use driver_package::inf::Arch;
use driver_package::package::{Request, Scripts};

fn folder() -> PathBuf {
    root().join("crates/toolchain/driver-package/deploy")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

fn scripts() -> Vec<(String, String)> {
    names(&folder()).into_iter().map(|name| (name.clone(), read(&name))).collect()
}

#[test]
fn they_are_ascii_which_every_powershell_reads_the_same() {
    for (name, text) in scripts() {
        assert!(text.is_ascii(), "{name}");
        assert!(!text.contains('\t'), "{name}");
        assert!(text.ends_with('\n'), "{name}");
    }
}

/// Runs the checker. Returns `None` if the grammar is missing. The list of commands is optional.
fn check(files: &[PathBuf]) -> Option<(Verdict, String)> {
    let python = python("import tree_sitter, tree_sitter_powershell")?;
    let commands = root().join("target/verifiers/powershell.json");
    let mut arguments = vec![script("powershell_check.py")];
    if commands.is_file() {
        arguments.extend(["--commands".into(), commands.to_str().unwrap().into()]);
    } else {
        eprintln!("skipped the commands of Windows: `cargo xtask test` makes their list if npm is installed");
    }
    arguments.extend(files.iter().map(|path| path.to_str().unwrap().to_owned()));
    Some(ask(&python, &arguments))
}

#[test]
fn they_pass_the_checks() {
    let target = tools::folder("scripts-check");
    let request = Request { scripts: Scripts::In(folder()), provider: Some("A.B".into()), ..usual(&target, Arch::X64) };
    let out = target.join("out");
    request.make(&signer()).unwrap().write(&out).unwrap();
    let is_script = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ps1");
    let files: Vec<PathBuf> = names(&out).into_iter().map(|name| out.join(name)).filter(is_script).collect();
    assert_eq!(files.len(), 13, "{files:?}");
    let Some((verdict, said)) = check(&files) else { return };
    assert_eq!(verdict, Verdict::Accepted, "{said}");
    let (verdict, said) = check(&[out.join("package.psd1")]).unwrap();
    assert_eq!(verdict, Verdict::Accepted, "{said}");
}

/// The block that prepares a test machine, in the documentation.
#[test]
fn the_preparation_of_a_machine_passes_the_checks() {
    let page = fs::read_to_string(root().join("docs/your-driver-on-windows.md")).unwrap();
    let block = page.split("```powershell\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(block.contains("testsigning on"), "{block}");
    assert!(block.ends_with("Restart-Computer\n"), "{block}");
    let target = tools::folder("scripts-preparation");
    let file = target.join("prepare.ps1");
    fs::write(&file, block).unwrap();
    let Some((verdict, said)) = check(&[file]) else { return };
    assert_eq!(verdict, Verdict::Accepted, "{said}");
}

/// A script with one line that violates each rule.
const WRONG: &str = "function Fix-It {
    param($Package, $Unused)
    Invoke-Program pnputil @('/remove-device', $Package)
    Invoke-Program devcon @('remove', $Package)
    ls $Package
    Get-Nothing $Package
    Test-Path -Litteral $Package
    Get-Content $Package
    Copy-Item -LiteralPath C:\\foo\\bar -Destination $Package
    if ($Package -eq $null) { }
    $never = 1
}
function Invoke-Program {
    param($Program, $Arguments)
    & $Program @Arguments
}
function Get-Lost {
}
Fix-It 1 2 3
";

#[test]
fn the_checks_find_what_is_wrong() {
    let target = tools::folder("scripts-wrong");
    let file = target.join("wrong.ps1");
    fs::write(&file, WRONG).unwrap();
    let Some((verdict, said)) = check(std::slice::from_ref(&file)) else { return };
    assert_eq!(verdict, Verdict::Refused);
    for (line, rule) in [
        (1, "verb"),
        (1, "parameter"),
        (3, "windows-version"),
        (5, "alias"),
        (9, "quotes"),
        (10, "null"),
        (11, "variable"),
    ] {
        assert!(said.contains(&format!("wrong.ps1:{line}: {rule}: ")), "{line} {rule}: {said}");
    }
    assert!(said.contains("get-lost: function: "), "{said}");
    assert!(said.contains("wrong.ps1:19: parameter: "), "{said}");
    if root().join("target/verifiers/powershell.json").is_file() {
        for (line, rule) in [(4, "program"), (6, "command"), (7, "parameter"), (8, "literal-path")] {
            assert!(said.contains(&format!("wrong.ps1:{line}: {rule}: ")), "{line} {rule}: {said}");
        }
    }
    fs::write(&file, "if ($x { }\n").unwrap();
    assert!(check(&[file]).unwrap().1.contains("syntax"));
}

/// Windows PowerShell compiles C# 5.
#[test]
fn their_c_sharp_compiles() {
    let Some(compiler) = program("mcs", &["--version"]) else { return };
    let target = tools::folder("scripts-csharp");
    let text = read("device.ps1");
    let source = text.split("@'\n").nth(1).unwrap().split("\n'@").next().unwrap();
    let compile = |source: &str| {
        fs::write(target.join("device.cs"), source).unwrap();
        let out = format!("-out:{}", target.join("device.dll").display());
        let flags = ["-langversion:5", "-target:library", "-warn:4", "-warnaserror", &out];
        let file = target.join("device.cs");
        ask(&compiler, &[&flags[..], &[file.to_str().unwrap()]].concat())
    };
    let (verdict, said) = compile(source);
    assert_eq!(verdict, Verdict::Accepted, "{said}");
    assert_eq!(compile(&source.replace("out restart", "restart")).0, Verdict::Refused);
}

/// Every `$package.Name` in a script must be a value in the package's data file.
#[test]
fn scripts_read_only_values_of_the_data_file() {
    let target = tools::folder("scripts-data");
    let package = usual(&target, Arch::X64).make(&signer()).unwrap();
    let data = package.files().iter().find(|(name, _)| name == "package.psd1").unwrap();
    let data = String::from_utf8(data.1.clone()).unwrap();
    let known: Vec<&str> =
        data.lines().filter_map(|line| line.split_once(" = ")?.0.split_whitespace().next()).collect();
    let mut used = 0;
    for (name, text) in scripts() {
        for tail in text.to_lowercase().split("$package.").skip(1) {
            let value: String = tail.chars().take_while(char::is_ascii_alphanumeric).collect();
            assert!(known.iter().any(|key| key.to_lowercase() == value), "{name}: $package.{value}, of {known:?}");
            used += 1;
        }
    }
    assert!(used > 20, "{used}");
}

/// Returns the part of a script after its functions.
fn main_part(text: &str) -> &str {
    text.split("\nAssert-Administrator\n").nth(1).unwrap()
}

/// Returns the lines of a function.
fn body<'a>(text: &'a str, function: &str) -> &'a str {
    text.split(&format!("\nfunction {function} {{\n")).nth(1).unwrap().split("\n}\n").next().unwrap()
}

/// Prefixes of commands that change something.
const CHANGES: [&str; 14] = [
    "Invoke-Program",
    "Install-",
    "Import-Certificate",
    "New-Item",
    "New-RootDevice",
    "Set-",
    "Add-Type",
    "Remove-",
    "Stop-",
    "Save-",
    "Move-",
    "Enable-",
    "Disable-",
    "Restart-",
];

/// Returns the position of the first command that changes something.
fn first_change(text: &str) -> Option<usize> {
    CHANGES.iter().filter_map(|change| text.find(change)).min()
}

#[test]
fn install_checks_build_and_framework_before_it_changes_anything() {
    let text = read("install.ps1");
    let main = main_part(&text);
    let checked = main.find("Assert-Machine $package").unwrap();
    assert!(first_change(main).unwrap() > checked, "{main}");
    let checks = body(&text, "Assert-Machine");
    assert_eq!(first_change(checks), None, "{checks}");
    for part in [
        "Get-Architecture",
        "$build -lt $Package.MinimumBuild",
        "$build -lt $DriverVerbsBuild",
        "$framework -lt [Version]$Package.Kmdf",
        "$Package.TestMode -and (Test-SecureBoot)",
        "$Package.TestMode -and -not (Test-TestSigning)",
        "throw ($problems",
    ] {
        assert!(checks.contains(part), "{part}");
    }
    // The functions that the checks use must not change anything either.
    let common = read("common.ps1");
    for function in [
        "Get-Processor",
        "Get-Architecture",
        "Get-WindowsBuild",
        "Get-FrameworkVersion",
        "Test-TestSigning",
        "Test-SecureBoot",
    ] {
        assert_eq!(first_change(body(&common, function)), None, "{function}");
    }
}

/// `install.ps1 -Check` and `machine.ps1` run on a machine that nobody has agreed to change yet.
#[test]
fn a_check_of_the_machine_changes_nothing() {
    let text = read("install.ps1");
    let (before, _) = main_part(&text).split_once("if ($Check) {").unwrap();
    assert!(before.contains("Assert-Machine $package"), "{before}");
    assert_eq!(first_change(before), None, "{before}");
    assert_eq!(first_change(&read("machine.ps1")), None);
}

/// Only `-Now` changes something. It marks the restart before it asks for it, with something that Windows forgets.
#[test]
fn a_restart_can_be_distinguished_from_none() {
    let text = read("restart.ps1");
    let (now, check) = main_part(&text).split_once("if (-not $Check) {").unwrap();
    let place = |part: &str| now.find(part).unwrap_or_else(|| panic!("{part} in {now}"));
    assert!(place("::Volatile") < place("CreateSubKey"), "{now}");
    assert!(place("CreateSubKey") < place("shutdown"), "{now}");
    assert_eq!(first_change(check), None, "{check}");
    // With a restart ahead, a device that has not started is not a failure of the installation.
    assert!(read("install.ps1").contains("if (-not $Restart) {\n        Assert-Started $package\n"));
}

/// The driver's last events are written when its device is removed, so the session must go on until then.
#[test]
fn a_recording_can_span_install_and_remove() {
    let record = read("record.ps1");
    let main = main_part(&record);
    let (stop, start) = main.split_once("$provider = ").unwrap();
    let place = |text: &str, part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(place(stop, "'query'") < place(stop, "'stop'"), "the statistics are read before the session ends");
    assert!(place(start, "'create', 'trace'") < place(start, "if ($Start) {"), "{start}");
    assert!(place(start, "if ($Start) {") < place(start, "Restart-Device"), "{start}");
    assert!(!read("remove.ps1").contains("Session"));
    assert!(!read("remove.ps1").contains("/delete-driver"));
    // A recording that nothing stopped is stopped by the removal of everything.
    assert!(read("uninstall.ps1").contains("Stop-Session \"$($package.Name)-record\""));
}

/// On ARM64, a PowerShell for x64 is a 64-bit process, too.
#[test]
fn a_powershell_for_another_processor_is_rejected() {
    let common = read("common.ps1");
    let check = body(&common, "Assert-Administrator");
    assert!(check.contains("$env:PROCESSOR_ARCHITECTURE -ne $native") && !check.contains("Is64BitProcess"), "{check}");
}

/// Returns the lines that change something outside an `Invoke-Step`, which continues after a failure.
fn unprotected(main: &str) -> Vec<&str> {
    let mut open: Vec<bool> = Vec::new();
    let mut found = Vec::new();
    for line in main.lines() {
        let is_step = line.contains("Invoke-Step ");
        if first_change(line.rsplit("Invoke-Step ").next().unwrap()).is_some() && !is_step && !open.contains(&true) {
            found.push(line);
        }
        // `${name}` does not begin a block.
        let is_name = |piece: &str| piece.split_once('}').map_or(piece.len(), |(name, _)| name.len() + 1);
        let mut pieces = line.split("${");
        let first = pieces.next().unwrap_or_default();
        for c in pieces.fold(first.to_owned(), |text, piece| text + &piece[is_name(piece)..]).chars() {
            match c {
                '{' => open.push(is_step),
                '}' => drop(open.pop()),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn uninstall_removes_certificates_first_goes_on_after_failures_and_reports() {
    let text = read("uninstall.ps1");
    let main = main_part(&text);
    let first = main.split("Invoke-Step ").nth(1).unwrap();
    assert!(first.contains("{ Remove-Certificate $package $store }"), "{first}");
    assert_eq!(unprotected(main), [""; 0]);
    let wrong = "Invoke-Step 'y' { Remove-Item \"${y}\" }\nInvoke-Step 'z' {\n    Remove-Item z\n}\nRemove-Item x\n";
    assert_eq!(unprotected(wrong), ["Remove-Item x"]);
    assert!(body(&text, "Invoke-Step").contains("catch {"));
    assert!(!body(&text, "Invoke-Step").contains("throw"));
    // The script checks afterwards whether what it removed is gone. If anything is left, the exit code says so.
    let (removing, looking) = main.split_once("# What is still there").unwrap();
    for (step, sight) in [
        ("Remove-Certificate", "Get-CertificatePath"),
        ("Stop-Session", "Test-Session"),
        ("Remove-BootSession", "Get-BootKey"),
        ("Save-BootTrace", "Get-BootFile"),
        ("Remove-Device", "Get-PackageDevice"),
        ("/delete-driver", "Get-PackageDriver"),
        ("Remove-PackageService", "Test-PackageService"),
        ("Remove-PackageClass", "Test-EmptyClass"),
    ] {
        assert!(removing.contains(step), "{step} {sight}");
        assert!(looking.contains(sight), "{step} {sight}");
    }
    assert!(looking.contains("if ($remains.Count -eq 0 -and $failures.Count -eq 0) {") && text.ends_with("exit 1\n"));
}

#[test]
fn devices_are_removed_and_restarted_where_pnputil_cannot() {
    let text = read("device.ps1");
    for (function, old) in [("Remove-Device", "[SetupDevice]::Remove("), ("Restart-Device", "Enable-PnpDevice")] {
        let body = body(&text, function);
        let guard = body.find("if ((Get-WindowsBuild) -ge $DeviceVerbsBuild)").unwrap();
        assert!(guard < body.find("pnputil").unwrap(), "{body}");
        assert!(body.find(old).unwrap() > body.find("return").unwrap(), "{body}");
    }
    let common = read("common.ps1");
    for (name, release) in [
        ("$DriverVerbsBuild", windows_releases::Release::Win10_1607),
        ("$DeviceVerbsBuild", windows_releases::Release::Win10_2004),
    ] {
        assert!(common.contains(&format!("\n{name} = {}\n", release.build())), "{name}");
    }
}

#[test]
fn the_certificate_is_described_as_what_it_is() {
    for name in ["install.ps1", "uninstall.ps1"] {
        let text = read(name).replace('\n', " ");
        assert!(text.contains("in test mode or not"), "{name}");
        assert!(text.contains("trusts"), "{name}");
    }
}

/// Values in Microsoft Learn's table of `AutoLogger` values, with their types.
const AUTOLOGGER: [(&str, &str); 8] = [
    ("Guid", "String"),
    ("FileName", "String"),
    ("LogFileMode", "DWord"),
    ("MaxFileSize", "DWord"),
    ("FlushTimer", "DWord"),
    ("Start", "DWord"),
    ("Enabled", "DWord"),
    ("EnableLevel", "DWord"),
];

#[test]
fn boot_tracing_uses_documented_values_and_can_be_removed() {
    let text = read("boot.ps1");
    assert!(text.contains(r"HKLM:\SYSTEM\CurrentControlSet\Control\WMI\Autologger"));
    let enable = body(&text, "Enable-BootSession");
    let mut set: Vec<(&str, &str)> = Vec::new();
    for line in enable.lines().filter_map(|line| line.trim().strip_prefix("Set-BootValue ")) {
        let quoted: Vec<&str> = line.split('\'').collect();
        set.push((quoted[1], quoted[3]));
    }
    let mut documented = AUTOLOGGER.to_vec();
    documented.push(("MatchAnyKeyword", "QWord"));
    documented.sort_unstable();
    assert_eq!(set.last(), Some(&("Start", "DWord")), "a session that is not complete does not start");
    set.sort_unstable();
    assert_eq!(set, documented);
    assert!(body(&text, "Remove-BootSession").contains("Remove-Item -LiteralPath $key -Recurse"));
    let command = read("boot-trace.ps1");
    for action in ["Enable", "Collect", "Remove"] {
        assert!(command.contains(&format!("    '{action}' {{\n")), "{action}");
    }
}
