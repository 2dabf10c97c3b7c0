//! `batch`: several commands in one process.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use command_line::Inputs;

use crate::cli::{self, Batch, Command};
use crate::context::Context;
use crate::failure::Failure;

/// Runs the commands of a file, or of standard input.
pub(super) fn batch(context: &Context<'_>, line: &Batch) -> Result<(), Failure> {
    let (input, inputs): (Box<dyn BufRead>, Inputs) = match &line.file {
        Some(path) => {
            let file = File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
            (Box::new(BufReader::new(file)), Inputs::new().file(path))
        }
        None => (Box::new(BufReader::new(io::stdin())), Inputs::new().stdin()),
    };
    let mut first = None;
    for (number, text) in (1_usize..).zip(input.lines()) {
        let Err(failure) = run(context, &text?, &inputs) else { continue };
        eprint!("line {number}: ");
        failure.report();
        let code = failure.exit_code();
        first = first.or(Some(code));
        if !line.keep_going {
            break;
        }
    }
    first.map_or(Ok(()), |code| Err(Failure::Reported(code)))
}

fn run(context: &Context<'_>, text: &str, inputs: &Inputs) -> Result<(), Failure> {
    let words = split(text).map_err(|error| Failure::Usage(error.to_string()))?;
    if words.is_empty() {
        return Ok(());
    }
    let line = cli::parse(context.machine, words.into_iter().map(Into::into))
        .map_err(|error| Failure::CommandLine(Box::new(error)))?;
    if matches!(line.command, Command::Batch(_)) {
        return Err(Failure::Usage("a batch cannot run a batch".into()));
    }
    let own = Context::new(context.machine, line.global);
    let is_json = own.is_json || context.is_json;
    super::run(&Context { is_json, inputs: inputs.clone(), ..own }, &line.command)
}

/// A line has a quotation mark without its pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NotClosed;

impl fmt::Display for NotClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quotation mark is not closed")
    }
}

/// Splits a line into words at white space. Quotes keep white space in a word, # begins a comment.
fn split(text: &str) -> Result<Vec<String>, NotClosed> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(NotClosed);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn lines_are_split_as_a_shell_would() {
        assert_eq!(
            split("start 'My Session' --etl a.etl # why"),
            Ok(vec!["start".into(), "My Session".into(), "--etl".into(), "a.etl".into()])
        );
        assert_eq!(split("  # nothing"), Ok(vec![]));
        assert_eq!(split("a \"\" b#c"), Ok(vec!["a".into(), String::new(), "b#c".into()]));
        assert!(split("'open").is_err());
    }
}
