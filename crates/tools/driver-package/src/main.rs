//! `driver-package`: the commands over driver images, INF files and packages.
//!
//! This file finds the command; what it does and its exit codes are in its own.
#![forbid(unsafe_code)]

mod commands;

use std::ffi::OsString;
use std::process::ExitCode;

use commands::{COMMANDS, print};

const HELP: &str = "\
What becomes of a driver before Windows sees it

Usage: driver-package <command> [flags] ...

Commands:
  inspect  shows what is in driver images and whether Windows would load them
  lint     holds INF files against rules of infverif
  package  makes a test-signed driver package of an image and an .inx
  adopt    adds scripts and a description to a package that the WDK made

`driver-package <command> --help` tells more about one of them.
";

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match run(&words) {
        Ok(code) => ExitCode::from(code),
        Err(reason) => {
            eprintln!("error: {reason}\nrun `driver-package --help`");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[OsString]) -> commands::Outcome {
    let Some((first, rest)) = words.split_first() else {
        return Ok(print(HELP));
    };
    let name = first.to_string_lossy();
    if name == "--help" || name == "-h" {
        return Ok(print(HELP));
    }
    let command = COMMANDS.iter().find(|command| command.name == name);
    let command = command.ok_or_else(|| format!("unknown command `{name}`"))?;
    // Behind `--` are files only.
    let mut flags = rest.iter().take_while(|word| *word != "--");
    if flags.any(|word| word == "--help" || word == "-h") {
        return Ok(print(&(command.help)()));
    }
    (command.run)(rest)
}
