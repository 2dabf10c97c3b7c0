//! The deployment scripts: what can be known of them where no PowerShell is.

mod common;

use std::fs;
use std::path::PathBuf;

use common::inputs::{names, signer, usual};
use common::tools;
use common::verifiers::{Verdict, ask, python, root, script};
use driver_package::inf::Arch;
use driver_package::package::Request;

fn folder() -> PathBuf {
    root().join("driver-sample/deploy")
}

fn scripts() -> Vec<(String, String)> {
    let names = names(&folder());
    names.into_iter().map(|name| (name.clone(), fs::read_to_string(folder().join(name)).unwrap())).collect()
}

#[test]
fn they_are_ascii_which_every_powershell_reads_the_same() {
    for (name, text) in scripts() {
        assert!(text.is_ascii(), "{name}");
        assert!(!text.contains('\t') && text.ends_with('\n'), "{name}");
    }
}

#[test]
fn they_parse() {
    let Some(python) = python("import tree_sitter, tree_sitter_powershell") else { return };
    let target = tools::folder("scripts-parse");
    let request = Request { scripts: Some(folder()), provider: Some("A.B".into()), ..usual(&target, Arch::X64) };
    let out = target.join("out");
    request.make(&signer()).unwrap().write(&out).unwrap();
    let paths = names(&out).into_iter().map(|name| out.join(name));
    let is_script =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "ps1" || extension == "psd1");
    let files: Vec<String> = paths.filter(is_script).map(|path| path.to_str().unwrap().to_owned()).collect();
    assert_eq!(files.len(), 7, "{files:?}");
    let own = script("powershell_parse.py");
    let arguments: Vec<&str> = std::iter::once(own.as_str()).chain(files.iter().map(String::as_str)).collect();
    let (verdict, said) = ask(&python, &arguments);
    assert_eq!(verdict, Verdict::Accepted, "{said}");
    // The grammar does find what is wrong.
    fs::write(out.join("wrong.ps1"), "if ($x { }\n").unwrap();
    assert_eq!(ask(&python, &[&own, out.join("wrong.ps1").to_str().unwrap()]).0, Verdict::Refused);
}

/// Every `$package.Name` in a script is a value that the package's data file has.
#[test]
fn what_they_read_is_in_the_data_file() {
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

/// Commands of Windows PowerShell 5.1 that the scripts may use.
const COMMANDS: [&str; 32] = [
    "Add-Type",
    "Compress-Archive",
    "ForEach-Object",
    "Format-List",
    "Get-AuthenticodeSignature",
    "Get-ChildItem",
    "Get-Content",
    "Get-Date",
    "Get-FileHash",
    "Get-Help",
    "Get-ItemProperty",
    "Get-Location",
    "Get-PnpDevice",
    "Get-WinEvent",
    "Get-WindowsDriver",
    "Import-Certificate",
    "Import-PowerShellDataFile",
    "Join-Path",
    "New-Item",
    "New-Object",
    "Out-File",
    "Out-Host",
    "Out-Null",
    "Remove-Item",
    "Select-Object",
    "Set-ExecutionPolicy",
    "Split-Path",
    "Start-Sleep",
    "Test-Path",
    "Where-Object",
    "Write-Host",
    "Write-Warning",
];

#[test]
fn they_call_commands_that_exist() {
    let all: String = scripts().into_iter().map(|(_, text)| text).collect();
    let defined: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("function ")?.split(' ').next()).collect();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_command = |word: &&str| {
        let capital = |part: &str| part.starts_with(|c: char| c.is_ascii_uppercase());
        word.split_once('-').is_some_and(|(verb, noun)| capital(verb) && capital(noun) && !noun.contains('-'))
    };
    let called: Vec<&str> = all.split(|c| !is_part(c)).filter(is_command).collect();
    assert!(called.len() > 80, "{}", called.len());
    for command in &called {
        assert!(defined.contains(command) || COMMANDS.contains(command), "{command}");
    }
    for function in defined {
        assert!(called.iter().filter(|name| **name == function).count() > 1, "{function} is defined and not called");
    }
}
