//! No output replaces an input.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Inputs, OutputPath, Outputs};

fn dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("command-line-outputs-{name}-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn path(path: impl AsRef<Path>) -> OutputPath {
    path.as_ref().to_owned().into()
}

#[test]
fn two_options_cannot_name_one_file() {
    let dir = dir("twice");
    let mut outputs = Outputs::new(Inputs::new());
    outputs.file("--etl", &path(dir.join("a"))).unwrap();
    outputs.file("--other", &path(dir.join("b"))).unwrap();
    let error = outputs.file("--coverage", &path(dir.join("./a"))).unwrap_err().to_string();
    assert!(error.starts_with("--coverage and --etl are the same file, "), "{error}");
    fs::write(dir.join("a"), "").unwrap();
    symlink(dir.join("a"), dir.join("link")).unwrap();
    outputs.file("--coverage", &path(dir.join("link"))).unwrap_err();
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn devices_can_be_written_twice() {
    let mut outputs = Outputs::new(Inputs::new());
    outputs.file("--etl", &path("/dev/null")).unwrap();
    outputs.file("--coverage", &path("/dev/null")).unwrap();
}

#[test]
fn a_file_in_a_folder_that_leads_to_an_input_is_refused() {
    let dir = dir("folder");
    fs::write(dir.join("driver.sys"), "input").unwrap();
    fs::create_dir(dir.join("out")).unwrap();
    symlink(dir.join("driver.sys"), dir.join("out/coverage.html")).unwrap();
    let out = Outputs::new(Inputs::new().file(dir.join("driver.sys"))).dir(&path(dir.join("out")));
    let error = out.file("coverage.html").unwrap_err().to_string();
    assert!(error.contains("coverage.html is the input "), "{error}");
    assert_eq!(out.dir("corpus").file("a.steps").unwrap().as_ref(), dir.join("out/corpus/a.steps"));
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_folder_with_an_input_is_not_emptied() {
    let dir = dir("emptied");
    fs::create_dir_all(dir.join("out/package/deep")).unwrap();
    fs::write(dir.join("out/package/deep/driver.sys"), "input").unwrap();
    fs::write(dir.join("out/package/old"), "").unwrap();
    symlink(dir.join("out/package"), dir.join("link")).unwrap();
    for (input, output) in [
        ("out/package/deep/driver.sys", "out/package"),
        ("out/package/deep/driver.sys", "link"),
        ("link/deep/driver.sys", "out"),
        ("link", "out/package"),
    ] {
        let inputs = Inputs::new().file_or_folder(dir.join(input), &["sys"]);
        let error = Outputs::new(inputs).dir(&path(dir.join(output))).into_own().unwrap_err().to_string();
        assert!(error.contains(" would be removed with the input "), "{input}, {output}: {error}");
        assert!(dir.join("out/package/old").exists(), "{input}, {output}");
    }
    // The folder is in one with inputs, and has none.
    let inputs = Inputs::new().file_or_folder(&dir, &["inf"]).file(dir.join("out/other"));
    let own = Outputs::new(inputs).dir(&path(dir.join("out/package"))).into_own().unwrap();
    own.empty().unwrap();
    assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);
    own.file("driver.sys").write("new").unwrap();
    assert_eq!(fs::read(dir.join("out/package/driver.sys")).unwrap(), b"new");
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_copy_of_a_file_that_cannot_be_read_keeps_the_old_file() {
    let dir = dir("copy");
    let mut outputs = Outputs::new(Inputs::new());
    let output = outputs.file("--out", &path(dir.join("out"))).unwrap();
    output.write("old").unwrap();
    for from in ["missing", "."] {
        let error = output.copy(&dir.join(from)).unwrap_err().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
    }
    assert_eq!(fs::read(dir.join("out")).unwrap(), b"old");
    fs::write(dir.join("from"), "new").unwrap();
    output.copy(&dir.join("from")).unwrap();
    assert_eq!(fs::read(dir.join("out")).unwrap(), b"new");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "something is left");
    fs::remove_dir_all(dir).unwrap();
}
