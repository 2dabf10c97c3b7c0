//! `nt-host framework`: keeps the user's copies of Microsoft's framework.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use command_line::exit::{SUCCESS, USAGE};
use command_line::{error, print, shown};

use nt_host::{Error, Frameworks};

/// The arguments of `framework`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Framework {
    /// Check a Wdf01000.sys of a Windows machine, and copy it to the cache
    Add {
        /// The framework's image
        #[arg(value_name = "Wdf01000.sys")]
        file: PathBuf,
    },
    /// List the frameworks in the cache
    List,
    /// Remove a framework from the cache
    Remove {
        /// The version, for example 1.33
        version: String,
    },
}

pub(super) fn framework(command: &Framework) -> u8 {
    let Some(frameworks) = Frameworks::in_cache() else {
        error("there is no cache folder: set HOME or XDG_CACHE_HOME");
        return USAGE;
    };
    match run(&frameworks, command) {
        Ok(text) => {
            print(&text);
            SUCCESS
        }
        Err(reason) => {
            error(&reason.to_string());
            USAGE
        }
    }
}

fn run(frameworks: &Frameworks, command: &Framework) -> Result<String, Error> {
    Ok(match command {
        Framework::Add { file } => {
            let version = frameworks.add(file)?;
            format!("{}: KMDF {version}; use it with --framework {version}\n", shown(file))
        }
        Framework::List => {
            let lines: Vec<String> = frameworks.list().iter().map(|(version, file)| line(version, file)).collect();
            lines.concat()
        }
        Framework::Remove { version } => {
            frameworks.remove(version)?;
            format!("removed KMDF {version}\n")
        }
    })
}

fn line(version: &str, file: &Path) -> String {
    format!("{version} {}\n", shown(file))
}
