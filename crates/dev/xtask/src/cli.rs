//! The command line: commands and flags, their help texts, and errors with suggestions.
//!
//! This module only parses. It never prints or runs anything.

use std::fmt::Write as _;

use crate::command::{Command, Flag};
use crate::commands::COMMANDS;
use crate::suggest::nearest;
use driver_build::Error;

/// The action that a command line requests.
pub(crate) enum Invocation {
    /// Print this text and exit.
    Help(String),
    /// Run a command. `flags` are the given flags without values; `words` are all words after the command's name,
    /// unchanged.
    Run { command: &'static Command, flags: Vec<&'static str>, words: Vec<String> },
}

const ENVIRONMENT: &str = "\
Environment:
  WDK_ETW_TOOLCHAIN=rustup|debian
      The toolchain that compiles code for Windows. `rustup`: the installed one
      with its target x86_64-pc-windows-msvc. `debian`: the packages rustc-web,
      cargo-web, rust-web-src and lld. If unset: `rustup`, or `debian` if rustup
      is missing or cannot download.
  NO_COLOR
      If set and not empty: no bold text on a terminal.
";

const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 a step failed; 2 wrong usage, or something is missing
that could not be installed (the message says how to get it).
";

/// Parses the words after `cargo xtask`.
pub(crate) fn parse(arguments: &[String]) -> Result<Invocation, Error> {
    let Some((first, rest)) = arguments.split_first() else {
        return Ok(Invocation::Help(overview()));
    };
    match first.as_str() {
        "--help" | "-h" => Ok(Invocation::Help(overview())),
        "help" => match rest {
            [] => Ok(Invocation::Help(overview())),
            [name] => Ok(Invocation::Help(help_of(find(name)?))),
            [_, extra, ..] => Err(Error::Usage(format!("unexpected argument `{extra}`"))),
        },
        flag if flag.starts_with('-') => Err(Error::Usage(format!(
            "unknown flag `{flag}` before a command\nrun `cargo xtask --help` for the list of commands"
        ))),
        name => parse_command(find(name)?, rest),
    }
}

fn find(name: &str) -> Result<&'static Command, Error> {
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(command);
    }
    let mut text = format!("unknown command `{name}`");
    push_suggestion(&mut text, name, COMMANDS.iter().map(|command| command.name));
    text.push_str("\nrun `cargo xtask --help` for the list of commands");
    Err(Error::Usage(text))
}

fn parse_command(command: &'static Command, arguments: &[String]) -> Result<Invocation, Error> {
    let mut flags = Vec::new();
    let takes_operands = command.flags.iter().any(Flag::is_operand);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--help" || argument == "-h" {
            return Ok(Invocation::Help(help_of(command)));
        }
        if let Some(flag) = command.flags.iter().find(|flag| flag.word() == argument && !flag.is_operand()) {
            flags.push(flag.word());
            if flag.takes_value() && rest.next().is_none() {
                return Err(Error::Usage(format!("`{argument}` needs a value: {}", flag.name)));
            }
            continue;
        }
        if takes_operands && !argument.starts_with('-') {
            continue;
        }
        let kind = if argument.starts_with('-') { "unknown flag" } else { "unexpected argument" };
        let mut text = format!("{kind} `{argument}` for `cargo xtask {}`", command.name);
        let known = command.flags.iter().filter(|flag| !flag.is_operand()).map(Flag::word);
        push_suggestion(&mut text, argument, known.chain(["--help"]));
        let _ = write!(text, "\nrun `cargo xtask {} --help`", command.name);
        return Err(Error::Usage(text));
    }
    Ok(Invocation::Run { command, flags, words: arguments.to_vec() })
}

fn push_suggestion<'a>(text: &mut String, word: &str, known: impl IntoIterator<Item = &'a str>) {
    if let Some(meant) = nearest(word, known) {
        let _ = write!(text, "; did you mean `{meant}`?");
    }
}

fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask <command> [flags]\n\nCommands:\n");
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<8} {}", command.name, command.summary);
    }
    text.push_str("\n`cargo xtask <command> --help` describes one command.\n\n");
    text + ENVIRONMENT + "\n" + EXIT_CODES
}

fn help_of(command: &Command) -> String {
    let operand = command.flags.iter().find(|flag| flag.is_operand());
    let usage = match (operand, command.flags) {
        (Some(operand), _) => format!(" [flags] {}", operand.name),
        (None, []) => String::new(),
        (None, _) => String::from(" [flags]"),
    };
    let mut text =
        format!("{}\n\nUsage: cargo xtask {}{usage}\n\n{}\nFlags:\n", command.summary, command.name, command.details);
    let help = Flag { name: "--help", summary: "prints this text (also -h)" };
    let flags = command.flags.iter().chain([&help]);
    let width = flags.clone().map(|flag| flag.name.len()).fold(12, usize::max);
    for flag in flags {
        let _ = writeln!(text, "  {:<width$} {}", flag.name, flag.summary);
    }
    text + "\n" + ENVIRONMENT + "\n" + EXIT_CODES
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, Invocation, parse};
    use driver_build::Error;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    fn help(line: &str) -> String {
        match parse(&words(line)) {
            Ok(Invocation::Help(text)) => text,
            Ok(Invocation::Run { command, .. }) => panic!("{line}: runs {}", command.name),
            Err(error) => panic!("{line}: {error}"),
        }
    }

    fn error(line: &str) -> Error {
        match parse(&words(line)) {
            Err(error) => error,
            Ok(_) => panic!("{line}: accepted"),
        }
    }

    #[test]
    fn nothing_and_help_list_every_command() {
        for line in ["", "--help", "-h", "help"] {
            let text = help(line);
            for command in COMMANDS {
                assert!(text.contains(command.name), "{line}: {}", command.name);
            }
            assert!(text.contains("WDK_ETW_TOOLCHAIN"));
        }
    }

    #[test]
    fn every_command_has_its_own_help() {
        for command in COMMANDS {
            let text = help(&format!("{} --help", command.name));
            assert!(text.contains(command.summary));
            assert!(text.contains(&format!("Usage: cargo xtask {}", command.name)));
            assert_eq!(text, help(&format!("{} -h", command.name)));
            assert_eq!(text, help(&format!("help {}", command.name)));
            for flag in command.flags {
                assert!(text.contains(flag.name), "{} {}", command.name, flag.name);
            }
        }
    }

    #[test]
    fn help_fits_a_terminal() {
        for command in COMMANDS {
            for line in help(&format!("help {}", command.name)).lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.name);
            }
        }
        assert!(help("").lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn flags_reach_the_command() {
        match parse(&words("test --quick")) {
            Ok(Invocation::Run { command, flags, .. }) => {
                assert_eq!(command.name, "test");
                assert_eq!(flags, ["--quick"]);
            }
            _ => panic!("not understood"),
        }
    }

    #[test]
    fn values_and_files_reach_the_command_as_they_were_written() {
        match parse(&words("package --arch arm64 --replace --cert a.pem")) {
            Ok(Invocation::Run { flags, words: given, .. }) => {
                assert_eq!(flags, ["--arch", "--replace", "--cert"]);
                assert_eq!(given, words("--arch arm64 --replace --cert a.pem"));
            }
            _ => panic!("not understood"),
        }
        assert!(help("fuzz --help").contains("Usage: cargo xtask fuzz [flags] TARGET\n"));
        assert!(error("package --cert").to_string().contains("`--cert` needs a value: --cert FILE"));
        assert!(error("package --replase").to_string().contains("did you mean `--replace`?"));
    }

    #[test]
    fn a_mistyped_command_gets_a_suggestion() {
        let error = error("tset");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("unknown command `tset`"));
        assert!(error.to_string().contains("did you mean `test`?"));
    }

    #[test]
    fn a_word_like_no_command_gets_no_suggestion() {
        assert!(!error("frobnicate").to_string().contains("did you mean"));
    }

    #[test]
    fn unknown_flags_and_stray_arguments_are_errors() {
        let typo = error("test --qick");
        assert_eq!(typo.exit_code(), 2);
        assert!(typo.to_string().contains("did you mean `--quick`?"));
        assert!(error("demo now").to_string().contains("`now`"));
        assert!(error("--verbose test").to_string().contains("`--verbose`"));
        assert!(error("help test lint").to_string().contains("`lint`"));
    }
}
