//! No text names a program that users of `cargo driver` need not have.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{printed, run};

/// The commands of nt-host.
const COMMANDS: [&str; 6] = ["run", "matrix", "fuzz", "list", "framework", "compare"];

/// The commands of nt-host that a text names.
fn named(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['`', '"', '('])).collect();
    let pairs = words.windows(2).filter(|pair| pair[0].ends_with("nt-host") && COMMANDS.contains(&pair[1]));
    pairs.map(|pair| pair.join(" ")).collect()
}

#[test]
fn help_names_no_command_of_other_programs() {
    let list = printed(&run(&["--help"]));
    let list = list.split_once("Commands:").unwrap().1.split_once("\n\n").unwrap().0;
    // Further lines of a description begin with more spaces.
    let lines = list.lines().filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let commands: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).collect();
    assert!(commands.len() > 20, "{commands:?}");
    let own = commands.iter().filter(|command| **command != "help").map(|command| vec![*command, "--help"]);
    let below = ["run", "matrix", "fuzz", "list", "trace", "verify"].map(|command| vec![command, "--", "--help"]);
    let framework = ["add", "list", "remove"].map(|command| vec!["framework", command, "--help"]);
    for line in own.chain(below).chain(framework) {
        let output = run(&line);
        let text = printed(&output);
        assert!(output.status.success(), "{line:?}: {text}");
        assert!(text.contains("Usage: cargo driver "), "{line:?}: {text}");
        assert_eq!(named(&text), Vec::<String>::new(), "{line:?}");
        assert!(!text.contains("driver-package"), "{line:?}: {text}");
    }
    let text = printed(&run(&["list", "--", "--help"]));
    assert!(text.contains("cargo driver list -- --os win7"), "{text}");
    assert!(!text.contains("FILE.sys"), "{text}");
}

#[test]
fn a_wrong_option_of_a_run_is_explained_with_a_command_of_cargo_driver() {
    for command in ["run", "matrix", "fuzz", "list"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
        // What `cargo driver run -- --no-such` starts after the build.
        let output = program.args(["--internal-program", "nt-host", command, "x.sys", "--no-such"]).output().unwrap();
        let text = printed(&output);
        assert!(text.contains(&format!("Usage: cargo driver {command} -- [OPTIONS]")), "{text}");
        assert_eq!(named(&text), Vec::<String>::new());
    }
}

#[test]
fn a_wrong_option_of_a_package_is_explained_with_a_command_of_cargo_driver() {
    for (words, usage) in [
        (&["verify", "--no-such"][..], "cargo driver verify [OPTIONS] <PATH>..."),
        (&["verify", "x.sys", "--trusted", "missing.cer"], "cargo driver verify [OPTIONS] <PATH>..."),
        (&["inspect", "--no-such"], "cargo driver inspect [OPTIONS] [FILE]..."),
        (&["package", "--no-such"], "cargo driver package [OPTIONS]"),
        (&["adopt", "--no-such"], "cargo driver package --adopt <FOLDER> [OPTIONS]"),
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
        let output = program.args(["--internal-program", "driver-package"]).args(words).output().unwrap();
        let text = printed(&output);
        assert!(text.contains(&format!("Usage: {usage}\n")), "{words:?}: {text}");
        assert!(!text.contains("driver-package"), "{words:?}: {text}");
    }
    let text = printed(&run(&["verify", "--no-such"]));
    assert!(text.contains("Usage: cargo driver verify"), "{text}");
}

/// The Rust files below a folder.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}

#[test]
fn no_message_names_a_command_of_nt_host() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Examples in the help, which the test above reads; the command of findings, which `--runner` replaces; pages of the documentation.
    let known = ["nt-host-cli/src/args.rs", "fuzz/input.rs", "documentation.rs"];
    let mut files = 0;
    for dir in [
        "machine/nt-host",
        "machine/nt-processor",
        "machine/nt-verifier",
        "machine/nt-kernel",
        "machine/nt-framework",
        "machine/nt-filters",
        "machine/nt-network",
        "machine/nt-hid",
        "machine/nt-crypto",
        "machine/nt-machine",
        "programs/nt-host-cli",
        "toolchain/driver-build",
        "toolchain/wdk-kit",
        "toolchain/driver-package",
        "programs/cargo-driver",
    ] {
        for path in sources(&crates.join(dir).join("src")) {
            files += 1;
            let text = fs::read_to_string(&path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let names: Vec<String> = code.flat_map(named).collect();
            assert!(names.is_empty() || known.iter().any(|end| path.ends_with(end)), "{}: {names:?}", path.display());
        }
    }
    assert!(files > 300, "{files}");
}
