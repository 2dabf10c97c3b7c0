//! Completions for shells, from the table of commands.

use std::fmt::Write;

use super::spec::{COMMANDS, Command, GLOBAL, Value};

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
    let values = command.arguments.iter().filter_map(|argument| match argument.value {
        Value::Word(words) => Some(words.iter().map(|word| (*word).to_owned())),
        Value::Any | Value::File => None,
    });
    options.chain(values.flatten()).collect()
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
    text.push_str("    fi\n    case \"$previous\" in\n");
    for (option, value) in options_with_values() {
        let reply = match value {
            Value::Word(words) => format!("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", words.join(" ")),
            Value::File => "COMPREPLY=($(compgen -f -- \"$current\"))".to_owned(),
            Value::Any => continue,
        };
        let _ = writeln!(text, "        --{option}) {reply}; return ;;");
    }
    text.push_str("    esac\n    case \"$command\" in\n");
    for first in first_words() {
        let second = second_words(first);
        let commands = COMMANDS.iter().filter(|command| command.name.split(' ').next() == Some(first));
        let mut words: Vec<String> =
            commands.clone().flat_map(words_of).chain(second.iter().map(|word| (*word).to_owned())).collect();
        words.sort_unstable();
        words.dedup();
        let takes_file = commands.flat_map(|command| command.arguments).any(|argument| argument.value == Value::File);
        let files = if takes_file { " $(compgen -f -- \"$current\")" } else { "" };
        let _ = writeln!(
            text,
            "        {first}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\"){files}) ;;",
            words.join(" ")
        );
    }
    text.push_str("    esac\n}\ncomplete -o filenames -F _etwctl etwctl\n");
    text
}

/// Every option with a value, once.
fn options_with_values() -> Vec<(&'static str, Value)> {
    let mut seen: Vec<(&str, Value)> = Vec::new();
    for option in COMMANDS.iter().flat_map(|command| command.options).chain(GLOBAL) {
        if option.takes.is_some() && seen.iter().all(|(name, _)| *name != option.name) {
            seen.push((option.name, option.value));
        }
    }
    seen
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
                (Some(_), Value::Word(words)) => format!(" -r -a '{}'", words.join(" ")),
                (Some(_), Value::File) => " -r -F".to_owned(),
                (Some(_), Value::Any) => " -r".to_owned(),
            };
            let _ = writeln!(text, "{seen} -l {}{value} -d '{}'", option.name, quoted(option.help));
        }
        if command.arguments.iter().any(|argument| argument.value == Value::File) {
            let _ = writeln!(text, "{seen} -F");
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
        let commands = COMMANDS.iter().filter(|command| command.name.split(' ').next() == Some(first));
        let mut words: Vec<String> = commands.flat_map(words_of).collect();
        words.extend(second_words(first).into_iter().map(Into::into));
        words.sort_unstable();
        words.dedup();
        let _ = writeln!(text, "        '{first}' = '{}'", words.join(" "));
    }
    text.push_str(
        "    }\n    $command = if ($ast.CommandElements.Count -gt 1) { \"$($ast.CommandElements[1])\" } else { '' }\n    \
         if (-not $words.ContainsKey($command)) { $command = '' }\n    \
         $words[$command] -split ' ' | Where-Object { $_ -like \"$word*\" } | ForEach-Object {\n        \
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
