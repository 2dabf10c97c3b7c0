//! Completions of `cargo driver …`, in the shells themselves.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{folder, printed, run};

/// What bash would offer for the words of a command line.
fn completed(words: &[&str]) -> String {
    let script = printed(&run(&["completions", "bash"]));
    let last = words.len() - 1;
    let line = format!(
        "{script}\nCOMP_WORDS=({}); COMP_CWORD={last}\n_cargo-driver_below_cargo cargo '{}' '{}'\necho \"${{COMPREPLY[@]}}\"\n",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words[last],
        words[last - 1]
    );
    let output = Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", printed(&output));
    printed(&output)
}

#[test]
fn bash_completes_the_commands_of_cargo_driver() {
    assert_eq!(completed(&["cargo", "driver", "bui"]).trim(), "build");
    assert!(completed(&["cargo", "driver", "build", "--arch", ""]).contains("arm64"));
    assert!(completed(&["cargo", "driver", "test", "--ju"]).contains("--junit"));
    assert_eq!(completed(&["cargo", "dri"]).trim(), "driver");
    assert_eq!(completed(&["cargo", "build", "--rel"]).trim(), "", "a command of cargo");
}

fn is_installed(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {shell} is not installed");
    }
    found
}

#[test]
fn fish_completes_the_commands_of_cargo_driver() {
    if !is_installed("fish") {
        return;
    }
    let script = folder("fish").join("cargo-driver.fish");
    fs::write(&script, run(&["completions", "fish"]).stdout).unwrap();
    let completed = |line: &str| {
        let command = format!("source '{}'; complete -C '{line}'", script.display());
        let output = Command::new("fish").args(["--no-config", "-c", &command]).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", printed(&output));
        // A candidate, a tab, its description.
        let text = printed(&output);
        text.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(completed("cargo driver bui"), ["build"]);
    assert_eq!(completed("cargo driver build --arch "), ["arm64", "x64"]);
    assert_eq!(completed("cargo driver test --ju"), ["--junit"]);
    assert_eq!(completed("cargo dri"), ["driver"]);
}

/// Types lines and the tab key into a zsh, and lets it write the completed lines to a file.
const TYPE: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; echo REA''DY"
zpty -r shell seen '*READY*'
file=$2
shift 2
for line in "$@"; do
    zpty -w -n shell "$line"$'\t\x01print -r -- \'\x05\' >> '"$file"$'; echo DO\'\'NE\n'
    zpty -r shell seen '*DONE*'
done
"#;

#[test]
fn zsh_completes_the_commands_of_cargo_driver() {
    let root = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let functions = Path::new(printed(&root).trim()).join("share/zsh/site-functions");
    if !is_installed("zsh") || !functions.join("_cargo").is_file() {
        println!("skipped: this needs zsh, and cargo's completions for it");
        return;
    }
    let dir = folder("zsh");
    fs::write(dir.join("_cargo-driver"), run(&["completions", "zsh"]).stdout).unwrap();
    let path = format!("{} {}", dir.display(), functions.display());
    let completed = dir.join("completed");
    let own = Path::new(env!("CARGO_BIN_EXE_cargo-driver")).parent().unwrap().to_path_buf();
    let path_of_programs = env::var_os("PATH").unwrap();
    let programs = [own].into_iter().chain(env::split_paths(&path_of_programs));
    let output = Command::new("zsh")
        .args(["-f", "-c", TYPE, "zsh", &path])
        .arg(&completed)
        .args([
            "cargo driver bui",
            "cargo driver build --arc",
            "cargo driver build --arch arm",
            "cargo driver test --ju",
        ])
        .env("PATH", env::join_paths(programs).unwrap())
        .output()
        .unwrap();
    let text = fs::read_to_string(&completed).unwrap_or_else(|error| panic!("{error}: {}", printed(&output)));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let expected = [
        "cargo driver build",
        "cargo driver build --arch",
        "cargo driver build --arch arm64",
        "cargo driver test --junit",
    ];
    assert_eq!(lines, expected);
}
