//! Follows a page that tells how to make something: its files are made, its commands are run, and what it promises comes out.
//!
//! The blocks of the page become one script, in their order: `file=` blocks write files, `sh` blocks are run, and behind each
//! comes what it has to print (`text output`). Other blocks of text are only read. The script runs in a folder that is empty at first, but
//! for a link to this repository, which is the clone that pages speak of.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::markdown::{Page, repository};

/// A line that ends the output of a command.
const MARK: &str = "=== end of block";

/// Follows `docs/NAME` in `folder`, which is made anew.
///
/// # Panics
///
/// If a command fails, or something that the page promises is not printed.
pub fn follow(name: &str, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("an empty folder");
    std::os::unix::fs::symlink(repository(), folder.join("wdk-etw")).expect("the clone");
    let page = Page::parse(&fs::read_to_string(repository().join("docs").join(name)).expect("the page"));
    let mut script = String::from("set -eu\nexec 2>&1\n");
    let mut promised: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut commands = 0;
    for block in &page.blocks {
        match (block.language(), block.value("file")) {
            (_, Some(file)) => {
                let _ = write!(script, "cat > \"$FOLDER/{file}\" <<'END OF FILE'\n{}END OF FILE\n", block.text);
            }
            ("sh", None) => {
                let _ = writeln!(script, "{}echo '{MARK}'", block.text);
                commands += 1;
            }
            ("text", None) if block.info.ends_with(" output") => {
                promised.push((commands - 1, block.text.lines().map(str::trim).collect()));
            }
            ("text", None) => {}
            other => panic!("{name}:{}: {other:?} is nothing that a page can ask for", block.line),
        }
    }
    assert!(!promised.is_empty(), "{name} promises nothing");

    let output = Command::new("sh").arg("-c").arg(&script).env("FOLDER", folder).current_dir(folder).output();
    let output = output.expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", tail(&text));
    let outputs: Vec<&str> = text.split(MARK).collect();
    for (command, lines) in promised {
        let mut rest = outputs[command];
        for line in lines {
            let Some(at) = rest.find(line) else {
                panic!("no `{line}` in this order in\n{}", outputs[command]);
            };
            rest = &rest[at + line.len()..];
        }
    }
}

/// The end of a text, which is where the reason is.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
