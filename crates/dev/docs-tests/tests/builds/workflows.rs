//! Workflows, those of new drivers too, and the action: what GitHub would reject, and what the pages promise.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use docs_tests::markdown::repository;
use driver_build::new::{Kind, NewDriver, Source};
use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::Value;

/// YAML as JSON, which can be indexed.
fn to_json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Mapping(entries) => {
            let entry = |(key, value): (&Yaml<'_>, &Yaml<'_>)| (key.as_str().unwrap().to_owned(), to_json(value));
            Value::Object(entries.iter().map(entry).collect())
        }
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::String(value)) => value.as_ref().into(),
        other => panic!("{other:?}"),
    }
}

fn parse(text: &str) -> Value {
    let documents = Yaml::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    to_json(&documents[0])
}

fn read(path: &str) -> Value {
    parse(&fs::read_to_string(repository().join(path)).unwrap())
}

/// The workflow of a new driver that depends on a revision of a repository.
fn of_a_new_driver() -> Value {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("workflows");
    let _ = fs::remove_dir_all(&dir);
    let source = Source::Git { url: "https://example.com/a".into(), revision: "0a1b2c".into() };
    NewDriver::at(&dir.join("my-driver"), Kind::Kmdf, source).write().unwrap();
    parse(&fs::read_to_string(dir.join("my-driver/.github/workflows/driver.yml")).unwrap())
}

/// Every workflow with its name.
fn workflows() -> Vec<(String, Value)> {
    let dir = repository().join(".github/workflows");
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let own = paths.map(|path| (path.display().to_string(), parse(&fs::read_to_string(&path).unwrap())));
    own.chain([(String::from("a new driver's"), of_a_new_driver())]).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The expressions in a text: what is between `${{` and `}}`.
fn expressions(text: &str) -> impl Iterator<Item = &str> {
    text.split("${{").skip(1).map(|rest| rest.split("}}").next().unwrap_or_default().trim())
}

/// The text for each row of a job's matrix, with the values of the row. Without a matrix, the text itself.
fn for_each_row(job: &Value, text: &str) -> BTreeSet<String> {
    let rows = list(&job["strategy"]["matrix"], "include");
    let fill = |row: &Value| {
        row.as_object().into_iter().flatten().fold(text.to_owned(), |text, (key, value)| {
            text.replace(&format!("${{{{ matrix.{key} }}}}"), value.as_str().unwrap_or_default())
        })
    };
    if rows.is_empty() { [text.to_owned()].into() } else { rows.iter().map(fill).collect() }
}

/// Whether each row of a job's matrix has this key.
fn has_key(job: &Value, key: &str) -> bool {
    let matrix = &job["strategy"]["matrix"];
    let rows = list(matrix, "include");
    matrix[key].is_array() || !rows.is_empty() && rows.iter().all(|row| !row[key].is_null())
}

/// The names of the artifacts that the steps of a workflow upload or download.
fn artifacts(workflow: &Value, action: &str) -> BTreeSet<String> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    let steps = jobs.flat_map(|job| list(job, "steps").iter().map(move |step| (job, step)));
    let found = steps.filter(|(_, step)| text(step, "uses").starts_with(action));
    found.flat_map(|(job, step)| for_each_row(job, text(&step["with"], "name"))).collect()
}

/// The message of a shell that cannot parse a script; empty if it can.
fn syntax_error(shell: &str, script: &str) -> String {
    let plain = script.replace("${{", "$(:").replace("}}", ")");
    let mut command = Command::new(shell);
    let mut child = command.arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(plain.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

/// The mistakes of a list of steps. `job` has the matrix, `shell` is what runs steps that name no shell.
fn mistakes_of_steps(steps: &[Value], job: &Value, shell: &str) -> Vec<String> {
    let mut mistakes = Vec::new();
    for step in steps {
        let uses = text(step, "uses");
        let run = text(step, "run");
        if uses.is_empty() == run.is_empty() {
            mistakes.push(format!("a step needs either `uses` or `run`: {step}"));
        }
        if !uses.is_empty() && !uses.contains("@v") {
            mistakes.push(format!("{uses} has no version"));
        }
        if step["shell"].as_str().unwrap_or(shell) == "bash" {
            let error = syntax_error("bash", run);
            if !error.is_empty() {
                mistakes.push(format!("{error} in {run}"));
            }
        }
        let all = step.to_string();
        let keys = expressions(&all).filter_map(|expression| expression.strip_prefix("matrix."));
        mistakes.extend(keys.filter(|key| !has_key(job, key)).map(|key| format!("the matrix has no {key}")));
    }
    mistakes
}

/// The mistakes of a workflow.
fn mistakes(workflow: &Value) -> Vec<String> {
    let jobs = workflow["jobs"].as_object().unwrap();
    let mut mistakes = Vec::new();
    if !["on", "permissions"].iter().all(|key| workflow[*key].is_object()) {
        mistakes.push("`on` or `permissions` is missing".into());
    }
    for (name, job) in jobs {
        if !job["runs-on"].is_string() || !job["timeout-minutes"].is_i64() || list(job, "steps").is_empty() {
            mistakes.push(format!("{name} needs `runs-on`, `timeout-minutes` and `steps`"));
        }
        if job["needs"].as_str().is_some_and(|other| !jobs.contains_key(other)) {
            mistakes.push(format!("{name} needs an unknown job"));
        }
        // Runners with Linux use bash unless a job names another shell.
        let shell = if text(job, "runs-on").starts_with("ubuntu") { "bash" } else { "pwsh" };
        let shell = job["defaults"]["run"]["shell"].as_str().unwrap_or(shell);
        mistakes.extend(mistakes_of_steps(list(job, "steps"), job, shell));
    }
    let made = artifacts(workflow, "actions/upload");
    let used = artifacts(workflow, "actions/download");
    mistakes.extend(used.difference(&made).map(|name| format!("no job uploads {name}")));
    mistakes
}

#[test]
fn workflows_have_what_github_requires() {
    let workflows = workflows();
    assert!(workflows.len() >= 5, "{}", workflows.len());
    for (name, workflow) in &workflows {
        assert_eq!(mistakes(workflow), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn mistakes_in_workflows_are_found() {
    let good = of_a_new_driver().to_string();
    for (old, new) in [
        ("actions/checkout@v4", "actions/checkout"),
        ("\"needs\":\"linux\"", "\"needs\":\"Linux\""),
        ("matrix.arch", "matrix.processor"),
        ("cargo driver package\\n", "cargo driver package (\\n"),
        ("\"name\":\"package-x64\"", "\"name\":\"package-x86\""),
        ("\"run\":\"cargo driver test\"", "\"runs\":\"cargo driver test\""),
        ("\"timeout-minutes\"", "\"timeout\""),
        ("\"permissions\"", "\"permission\""),
    ] {
        let bad = good.replace(old, new);
        assert_ne!(bad, good, "{old}");
        assert_ne!(mistakes(&serde_json::from_str(&bad).unwrap()), Vec::<String>::new(), "{new}");
    }
}

#[test]
fn the_workflow_of_a_new_driver_pins_and_caches_what_it_installs() {
    let workflow = of_a_new_driver();
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        let scripts: Vec<&str> = list(job, "steps").iter().map(|step| text(step, "run")).collect();
        assert!(!scripts.iter().any(|script| script.contains("sed ")), "{name}: {scripts:?}");
        let installs: Vec<&str> =
            scripts.iter().flat_map(|script| script.lines()).filter(|line| line.contains("cargo install")).collect();
        assert!(installs.len() >= 2, "{name}: {scripts:?}");
        for line in &installs {
            assert!(line.contains("--locked "), "{line}");
            assert!(line.contains("--git https://example.com/a --rev 0a1b2c "), "{line}");
        }
        let cache = list(job, "steps").iter().find(|step| text(step, "uses").starts_with("actions/cache@"));
        let Some(cache) = cache.map(|step| &step["with"]).filter(|_| name == "linux") else {
            assert_eq!(name, "windows", "only this job compiles no driver");
            continue;
        };
        let paths: BTreeSet<&str> = text(cache, "path").lines().collect();
        let programs = installs.iter().map(|line| format!("~/.cargo/bin/{}", line.rsplit(' ').next().unwrap()));
        let records = ["~/.cargo/.crates.toml", "~/.cargo/.crates2.json", "~/.cache/cargo-driver"];
        for path in programs.chain(records.map(String::from)) {
            assert!(paths.contains(path.as_str()), "{path}: {paths:?}");
        }
        // The workflow has the revision, and the lock files the other packages.
        for file in ["driver.yml", "my-driver/Cargo.lock", "host-tests/Cargo.lock"] {
            assert!(text(cache, "key").contains(file), "{cache}");
        }
    }
}

#[test]
fn the_action_installs_what_a_release_has() {
    let action = read("action.yml");
    assert_eq!(text(&action["runs"], "using"), "composite");
    assert_eq!(action["inputs"]["version"]["required"].as_bool(), Some(true));
    let steps = list(&action["runs"], "steps");
    assert_eq!(mistakes_of_steps(steps, &Value::Null, ""), Vec::<String>::new());
    assert!(steps.iter().all(|step| text(step, "shell") == "bash"), "a step of an action has to name its shell");

    let release = read(".github/workflows/release.yml");
    let job = &release["jobs"]["programs"];
    let archive = list(job, "steps").iter().find(|step| text(step, "run").starts_with("tar ")).unwrap();
    let installs = text(&steps[0], "run");
    for row in list(&job["strategy"]["matrix"], "include") {
        let target = text(row, "target");
        assert!(installs.contains(&format!("target={target} ;;")), "{target}: {installs}");
        let name = Path::new(text(row, "programs").split(' ').next().unwrap()).file_stem().unwrap();
        assert_eq!(name, "cargo-driver");
        for program in text(row, "programs").split(' ') {
            let package = format!("--package {}", program.trim_end_matches(".exe"));
            assert!(text(row, "packages").contains(&package), "{package}: {row}");
        }
    }
    let name = expressions(text(archive, "run")).fold(text(archive, "run").to_owned(), |run, expression| {
        run.replace(&format!("${{{{ {expression} }}}}"), "$target")
    });
    let name = name.split(' ').find(|word| word.ends_with(".tar.gz")).unwrap();
    assert!(installs.contains(&format!("--pattern \"{name}\"")), "{installs}");
    assert!(installs.contains(&format!("/{name}\"")), "{installs}");
}

/// Runs a script of a step with values for its expressions; returns its exit code and what it printed.
fn run_step(script: &str, row: &Value, dir: &Path, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let script = for_each_row(&serde_json::json!({ "strategy": { "matrix": { "include": [row] } } }), script);
    // The options with which GitHub starts bash.
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script.first().unwrap()]).current_dir(dir);
    let output = bash.envs(variables.iter().copied()).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// In place of GitHub's program: copies the file of a release that the pattern names.
const GH: &str = r#"#!/bin/sh
[ "$*" = "release download v0.1.0 --repo OWNER/NAME --pattern $7 --dir $RUNNER_TEMP --clobber" ] && cp "$RELEASE/$7" "$9"
"#;

#[test]
fn what_the_release_packs_the_action_unpacks() {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("action");
    let _ = fs::remove_dir_all(&dir);
    let release = read(".github/workflows/release.yml");
    let job = &release["jobs"]["programs"];
    let archive = list(job, "steps").iter().find(|step| text(step, "run").starts_with("tar ")).unwrap();
    let action = read("action.yml");
    let download = text(&list(&action["runs"], "steps")[0], "run");
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    for (system, row) in ["Linux", "Windows"].into_iter().zip(list(&job["strategy"]["matrix"], "include")) {
        let programs: Vec<&str> = text(row, "programs").split(' ').collect();
        let packed = dir.join(
            for_each_row(job, text(archive, "working-directory"))
                .into_iter()
                .find(|dir| dir.contains(text(row, "target")))
                .unwrap(),
        );
        fs::create_dir_all(&packed).unwrap();
        fs::create_dir_all(dir.join("temp")).unwrap();
        for program in &programs {
            fs::write(packed.join(program), "#!/bin/sh\necho \"$0\"\n").unwrap();
            assert!(Command::new("chmod").arg("+x").arg(packed.join(program)).status().unwrap().success());
        }
        assert_eq!(run_step(text(archive, "run"), row, &packed, &[]), (Some(0), String::new()));

        fs::write(packed.join("gh"), GH).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(packed.join("gh")).status().unwrap().success());
        let search = format!("{}:{}", packed.display(), std::env::var("PATH").unwrap());
        let home = path(system);
        let temp = path("temp");
        let own =
            [("HOME", home.as_str()), ("RUNNER_TEMP", &temp), ("RELEASE", packed.to_str().unwrap()), ("PATH", &search)];
        let variables = [("RUNNER_OS", system), ("REPOSITORY", "OWNER/NAME"), ("VERSION", "v0.1.0")];
        let result = run_step(download, row, &dir, &[own.as_slice(), &variables].concat());
        assert_eq!(result, (Some(0), String::new()), "{system}");
        for program in programs {
            let installed = dir.join(system).join(".cargo/bin").join(program);
            let output = Command::new(&installed).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), installed.to_str().unwrap());
        }
    }
    let (code, printed) = run_step(download, &Value::Null, &dir, &[("RUNNER_OS", "macOS")]);
    assert_eq!(code, Some(1));
    assert_eq!(printed.trim(), "::error::there are no programs for macOS");
}
