//! `adopt`: scripts and a description for a package that the WDK made.
//!
//! Exit codes: 0 when the files were added, 1 when something about the folder is not right, 2 when the command line is
//! wrong.

use std::ffi::OsString;
use std::path::PathBuf;

use driver_package::package::{Adopted, Adoption};

use super::{Command, Outcome, print};

pub(crate) const COMMAND: Command = Command { name: "adopt", help: || HELP.into(), run };

const HELP: &str = "\
Adds scripts and a description to a package that the WDK made

Usage: driver-package adopt [flags] FOLDER

FOLDER is what `cargo wdk build` or `cargo make` left on Windows,
target/<triple>/<profile>/NAME_package, or the folder that it is in. Its files
are checked and not changed. Added are: scripts that install, record, diagnose
and uninstall, package.psd1 for them, README.txt, a recording profile for WPR if
the provider is known, and the certificate of the signatures if it is missing.

Flags:
  --provider NAME    the driver's ETW provider, for scripts and profile
  --scripts FOLDER   PowerShell scripts instead of the built-in ones
  --etwctl FILE      etwctl.exe, which is added as it is
  --replace          replaces files of an earlier run that differ
  --help             prints this text (also -h)

Exit codes: 0 done; 1 a file is missing, damaged, does not belong to the others
or is in the way: nothing was changed; 2 wrong usage.
";

fn run(words: &[OsString]) -> Outcome {
    let adoption = parse(words)?;
    Ok(match adoption.adopt() {
        Ok(adopted) => {
            for warning in &adopted.warnings {
                eprintln!("{warning}");
            }
            print(&summary(&adopted))
        }
        Err(problems) => {
            eprintln!("{problems}");
            1
        }
    })
}

fn summary(adopted: &Adopted) -> String {
    let mut text = format!("{} ({})\n", adopted.folder.display(), adopted.arch.name());
    for (what, names) in [("added", &adopted.added), ("replaced", &adopted.replaced)] {
        text.extend(names.iter().map(|name| format!("  {what} {name}\n")));
    }
    if adopted.added.is_empty() && adopted.replaced.is_empty() {
        text.push_str("  everything was there already\n");
    }
    text
}

fn parse(words: &[OsString]) -> Result<Adoption, String> {
    let mut adoption = Adoption { folder: PathBuf::new(), scripts: None, provider: None, etwctl: None, replace: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let flag = word.to_string_lossy();
        let mut value = || words.next().ok_or_else(|| format!("`{flag}` needs a value"));
        match flag.as_ref() {
            "--provider" => adoption.provider = Some(value()?.to_string_lossy().into_owned()),
            "--scripts" => adoption.scripts = Some(value()?.into()),
            "--etwctl" => adoption.etwctl = Some(value()?.into()),
            "--replace" => adoption.replace = true,
            other if other.starts_with('-') => return Err(format!("unknown flag `{other}`")),
            _ if adoption.folder.as_os_str().is_empty() => adoption.folder = word.into(),
            other => return Err(format!("unexpected argument `{other}`: one folder at a time")),
        }
    }
    if adoption.folder.as_os_str().is_empty() {
        return Err("no folder given".into());
    }
    Ok(adoption)
}
