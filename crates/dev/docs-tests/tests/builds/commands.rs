//! Commands that the pages mention and the workflows run exist, with their flags.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::programs::program;
use docs_tests::markdown::{Page, pages, repository};

/// The programs of this repository that pages mention or workflows run, and how the command may begin.
const PROGRAMS: [(&str, &[&str]); 6] = [
    ("xtask", &["cargo xtask"]),
    ("cargo-driver", &["cargo driver"]),
    ("nt-host", &["cargo run -p nt-host-cli --", "nt-host"]),
    ("etwctl", &["cargo run -p etwctl --", "etwctl"]),
    ("driver-package", &["cargo run -p driver-package --", "driver-package"]),
    ("driver-exercise", &["driver-exercise"]),
];
/// The workflows: of this repository, of those that use its action, and of new drivers.
const WORKFLOWS: [&str; 6] = [
    ".github/workflows/linux.yml",
    ".github/workflows/release.yml",
    ".github/workflows/windows.yml",
    ".github/workflows/windows-driver.yml",
    "action.yml",
    "crates/toolchain/driver-build/templates/common/.github/workflows/driver.yml",
];
/// Flags of cargo itself, which `--help` of our programs does not list.
const FOREIGN: [&str; 1] = ["--help"];

/// A command on a page or in a workflow.
#[derive(Debug)]
struct Mention {
    place: String,
    program: &'static str,
    words: Vec<String>,
}

/// The command in a piece of text, if it is one of ours.
fn mention(place: String, text: &str) -> Option<Mention> {
    // A comment, another command, or what the output goes to, ends it.
    let text = text.split(" #").next()?.split(['|', '>', ';', '&']).next()?.trim();
    let (program, start) = PROGRAMS
        .iter()
        .flat_map(|(program, starts)| starts.iter().map(move |start| (*program, *start)))
        .find(|(_, start)| text == *start || text.strip_prefix(start).is_some_and(|rest| rest.starts_with(' ')))?;
    let words = text.strip_prefix(start)?.split_whitespace();
    let words: Vec<String> = words.map(|word| word.trim_matches(['[', ']', '\'', '"']).to_owned()).collect();
    Some(Mention { place, program, words })
}

/// Every command on every page: in blocks for shells and for reading, and in lines.
fn mentions() -> Vec<Mention> {
    let mut mentions = Vec::new();
    for path in pages().expect("the pages") {
        let page = Page::parse(&fs::read_to_string(&path).expect("a page"));
        let name = path.strip_prefix(repository()).unwrap_or(&path).display().to_string();
        let lines =
            page.blocks.iter().filter(|block| matches!(block.language(), "sh" | "text" | "")).flat_map(|block| {
                (block.line..).zip(block.text.lines().flat_map(|line| line.split(" | ")).map(str::to_owned))
            });
        for (line, text) in lines.chain(page.code.iter().cloned()) {
            mentions.extend(mention(format!("{name}:{line}"), text.trim()));
        }
    }
    mentions
}

/// Every command in the workflows.
fn in_workflows() -> Vec<Mention> {
    let mut mentions = Vec::new();
    for path in WORKFLOWS {
        let text = fs::read_to_string(repository().join(path)).expect("a workflow");
        for (line, text) in joined(&text) {
            mentions.extend(mention(format!("{path}:{line}"), &shortened(&text)));
        }
    }
    mentions
}

/// The lines of a workflow. Flags at the start of a line belong to the command before it.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        match lines.last_mut() {
            Some((_, command)) if line.starts_with("--") => {
                *command = format!("{} {line}", command.trim_end_matches('\\'));
            }
            _ => lines.push((number, line.to_owned())),
        }
    }
    lines
}

/// A line without how its program is found: `cargo run --package NAME -- …` and `folder/NAME.exe …` become `NAME …`.
fn shortened(line: &str) -> String {
    let line = line.strip_prefix("run: ").unwrap_or(line);
    let (program, rest) = match line.split_once(" -- ") {
        Some((cargo, rest)) if cargo.starts_with("cargo run ") => (cargo.rsplit(' ').next().unwrap_or_default(), rest),
        _ => match line.split_once(".exe ") {
            Some((path, rest)) if !path.contains(' ') => (path.rsplit('/').next().unwrap_or_default(), rest),
            _ => return line.to_owned(),
        },
    };
    format!("{program} {rest}")
}

/// What a program says about a command: its explanation, or `None` where it does not know it.
fn help(name: &str, command: &[&str]) -> Option<String> {
    let output = program(name).args(command).arg("--help").output().expect("a program");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The flags that may follow `--` in a command of `cargo driver`: those of nt-host, which runs the driver.
fn flags_of_nt_host(command: &[&str]) -> BTreeSet<String> {
    let command = if command == ["trace"] { &["run"][..] } else { command };
    help("nt-host", command).map_or_else(BTreeSet::new, |help| flags(&help))
}

/// The flags in an explanation.
fn flags(help: &str) -> BTreeSet<String> {
    let words =
        help.split(|each: char| each.is_whitespace() || matches!(each, '[' | ']' | ',' | '=' | '`' | '|' | ')' | '('));
    words.filter(|word| word.starts_with("--")).map(str::to_owned).collect()
}

/// The words that name a command; none for a placeholder.
fn command(mention: &Mention) -> Vec<&str> {
    let count = match (mention.program, mention.words.first().map(String::as_str)) {
        (_, None) => 0,
        (_, Some(word)) if word.starts_with("--") || word.chars().all(char::is_uppercase) => 0,
        ("etwctl", Some("info" | "autologger")) => 2,
        _ => 1,
    };
    mention.words.iter().take(count).map(String::as_str).collect()
}

#[test]
fn commands_and_their_flags_exist() {
    let mut known: BTreeMap<(&str, Vec<&str>), Option<String>> = BTreeMap::new();
    let mut mentions = mentions();
    let run = in_workflows();
    assert!(run.len() >= 25, "{run:#?}");
    mentions.extend(run);
    let mut mistakes = Vec::new();
    for mention in &mentions {
        let command = command(mention);
        let help = known.entry((mention.program, command.clone())).or_insert_with(|| help(mention.program, &command));
        let Some(help) = help else {
            mistakes.push(format!("{}: {} has no command {}", mention.place, mention.program, command.join(" ")));
            continue;
        };
        let mut flags = flags(help);
        if mention.program == "cargo-driver" && mention.words.iter().any(|word| word == "--") {
            flags.extend(flags_of_nt_host(&command));
        }
        for word in mention.words.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
            let flag = word.split('=').next().unwrap_or(word);
            if !flags.contains(flag) && !FOREIGN.contains(&flag) {
                mistakes.push(format!("{}: {} {} has no {flag}", mention.place, mention.program, command.join(" ")));
            }
        }
    }
    for (program, _) in PROGRAMS {
        assert!(mentions.iter().any(|mention| mention.program == program), "nothing mentions {program}");
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn a_command_is_recognised_and_one_that_is_not_there_is_detected() {
    let found = mention(String::new(), "cargo run -p etwctl -- info get TraceStreamCount --session mine   # a comment")
        .expect("ours");
    assert_eq!(found.program, "etwctl");
    assert_eq!(command(&found), vec!["info", "get"]);
    assert!(found.words.contains(&"--session".into()));
    assert!(!found.words.contains(&"comment".into()));
    let folded = "run: >-\n  target/debug/driver-exercise.exe run --package package\n  --classes\n";
    let [_, (2, line)] = &joined(folded)[..] else { panic!("{:?}", joined(folded)) };
    assert_eq!(shortened(line), "driver-exercise run --package package --classes");
    assert_eq!(shortened("run: cargo run --locked --package etwctl -- stats a.etl"), "etwctl stats a.etl");
    assert!(mention(String::new(), "cargo test").is_none());
    assert!(mention(String::new(), "etwctl-like").is_none());
    assert!(help("xtask", &["fly"]).is_none());
    assert!(help("etwctl", &["fly"]).is_none());
    assert!(!flags(&help("xtask", &["test"]).expect("a command")).contains("--fly"));
}
