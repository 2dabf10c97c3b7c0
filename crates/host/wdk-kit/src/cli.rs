//! The command `wdk-kit`.
//!
//! `wdk-kit make` makes the kit. `wdk-kit prepare` makes everything that a build of a driver needs before cargo is started. It
//! prints lines of the form `key=value` for the crate `driver-build`:
//!
//! ```text
//! root=…        the kit
//! override=…    a package that replaces wdk-build or winreg
//! tools=…       a folder with programs that have the names of Microsoft's tools, for build scripts
//! unstable-flags=yes  if some of the compiler's flags are unstable
//! names-entry=yes  if a package passes /ENTRY to the linker
//! separate=…    the manifest of a driver that is built separately
//! separate-package=…  its name
//! workspace=…   the driver's workspace
//! target=…      its target directory
//! others=…      the number of its packages without a driver
//! model=…       the driver model of the following packages, as JSON (empty for drivers without Microsoft's crates)
//! package=…     a driver with this model
//! library=…     the name of its library
//! unstable=…    the name of a library that enables unstable features: the driver's, or one that it may use
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Workspace, make, real, write_tools};

const USAGE: &str = "usage: wdk-kit make FOLDER
       wdk-kit prepare --out FOLDER --target TRIPLE --manifest-path FILE [--package NAME]... [--wdk FOLDER]";

/// Runs the command with its arguments.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    // Paths are passed to cargo, which accepts only valid UTF-8.
    let words: Result<Vec<String>, _> = words.map(OsString::into_string).collect();
    match words.map_err(|_| USAGE.into()).and_then(|words| run(words.into_iter())) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<String, Box<dyn std::error::Error>> {
    let help = || format!("{USAGE}\n");
    let unexpected = |word: &str| format!("unexpected argument '{word}'\n{USAGE}");
    match words.next().as_deref() {
        Some("prepare") => {}
        Some("make") => {
            let folder = words.next().ok_or(USAGE)?;
            if is_help(&folder) {
                return Ok(help());
            }
            // A folder whose name begins with a dash can be written as ./-name.
            if let Some(word) = Some(&folder).filter(|word| word.starts_with('-')).or(words.next().as_ref()) {
                return Err(unexpected(word).into());
            }
            return Ok(format!("{}\n", make(&PathBuf::from(folder))?.display()));
        }
        Some(word) if is_help(word) => return Ok(help()),
        Some(word) => return Err(unexpected(word).into()),
        None => return Err(USAGE.into()),
    }
    let (mut out, mut triple, mut manifest, mut packages, mut wdk) = (None, None, None, Vec::new(), None);
    while let Some(word) = words.next() {
        if is_help(&word) {
            return Ok(help());
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--out" => out = Some(PathBuf::from(value)),
            "--target" => triple = Some(value),
            "--manifest-path" => manifest = Some(fs::canonicalize(value)?),
            "--package" => packages.push(value),
            "--wdk" => wdk = Some(PathBuf::from(value)),
            _ => return Err(unexpected(&word).into()),
        }
    }
    let (Some(out), Some(triple), Some(manifest)) = (out, triple, manifest) else { return Err(USAGE.into()) };
    let workspace = Workspace::read(&manifest, &triple, &packages)?;
    let root = match wdk {
        Some(folder) => real(&folder, &out)?,
        None => make(&out.join("kit"))?,
    };
    let mut lines = vec![
        format!("root={}", root.display()),
        format!("workspace={}", workspace.root.display()),
        format!("target={}", workspace.target.display()),
        format!("others={}", workspace.others),
    ];
    for replacement in workspace.write_replacements(&out.join("stand-in"))? {
        lines.push(format!("override={}", replacement.display()));
    }
    lines.push(format!("tools={}", write_tools(&out.join("tools"))?.display()));
    if workspace.has_unstable_flags {
        lines.push(String::from("unstable-flags=yes"));
    }
    if workspace.names_entry {
        lines.push(String::from("names-entry=yes"));
    }
    for package in &workspace.separate {
        lines.push(format!("separate={}", package.folder.join("Cargo.toml").display()));
        lines.push(format!("separate-package={}", package.name));
    }
    for (model, packages) in &workspace.groups {
        lines.push(format!("model={model}"));
        for package in packages {
            lines.push(format!("package={}", package.name));
            lines.push(format!("library={}", package.library));
        }
        lines.extend(workspace.unstable.iter().map(|name| format!("unstable={name}")));
    }
    Ok(lines.join("\n") + "\n")
}

fn is_help(word: &str) -> bool {
    matches!(word, "--help" | "-h")
}

#[cfg(test)]
mod tests {
    use super::{USAGE, run};

    fn said(line: &str) -> Result<String, String> {
        run(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn help_is_the_usage_and_no_name_of_a_folder() {
        for line in ["--help", "-h", "make --help", "make -h", "prepare --help", "prepare --out x -h"] {
            assert_eq!(said(line), Ok(format!("{USAGE}\n")), "{line}");
        }
    }

    #[test]
    fn unknown_arguments_are_rejected() {
        for (line, word) in [
            ("build x", "build"),
            ("make --folder x", "--folder"),
            ("make -", "-"),
            ("make one two", "two"),
            ("prepare --output x", "--output"),
        ] {
            assert_eq!(said(line), Err(format!("unexpected argument '{word}'\n{USAGE}")), "{line}");
        }
        for line in ["", "make", "prepare", "prepare --out"] {
            assert_eq!(said(line), Err(USAGE.to_owned()), "{line}");
        }
    }
}
