//! Follows a guide: makes its files, runs its commands, and checks the output that the page shows.
//!
//! The code blocks of the page become one script, in order. A block with `file=` writes a file, and an `sh` block
//! runs. A `text output` block after it has the lines that it must print. Other text blocks are ignored. The script
//! runs in a new folder that contains only a link `wdk-etw` to this repository, which is the clone that the pages
//! mention.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::markdown::{Page, repository};

/// The line that separates the outputs of the commands.
const MARK: &str = "=== end of block";

/// Follows `docs/NAME` in `folder`. The folder is emptied first.
///
/// # Panics
///
/// If a command fails, or if its output lacks a line that the page shows.
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
                promised.push((commands - 1, block.text.lines().map(without_times).collect()));
            }
            ("text", None) => {}
            other => panic!("{name}:{}: unsupported code block {other:?}", block.line),
        }
    }
    assert!(!promised.is_empty(), "{name} has no `text output` block");

    let output = Command::new("sh").arg("-c").arg(&script).env("FOLDER", folder).current_dir(folder).output();
    let output = output.expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", tail(&text));
    let outputs: Vec<&str> = text.split(MARK).collect();
    for (command, lines) in promised {
        let output: Vec<&str> = outputs[command].lines().map(without_times).collect();
        let output = output.join("\n");
        let mut rest = output.as_str();
        for line in lines {
            let Some(at) = rest.find(line) else {
                panic!("no `{line}` in this order in\n{}", outputs[command]);
            };
            rest = &rest[at + line.len()..];
        }
    }
}

/// Returns a line without the two times at the start of an event. They are measured, so they differ in each run.
fn without_times(line: &str) -> &str {
    let time = |line: &str| {
        let (first, rest) = line.trim_start().split_once(' ')?;
        let (whole, part) = first.split_once('.')?;
        let is_time = part.len() == 4 && [whole, part].iter().all(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        is_time.then(|| line.len() - rest.len())
    };
    let first = time(line).and_then(|at| Some(at + time(line.get(at..)?)?));
    first.and_then(|at| line.get(at..)).unwrap_or(line).trim()
}

/// Returns the last 60 lines of a text, which contain the reason for a failure.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::without_times;

    #[test]
    fn only_measured_times_are_left_out() {
        assert_eq!(without_times("     0.9000     0.9559  info     ┌ 1  Add  Code=1"), "info     ┌ 1  Add  Code=1");
        assert_eq!(without_times("  2503.3839  2500.6249  info"), "info");
        for line in ["no findings", "1.5 2.25 x", "0.9000 x", "0.0000"] {
            assert_eq!(without_times(line), line);
        }
    }
}
