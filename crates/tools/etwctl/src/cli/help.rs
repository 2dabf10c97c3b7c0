//! Explanations: of the command as a whole, and of each of its commands.

use std::fmt::Write;

use super::spec::{COMMANDS, Command, GLOBAL, Opt, Value};

/// How wide the first column is.
const COLUMN: usize = 26;

/// The explanation of everything.
pub(crate) fn overview(system: &str, caveat: Option<&str>) -> String {
    let mut text = String::from(
        "etwctl: ETW sessions, providers, information classes and traces\n\nusage: etwctl COMMAND [ARGUMENTS] [OPTIONS]\n\ncommands:\n",
    );
    for command in COMMANDS {
        row(&mut text, command.name, command.summary);
    }
    text.push_str("\noptions of every command:\n");
    for option in GLOBAL {
        option_row(&mut text, option);
    }
    row(&mut text, "--version", "print the version");
    text.push_str(
        "\nexit codes: 0 done, 1 refused or failed, 2 not understood, 3 the trace is damaged, 4 not supported here,\n\
         5 a driver that was run did something wrong\n",
    );
    let _ = write!(text, "\nSessions are those of {system}.");
    if let Some(caveat) = caveat {
        let _ = write!(
            text,
            "\n{caveat}\nUse `batch` for several commands in one process. decode and stats work everywhere, on traces of any system."
        );
    }
    text.push('\n');
    text
}

/// The explanation of one command.
pub(crate) fn of(command: &Command) -> String {
    let mut text = format!("{}\n\nusage: etwctl {}", command.summary, command.name);
    for argument in command.arguments {
        let name = if argument.is_many { format!("{}...", argument.name) } else { argument.name.to_owned() };
        let _ = if argument.is_required { write!(text, " {name}") } else { write!(text, " [{name}]") };
    }
    text.push_str(" [OPTIONS]\n\n");
    for argument in command.arguments {
        row(&mut text, argument.name, argument.help);
    }
    if !command.arguments.is_empty() {
        text.push('\n');
    }
    for option in command.options.iter().chain(GLOBAL) {
        option_row(&mut text, option);
    }
    if !command.details.is_empty() {
        let _ = write!(text, "\n{}\n", command.details);
    }
    text
}

fn option_row(text: &mut String, option: &Opt) {
    let name = match (option.takes, option.value) {
        (Some("WORD"), Value::Word(_)) => format!("--{} WORD", option.name),
        (Some(what), _) => format!("--{} {what}", option.name),
        (None, _) => format!("--{}", option.name),
    };
    row(text, &name, option.help);
    if let (Some(_), Value::Word(words)) = (option.takes, option.value) {
        row(text, "", &format!("one of {}", words.join(", ")));
    }
}

fn row(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "  {name:COLUMN$} {help}");
}
