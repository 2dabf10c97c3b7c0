//! Follows a page: writes its files, runs its commands, and checks the output that it shows.
//!
//! The blocks of the page become one script, in their order. A block with `file=` writes a file, and an `sh` block is run. A
//! `text output` block has lines that the last `sh` block must print, in this order. Other `text` blocks are not run: they show
//! what the test must not do, such as an installation. The script starts in a folder that contains only `wdk-etw`, a link to
//! this repository: the clone that the pages mention.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::markdown::{Page, repository};

/// A line that ends the output of a command.
const MARK: &str = "=== end of block";

/// Follows `docs/NAME` in `folder`, which is emptied first. `programs` is the folder of the programs that a reader has
/// installed, such as `cargo-driver`.
///
/// # Panics
///
/// If a command fails, or does not print what the page shows.
pub fn follow(name: &str, folder: &Path, programs: &Path) {
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
            other => panic!("{name}:{}: {other:?} is nothing that a page can ask for", block.line),
        }
    }
    assert!(!promised.is_empty(), "{name} promises nothing");

    let output = Command::new("sh")
        .arg("-c")
        .arg(&script)
        .current_dir(folder)
        .env("FOLDER", folder)
        .env("PATH", path_with(programs))
        // Crates that the other tests compiled for drivers are used again.
        .env("CARGO_DRIVER_CACHE", repository().join("target/driver"))
        // Pages name files in the driver's own `target`. What cargo compiles for it is in the repository's.
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_BUILD_BUILD_DIR", repository().join("target"))
        .output();
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

/// The search path, with another folder in front of it.
fn path_with(folder: &Path) -> OsString {
    let old = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(env::split_paths(&old));
    env::join_paths(folders).expect("a search path")
}

/// A line without the two times at the start of an event: they are measured, and differ in each run.
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

/// The end of a text, which is where the reason is.
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
