//! From arguments to a command.

use std::str::FromStr;

use super::spec::{COMMANDS, Command, GLOBAL, Opt};
use crate::suggest::hint;

/// A parsed command line.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) command: &'static Command,
    pub(crate) arguments: Vec<String>,
    options: Vec<(&'static str, String)>,
}

/// What was understood.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A command to run.
    Run(Line),
    /// An explanation: of a command, or of all.
    Help(Option<&'static Command>),
    /// The version.
    Version,
}

impl Line {
    /// Whether a switch is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(option, _)| *option == name)
    }

    /// The last value of an option.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| *option == name).map(|(_, value)| value.as_str())
    }

    /// All values of an option.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |(option, _)| *option == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option as a number or the like.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let parse = |value: &str| value.parse().map_err(|_| format!("--{name}: '{value}' is not what it takes"));
        self.value(name).map(parse).transpose()
    }

    /// An argument that may be missing.
    pub(crate) fn argument(&self, index: usize) -> Option<&str> {
        self.arguments.get(index).map(String::as_str)
    }
}

/// Parses the arguments of the process, or of a line of a batch.
pub(crate) fn parse(arguments: &[String]) -> Result<Parsed, String> {
    let mut words = Vec::new();
    let mut options: Vec<(String, Option<String>)> = Vec::new();
    let mut rest = arguments.iter();
    let mut only_words = false;
    while let Some(argument) = rest.next() {
        match argument.strip_prefix("--") {
            _ if only_words => words.push(argument.clone()),
            Some("") => only_words = true,
            Some(name) => {
                let (name, value) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (name, None),
                };
                // Whether a value follows depends on the command, which may come later: any spec of that name tells.
                let takes = value.is_none() && takes_value(&words, name);
                let value = if takes { rest.next().cloned() } else { value };
                options.push((name.to_owned(), value));
            }
            None if argument == "-h" || argument == "-?" => options.push(("help".into(), None)),
            None if argument == "-V" => options.push(("version".into(), None)),
            None => words.push(argument.clone()),
        }
    }
    if words.is_empty() && options.iter().any(|(name, _)| name == "version") {
        return Ok(Parsed::Version);
    }
    let is_help = options.iter().any(|(name, _)| name == "help");
    if words.first().is_some_and(|word| word == "help") {
        let about = words.get(1..).unwrap_or_default();
        return match find(about) {
            Some((command, _)) => Ok(Parsed::Help(Some(command))),
            None if about.is_empty() => Ok(Parsed::Help(None)),
            None => Err(unknown(about)),
        };
    }
    let Some((command, used)) = find(&words) else {
        return match words.first() {
            None if is_help => Ok(Parsed::Help(None)),
            None => Err("a command is needed; see etwctl --help".into()),
            Some(_) => Err(unknown(&words)),
        };
    };
    if is_help {
        return Ok(Parsed::Help(Some(command)));
    }
    let arguments = words.split_off(used);
    check_arguments(command, &arguments)?;
    let options = options.into_iter().map(|(name, value)| checked(command, &name, value)).collect::<Result<_, _>>()?;
    Ok(Parsed::Run(Line { command, arguments, options }))
}

/// The command at the front of these words, and how many of them it is.
fn find(words: &[String]) -> Option<(&'static Command, usize)> {
    let first = words.first()?;
    let two = words.get(1).map(|second| format!("{first} {second}"));
    let of = |name: &str| COMMANDS.iter().find(|command| command.name == name);
    two.and_then(|two| of(&two)).map(|command| (command, 2)).or_else(|| of(first).map(|command| (command, 1)))
}

fn option_of(command: &'static Command, name: &str) -> Option<&'static Opt> {
    command.options.iter().chain(GLOBAL).find(|option| option.name == name)
}

fn takes_value(words: &[String], name: &str) -> bool {
    let option = match find(words) {
        Some((command, _)) => option_of(command, name),
        None => GLOBAL.iter().find(|option| option.name == name),
    };
    option.is_some_and(|option| option.takes.is_some())
}

fn checked(command: &'static Command, name: &str, value: Option<String>) -> Result<(&'static str, String), String> {
    let Some(option) = option_of(command, name) else {
        let options = command.options.iter().chain(GLOBAL).map(|option| format!("--{}", option.name));
        let hint = match hint(&format!("--{name}"), options) {
            nothing if nothing.is_empty() => format!("; see etwctl {} --help", command.name),
            hint => hint,
        };
        return Err(format!("{} has no option --{name}{hint}", command.name));
    };
    match (option.takes, value) {
        (Some(what), None) => Err(format!("--{name} needs a {what}")),
        (None, Some(_)) => Err(format!("--{name} takes no value")),
        (_, value) => Ok((option.name, value.unwrap_or_default())),
    }
}

fn check_arguments(command: &Command, given: &[String]) -> Result<(), String> {
    let needed = command.arguments.iter().filter(|argument| argument.is_required).count();
    if let Some(missing) = command.arguments.get(given.len()).filter(|_| given.len() < needed) {
        return Err(format!("{} needs {}: {}", command.name, missing.name, missing.help));
    }
    let is_many = command.arguments.last().is_some_and(|argument| argument.is_many);
    match given.get(command.arguments.len()) {
        Some(surplus) if !is_many => Err(format!("{} does not take '{surplus}'", command.name)),
        _ => Ok(()),
    }
}

/// That there is no such command, and which one was probably meant.
fn unknown(words: &[String]) -> String {
    let names = COMMANDS.iter().map(|command| command.name);
    match words {
        [word] if word == "info" => "info takes list, get or set; see etwctl --help".into(),
        [word, second, ..] if word == "info" => {
            let second = second.as_str();
            format!("info takes list, get or set, not '{second}'{}", hint(second, ["list", "get", "set"]))
        }
        _ => {
            let word = words.first().map_or("", String::as_str);
            let hint = match hint(word, names) {
                nothing if nothing.is_empty() => "; see etwctl --help".to_owned(),
                hint => hint,
            };
            format!("there is no command '{word}'{hint}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Parsed, parse};

    fn parsed(line: &str) -> Result<Parsed, String> {
        parse(&line.split_whitespace().map(Into::into).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_anywhere_and_have_values_in_both_forms() {
        let Ok(Parsed::Run(line)) = parsed("enable S --any=0x2 P --level 4 --pid 1 --pid 2 --json") else {
            panic!("a command")
        };
        assert_eq!((line.command.name, line.arguments.join(",")), ("enable", "S,P".into()));
        assert_eq!((line.value("any"), line.value("level")), (Some("0x2"), Some("4")));
        assert_eq!(line.values("pid").collect::<Vec<_>>(), ["1", "2"]);
        assert!(line.has("json") && !line.has("group"));
    }

    #[test]
    fn commands_of_two_words_and_words_behind_two_dashes() {
        let Ok(Parsed::Run(line)) = parsed("info set 3 -- --odd") else { panic!("a command") };
        assert_eq!((line.command.name, line.arguments.join(",")), ("info set", "3,--odd".into()));
        assert!(matches!(parsed("info get --help"), Ok(Parsed::Help(Some(command))) if command.name == "info get"));
        assert!(matches!(parsed("help decode"), Ok(Parsed::Help(Some(command))) if command.name == "decode"));
        assert!(matches!(parsed("--help"), Ok(Parsed::Help(None))));
        assert!(matches!(parsed("--version"), Ok(Parsed::Version)));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, message) in [
            ("", "a command is needed; see etwctl --help"),
            ("info", "info takes list, get or set; see etwctl --help"),
            ("info gte 3", "info takes list, get or set, not 'gte'; did you mean 'get'?"),
            ("help stopp", "there is no command 'stopp'; did you mean 'stop'?"),
            ("frobnicate", "there is no command 'frobnicate'; see etwctl --help"),
            ("sessions --jso", "sessions has no option --jso; did you mean '--json'?"),
            ("stopp S", "there is no command 'stopp'; did you mean 'stop'?"),
            ("stop", "stop needs SESSION: the session's name"),
            ("stop A B", "stop does not take 'B'"),
            ("stop A --live", "stop has no option --live; see etwctl stop --help"),
            ("start A --etl", "--etl needs a FILE"),
            ("start A --real-time=1", "--real-time takes no value"),
        ] {
            assert_eq!(parsed(line).unwrap_err(), message);
        }
    }
}
