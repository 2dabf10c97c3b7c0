//! Completions for shells and manual pages, from the description of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{Command, Subcommand};
use clap_complete::Shell;

use crate::{exit, print};

/// The commands of every program for its own command line.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Shells {
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages into a folder
    Man {
        /// The folder, such as ~/.local/share/man/man1
        folder: PathBuf,
    },
}

impl Shells {
    /// Does it for a program and returns its exit code. `name` is that of the file which shells look for.
    #[must_use]
    pub fn run(&self, mut command: Command, name: &'static str) -> u8 {
        match self {
            Self::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut command, name, &mut script);
                print(&String::from_utf8_lossy(&script));
                exit::SUCCESS
            }
            Self::Man { folder } => {
                let written = fs::create_dir_all(folder);
                match written.and_then(|()| clap_mangen::generate_to(command.name(name), folder)) {
                    Ok(()) => exit::SUCCESS,
                    Err(error) => {
                        eprintln!("error: {}: {error}", folder.display());
                        exit::USAGE
                    }
                }
            }
        }
    }
}
