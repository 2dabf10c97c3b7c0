//! The tutorial, followed by the letter: its files are made, its commands are run, and what it promises comes out.
//!
//! The blocks of `docs/tutorial.md` become one script, in their order: `file=` blocks write files, `sh` blocks are run,
//! and behind each comes what it has to print (`text output`). It runs in a folder that is empty at first; the clone that the
//! tutorial speaks of is a link to this repository there. Where that folder is stays the same between runs, so the
//! second one finds the packages of the first compiled.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use docs_tests::markdown::{Page, repository};

/// A line that ends the output of a command.
const MARK: &str = "=== end of block";

#[test]
fn the_tutorial_leads_from_an_empty_folder_to_events() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("an empty folder");
    std::os::unix::fs::symlink(repository(), folder.join("wdk-etw")).expect("the clone");
    for left in ["target/adder.etl", "target/adder.html", "target/driver/x64/adder.sys"] {
        let _ = fs::remove_file(repository().join(left));
    }

    let page = Page::parse(&fs::read_to_string(repository().join("docs/tutorial.md")).expect("the tutorial"));
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
                promised.push((commands - 1, block.text.lines().map(str::trim_end).collect()));
            }
            other => panic!("line {}: {other:?} is nothing that a tutorial can ask for", block.line),
        }
    }
    assert!(commands >= 5 && promised.len() >= 3, "{commands} commands, {} outputs", promised.len());

    let output = Command::new("sh").arg("-c").arg(&script).env("FOLDER", &folder).current_dir(&folder).output();
    let output = output.expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", tail(&text));
    let outputs: Vec<&str> = text.split(MARK).collect();
    for (command, lines) in promised {
        let mut rest = outputs[command].lines();
        for line in lines {
            assert!(rest.any(|found| found.contains(line)), "no `{line}` in\n{}", outputs[command]);
        }
    }
    let page = fs::read_to_string(repository().join("target/adder.html")).expect("the page of the last step");
    assert!(page.contains("Example.Adder") && page.contains("STATUS_INVALID_DEVICE_REQUEST"));
}

/// The end of a text, which is where the reason is.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(60)..].join("\n")
}
