//! `cargo driver test`.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use command_line::{Inputs, Output, Outputs, OwnDir, annotate, is_annotating, print};
use driver_build::{Error, Host, Tool, build};

use crate::arguments::{TESTS, Test};
use crate::coverage::{self, Recording};
use crate::framework;
use crate::junit::Results;
use crate::plan::plan;

/// Runs the tests of packages that are not drivers, because a driver does not run on the host: the package in `host-tests`
/// of the driver or of its workspace, otherwise all other packages of the workspace. `DRIVER_IMAGE` has the path of the image if there is only one.
pub(crate) fn test(host: &Host, line: &Test) -> Result<(), Error> {
    if line.nextest && !host.cargo().args(["nextest", "--version"]).succeeds() {
        return Err(Error::Missing(String::from(
            "cargo-nextest is not installed: cargo install --locked cargo-nextest, or leave out --nextest",
        )));
    }
    // Before the build, which takes a while.
    let manifest = line.driver.manifest()?;
    let mut outputs = Outputs::new(inputs(&manifest));
    let junit = line.junit.as_ref().map(|path| outputs.file("--junit", path)).transpose()?;
    let plan = plan(host, &line.driver)?;
    let workspace = &plan.workspace;
    let images = build(host, &plan)?;
    let mut own = manifest.parent().into_iter().chain([workspace.root.as_path()]).map(|dir| dir.join(TESTS));
    let own = own.find(|dir| dir.join("Cargo.toml").is_file()).unwrap_or_else(|| workspace.root.join(TESTS));
    let verb: &[&str] = if line.nextest { &["nextest", "run"] } else { &["test"] };
    let mut cargo = host.cargo().current_dir(&workspace.root).args(verb);
    let driver = OwnDir::new(workspace.target.join("driver"));
    let recording = line.coverage.as_ref().map(|dir| {
        let dir = dir.clone().unwrap_or_else(|| driver.dir("coverage").path().to_owned().into());
        Recording::begin(outputs.dir(&dir), driver.dir("coverage-parts"))
    });
    let recording = recording.transpose()?;
    if let Some(recording) = &recording {
        cargo = cargo.hidden_env(coverage::VARIABLE, recording.parts());
    }
    if let Some(framework) = framework::chosen(line.framework.as_deref(), workspace.settings().framework) {
        cargo = cargo.hidden_env(framework::VARIABLE, framework);
    }
    if let [image] = images.as_slice() {
        cargo = cargo.hidden_env("DRIVER_IMAGE", image);
    }
    let has_own = own.join("Cargo.toml").is_file();
    if let Some(dir) = line.driver.target_dir() {
        cargo = cargo.hidden_env("CARGO_TARGET_DIR", dir);
    } else if has_own && env::var_os("CARGO_TARGET_DIR").is_none() {
        // All drivers share one folder, so nt-host is compiled once for each toolchain and not once for each driver.
        cargo = cargo.hidden_env("CARGO_TARGET_DIR", host.cache().join("host-tests"));
    }
    if has_own {
        cargo = cargo.args(["--manifest-path".as_ref(), own.join("Cargo.toml").as_os_str()]);
    } else if workspace.others == 0 {
        return Err(Error::Failed(format!(
            "{} has no tests: `cargo driver init` adds some in the folder {TESTS}; a package of the driver's workspace that depends \
             on nt-host works, too",
            workspace.root.display()
        )));
    } else {
        cargo = cargo.args(["--workspace"]);
        for driver in workspace.drivers() {
            cargo = cargo.args(["--exclude", driver]);
        }
    }
    // The paths in messages of tests are relative to the folder of their workspace.
    let dir = if has_own { &own } else { &workspace.root };
    let result = run(with_options(cargo, line), junit.as_ref(), dir);
    // Tests that fail have reached lines, too.
    let recorded = recording.map_or(Ok(()), Recording::end);
    result.and(recorded)
}

/// What a build and its tests read in the driver's folder and in those above it that have a manifest, such as that of the workspace.
/// Other files there may be results of an earlier run, which the next one replaces. A target directory is not searched.
fn inputs(manifest: &Path) -> Inputs {
    const SOURCES: &[&str] = &["rs", "toml", "lock", "c", "cpp", "h", "rc", "man", "mc", "inx", "inf"];
    let dirs = manifest.ancestors().skip(1).filter(|dir| dir.join("Cargo.toml").is_file());
    dirs.fold(Inputs::new(), |inputs, dir| {
        let tests = dir.join(TESTS);
        let inputs = inputs.files_in(dir, SOURCES).files_in(&tests, SOURCES);
        let sources = [dir.join("src"), dir.join("tests"), tests.join("src"), tests.join("tests")];
        sources.into_iter().fold(inputs, |all, dir| all.file_or_folder(dir, SOURCES))
    })
}

fn with_options(mut cargo: Tool, line: &Test) -> Tool {
    cargo = cargo.args(line.driver.for_tests());
    for name in &line.programs {
        cargo = cargo.args(["--test", name]);
    }
    if line.no_fail_fast {
        cargo = cargo.args(["--no-fail-fast"]);
    }
    if let Some(count) = line.retries {
        cargo = cargo.args(["--retries", &count.to_string()]);
    }
    cargo = cargo.args(&line.filter);
    if line.rest.is_empty() { cargo } else { cargo.args(["--"]).args(&line.rest) }
}

/// Runs the tests. Their results are read only if they have to be written to a file or shown as annotations.
fn run(cargo: Tool, junit: Option<&Output>, dir: &Path) -> Result<(), Error> {
    if junit.is_none() && !is_annotating() {
        return cargo.run_ours();
    }
    let mut results = Results::default();
    let result = cargo.run_ours_reading(|stream| {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        while stream.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&bytes);
            print(&text);
            results.line(text.trim_end());
            bytes.clear();
        }
    });
    results.end(result.is_ok());
    for failure in results.failures() {
        let place = failure.place.map(|(file, line)| (dir.join(file), line));
        annotate(place.as_ref().map(|(file, line)| (file.as_path(), *line)), &failure.message);
    }
    if let Some(output) = junit {
        let path = output.as_ref();
        let created = path.parent().map_or(Ok(()), fs::create_dir_all);
        created.map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
        output.write(results.to_xml())?;
    }
    result
}
