//! The commands `completions` and `man`, which every program has. Both work from the description of the command line.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};
use clap_complete::Shell;

use super::{end, end_listing, print};
use crate::exit;

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
        #[arg(value_name = "FOLDER")]
        dir: PathBuf,
    },
}

/// Adds the two commands to a program, also to one that has no other commands.
pub(crate) fn added_to(command: Command) -> Command {
    let is_alone = !command.has_subcommands();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let example = |words: &str| format!("Example:\n  {name} {words}");
    let command = Shells::augment_subcommands(command)
        .mut_subcommand("completions", |shells| shells.after_help(example("completions bash")))
        .mut_subcommand("man", |pages| pages.after_help(example("man ~/.local/share/man/man1")));
    if is_alone {
        command.subcommand_required(false).subcommand_negates_reqs(true).args_conflicts_with_subcommands(true)
    } else {
        command
    }
}

/// Code that completes `cargo WORD` with the completions of the program `name`, which `script` has. Zsh needs none: its completions of cargo call the
/// function `_cargo-WORD`, which is the one for the program.
fn below_cargo(shell: Shell, script: &str, name: &str, word: &str) -> String {
    let template = match shell {
        Shell::Bash => BASH,
        Shell::Fish => FISH,
        _ => return String::new(),
    };
    // The function that completes the program, which the script for bash begins with.
    let function = script.split("()").next().unwrap_or_default();
    template.replace("@FUNCTION@", function).replace("@NAME@", name).replace("@WORD@", word)
}

/// For bash: takes the place of cargo's completions, and passes other commands on to them.
const BASH: &str = r#"
_@NAME@_below_cargo() {
    if [[ ${COMP_WORDS[1]} == @WORD@ && $COMP_CWORD -gt 1 ]]; then
        COMP_WORDS=("@NAME@" "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        @FUNCTION@ "@NAME@" "$2" "$3"
        return
    fi
    if ! declare -F _cargo >/dev/null && declare -F _completion_loader >/dev/null; then
        _completion_loader cargo
        complete -F _@NAME@_below_cargo -o bashdefault -o default cargo
    fi
    if declare -F _cargo >/dev/null; then
        _cargo "$@"
    fi
    if [[ $COMP_CWORD -eq 1 && @WORD@ == "$2"* ]]; then
        COMPREPLY+=(@WORD@)
    fi
}
complete -F _@NAME@_below_cargo -o bashdefault -o default cargo
"#;

/// For fish: adds to cargo's completions.
const FISH: &str = r#"
function __@NAME@_below_cargo
    set -l words (commandline -opc)
    complete -C "@NAME@ $words[3..-1] "(commandline -ct)
end
complete -c cargo -n __fish_use_subcommand -f -a @WORD@
complete -c cargo -n "__fish_seen_subcommand_from @WORD@" -f -a "(__@NAME@_below_cargo)"
"#;

impl Shells {
    /// The command that was given, if it is one of these two.
    pub(crate) fn from_matches(matches: &ArgMatches) -> Option<Self> {
        matches.subcommand_name().filter(|name| Self::has_subcommand(name))?;
        Self::from_arg_matches(matches).ok()
    }

    /// Runs the command for the program that `command` describes; returns the exit code.
    pub(crate) fn run(&self, command: Command) -> ExitCode {
        // `cargo driver` is the file `cargo-driver`: that is the name that cargo and shells look for.
        let name = command.get_name().replace(' ', "-");
        match self {
            Self::Completions { shell } => {
                let mut script = Vec::new();
                let subcommand = command.get_name().split_once(' ').map(|(_, word)| word.to_owned());
                // The names of functions come from the name of the program, which has a space here otherwise.
                let mut command = command.name(name.clone()).bin_name(name.clone());
                clap_complete::generate(*shell, &mut command, name.clone(), &mut script);
                // For bash, clap_complete 4.6 writes the hyphen of a program's name in two ways, and then no option is completed.
                let wrong = name.replace('-', "__subcmd__");
                let script = String::from_utf8_lossy(&script).replace(&wrong, &name.replace('-', "__"));
                print(&script);
                print(&subcommand.map_or_else(String::new, |word| below_cargo(*shell, &script, &name, &word)));
                end_listing(exit::SUCCESS)
            }
            Self::Man { dir } => {
                let written = fs::create_dir_all(dir);
                match written.and_then(|()| clap_mangen::generate_to(command.name(name), dir)) {
                    Ok(()) => end(exit::SUCCESS),
                    Err(error) => {
                        crate::error(&format!("{}: {error}", dir.display()));
                        end(exit::USAGE)
                    }
                }
            }
        }
    }
}
