//! Completions for shells, from the table of commands.

use std::fmt::Write;

use super::spec::{COMMANDS, Command, GLOBAL, Opt, Value};

/// The script for a shell; `None` for one that is not known.
pub(crate) fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(format!("#compdef etwctl\nautoload -U bashcompinit && bashcompinit\n{}", bash())),
        "fish" => Some(fish()),
        "powershell" => Some(powershell()),
        _ => None,
    }
}

/// What can follow a command: its options, and words of its arguments.
fn words_of(command: &Command) -> Vec<String> {
    let options = command.options.iter().chain(GLOBAL).map(|option| format!("--{}", option.name));
    options.chain(command.arguments.iter().flat_map(|argument| argument.value.words())).collect()
}

/// What can follow the commands of a first word, each once.
fn words_after(first: &str) -> Vec<String> {
    let seconds = second_words(first).into_iter().map(Into::into);
    let mut words: Vec<String> = commands_of(first).flat_map(words_of).chain(seconds).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// The commands of a first word.
fn commands_of(first: &str) -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(move |command| command.name.split(' ').next() == Some(first))
}

/// Whether a command of a first word takes a file.
fn takes_file(first: &str) -> bool {
    commands_of(first).flat_map(|command| command.arguments).any(|argument| argument.value == Value::File)
}

/// First word, option and value of every option whose values are known. One option may differ between two commands.
fn known_values() -> impl Iterator<Item = (&'static str, &'static Opt)> {
    first_words().into_iter().flat_map(|first| {
        let options = commands_of(first).flat_map(|command| command.options).chain(GLOBAL);
        options.filter(|option| option.takes.is_some() && option.value != Value::Any).map(move |option| (first, option))
    })
}

/// The first words of commands, each once.
fn first_words() -> Vec<&'static str> {
    let mut words: Vec<&str> = COMMANDS.iter().filter_map(|command| command.name.split(' ').next()).collect();
    words.dedup();
    words
}

/// Second words, such as `get` after `info`.
fn second_words(first: &str) -> Vec<&'static str> {
    let second = |command: &'static Command| command.name.split_once(' ').filter(|(word, _)| *word == first);
    COMMANDS.iter().filter_map(second).map(|(_, second)| second).collect()
}

fn bash() -> String {
    let mut text = String::from(
        "_etwctl() {\n    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n    local command=\"${COMP_WORDS[1]}\"\n",
    );
    let _ = writeln!(text, "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    let _ = writeln!(
        text,
        "        COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$current\")); return",
        first_words().join(" ")
    );
    text.push_str("    fi\n    case \"$command $previous\" in\n");
    for (first, option) in known_values() {
        let reply = match option.value {
            Value::File => "COMPREPLY=($(compgen -f -- \"$current\"))".to_owned(),
            value => format!("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", value.words().join(" ")),
        };
        let _ = writeln!(text, "        '{first} --{}') {reply}; return ;;", option.name);
    }
    text.push_str("    esac\n    case \"$command\" in\n");
    for first in first_words() {
        let files = if takes_file(first) { " $(compgen -f -- \"$current\")" } else { "" };
        let words = words_after(first).join(" ");
        let _ = writeln!(text, "        {first}) COMPREPLY=($(compgen -W \"{words}\" -- \"$current\"){files}) ;;");
    }
    text.push_str("    esac\n}\ncomplete -o filenames -F _etwctl etwctl\n");
    text
}

fn fish() -> String {
    let mut text = String::from("complete -c etwctl -f\n");
    for first in first_words() {
        let summary = COMMANDS.iter().find(|command| command.name == first).map_or("", |command| command.summary);
        let _ = writeln!(text, "complete -c etwctl -n __fish_use_subcommand -a {first} -d '{}'", quoted(summary));
        for second in second_words(first) {
            let _ = writeln!(text, "complete -c etwctl -n '__fish_seen_subcommand_from {first}' -a {second}");
        }
    }
    for command in COMMANDS {
        let first = command.name.split(' ').next().unwrap_or_default();
        let seen = format!("complete -c etwctl -n '__fish_seen_subcommand_from {first}'");
        for option in command.options {
            let value = match (option.takes, option.value) {
                (None, _) => String::new(),
                (Some(_), Value::File) => " -r -F".to_owned(),
                (Some(_), Value::Any) => " -r".to_owned(),
                (Some(_), value) => format!(" -r -a '{}'", value.words().join(" ")),
            };
            let _ = writeln!(text, "{seen} -l {}{value} -d '{}'", option.name, quoted(option.help));
        }
        for argument in command.arguments {
            let _ = match argument.value {
                Value::File => writeln!(text, "{seen} -F"),
                Value::Any => Ok(()),
                value => writeln!(text, "{seen} -a '{}'", value.words().join(" ")),
            };
        }
    }
    text
}

fn powershell() -> String {
    let mut text = String::from(
        "Register-ArgumentCompleter -Native -CommandName etwctl -ScriptBlock {\n    param($word, $ast, $position)\n    $words = @{\n",
    );
    let _ = writeln!(text, "        '' = '{}'", first_words().join(" "));
    for first in first_words() {
        let _ = writeln!(text, "        '{first}' = '{}'", words_after(first).join(" "));
    }
    for (first, option) in known_values().filter(|(_, option)| option.value != Value::File) {
        let _ = writeln!(text, "        '{first} --{}' = '{}'", option.name, option.value.words().join(" "));
    }
    // The word before the one that is completed decides where it is an option with known values.
    text.push_str(
        "    }\n    $before = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { \"$_\" })\n    \
         $command = if ($before.Count -gt 1) { $before[1] } else { '' }\n    \
         $key = \"$command $($before[-1])\"\n    \
         if (-not $words.ContainsKey($key)) { $key = $command }\n    \
         if (-not $words.ContainsKey($key)) { $key = '' }\n    \
         $words[$key] -split ' ' | Where-Object { $_ -like \"$word*\" } | ForEach-Object {\n        \
         [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)\n    }\n}\n",
    );
    text
}

/// For a text between single quotes.
fn quoted(text: &str) -> String {
    text.replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use super::script;
    use crate::cli::spec::COMMANDS;

    #[test]
    fn every_shell_knows_every_command_and_option() {
        for shell in ["bash", "zsh", "fish", "powershell"] {
            let script = script(shell).unwrap();
            for command in COMMANDS {
                let words = command.name.split(' ').chain(command.options.iter().map(|option| option.name));
                for word in words {
                    assert!(script.contains(word), "{shell} does not know {word}");
                }
            }
        }
        assert_eq!(script("cmd"), None);
    }
}
