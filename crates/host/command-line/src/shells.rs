//! The commands `completions` and `man`, which every program has. Both work from the description of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};
use clap_complete::Shell;

use crate::{exit, print};

#[derive(Subcommand)]
pub(crate) enum Shells {
    /// Print completions for a shell
    Completions {
        /// The shell that the completions are for
        shell: Shell,
    },
    /// Write manual pages into a folder
    Man {
        /// The folder to write to, for example ~/.local/share/man/man1
        folder: PathBuf,
    },
}

/// Adds the two commands to a program, also to one that has no other commands.
pub(crate) fn added_to(command: Command) -> Command {
    let is_alone = !command.has_subcommands();
    let command = Shells::augment_subcommands(command);
    if is_alone {
        command.subcommand_required(false).subcommand_negates_reqs(true).args_conflicts_with_subcommands(true)
    } else {
        command
    }
}

impl Shells {
    /// The command that was given, if it is one of these two.
    pub(crate) fn from_matches(matches: &ArgMatches) -> Option<Self> {
        matches.subcommand_name().filter(|name| Self::has_subcommand(name))?;
        Self::from_arg_matches(matches).ok()
    }

    /// Runs the command for the program that `command` describes; returns the exit code.
    pub(crate) fn run(&self, mut command: Command) -> u8 {
        // `cargo driver` is the file `cargo-driver`: that is the name that cargo and shells look for.
        let name = command.get_name().replace(' ', "-");
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
                        crate::error(&format!("{}: {error}", folder.display()));
                        exit::USAGE
                    }
                }
            }
        }
    }
}
