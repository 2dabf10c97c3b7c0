//! `adopt`: adds scripts and a description to a package that the WDK made.
//!
//! Exit codes: 0 if the files were added, 1 if there is a problem with the folder, 2 if the command line is wrong or a
//! file cannot be read or written.

use std::path::PathBuf;

use clap::Args;

use command_line::{Deferred, escaped, exit, print, shown};

use super::Outcome;
use crate::package::{Adopted, Adoption};

/// Add scripts and a description to a package that the WDK made
///
/// FOLDER is the package that `cargo wdk build` or `cargo make` made on Windows,
/// `target/<triple>/<profile>/NAME_package`, or the folder that contains it. Checks the files of the package and
/// does not change them. Adds scripts that install, record, diagnose and uninstall, package.psd1 for them,
/// README.txt, a recording profile for WPR if the provider is known, and the certificate of the signatures if it is
/// missing.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 done; 1 a file is missing or damaged, does not belong to the others, or exists and \
                        differs: nothing was changed; 2 wrong usage, or a file that cannot be read or written."
)]
pub(super) struct Arguments {
    /// The package's folder
    #[arg(value_name = "FOLDER")]
    dir: PathBuf,
    /// The driver's ETW provider, for the scripts and the profile (default: from the image)
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// A folder with PowerShell scripts, which are used instead of the built-in ones
    #[arg(long, value_name = "FOLDER")]
    scripts: Option<PathBuf>,
    /// etwctl.exe, which is added without a signature
    #[arg(long, value_name = "FILE")]
    etwctl: Option<PathBuf>,
    /// Replace files of an earlier run that differ
    #[arg(long)]
    replace: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every command")]
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let adoption = Adoption {
        dir: arguments.dir.clone(),
        scripts: arguments.scripts.clone(),
        provider: arguments.provider.clone(),
        etwctl: arguments.etwctl.clone(),
        replace: arguments.replace,
    };
    // Adding the files takes a moment; none or all of them are there afterwards.
    let interrupts = Deferred::begin();
    let adopted = adoption.adopt();
    if interrupts.is_interrupted() {
        return Ok(exit::INTERRUPTED);
    }
    Ok(match adopted {
        Ok(adopted) => {
            for warning in &adopted.warnings {
                command_line::info(&warning.to_string());
            }
            print(&summary(&adopted));
            exit::SUCCESS
        }
        Err(problems) => super::refused(&problems),
    })
}

fn summary(adopted: &Adopted) -> String {
    let mut text = format!("{} ({})\n", shown(&adopted.dir), adopted.arch.name());
    for (what, names) in [("added", &adopted.added), ("replaced", &adopted.replaced)] {
        text.extend(names.iter().map(|name| format!("  {what} {}\n", escaped(name))));
    }
    if adopted.added.is_empty() && adopted.replaced.is_empty() {
        text.push_str("  everything was there already\n");
    }
    text
}
