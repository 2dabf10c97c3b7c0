//! A folder is written as a whole, and nothing of others is replaced.

use std::fs;
use std::path::{Path, PathBuf};

use command_line::{Inputs, OutputDir, Outputs};

use super::DATA_FILE;

/// A data file that lists these files and itself.
fn data(names: &[&str]) -> (String, Vec<u8>) {
    let names: Vec<String> = names.iter().chain(&[DATA_FILE]).map(|name| format!("'{name}'")).collect();
    (DATA_FILE.into(), format!("@{{\n    Files = @({})\n}}\n", names.join(", ")).into_bytes())
}

fn out(dir: &Path) -> OutputDir {
    Outputs::new(Inputs::new()).dir(&dir.to_owned().into())
}

fn replace(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), crate::Problem> {
    super::replace(&out(dir), files, &|| false)
}

fn add(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), crate::Problem> {
    super::add(&out(dir), files)
}

/// Creates an empty temporary folder for a test.
fn place(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("driver-package-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_package_takes_the_place_of_the_one_before() {
    let place = place("replace");
    let dir = place.join("x64");
    replace(&dir, &[data(&["old"]), ("old".into(), vec![])]).unwrap();
    replace(&dir, &[data(&["new"]), ("new".into(), b"1".to_vec())]).unwrap();
    assert_eq!(names(&dir), ["new", DATA_FILE]);
    assert_eq!(names(&place), ["x64"], "nothing else is left");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_failed_write_keeps_the_old_package() {
    let place = place("half");
    let dir = place.join("x64");
    replace(&dir, &[data(&[])]).unwrap();
    let bad = [("a".into(), vec![]), ("no/such/folder".into(), vec![])];
    let problem = replace(&dir, &bad).unwrap_err();
    assert!(Path::new(&problem.file).ends_with("no/such/folder"), "{problem}");
    assert_eq!(names(&dir), [DATA_FILE]);
    assert_eq!(names(&place), ["x64"]);
    // Nor is a folder left that was made for it.
    assert!(replace(&place.join("new/deep/x64"), &bad).is_err());
    assert_eq!(names(&place), ["x64"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn an_error_names_the_path_that_was_asked_for() {
    let place = place("asked");
    fs::write(place.join("file"), "not a folder").unwrap();
    let file = ("a".to_owned(), vec![]);
    for (dir, name, asked) in [("file", "a", "file"), ("", "no/folder", "no/folder")] {
        let problem = add(&place.join(dir), &[(name.to_owned(), vec![]), file.clone()]).unwrap_err();
        assert_eq!(problem.file, place.join(asked).display().to_string());
    }
    assert_eq!(names(&place), ["file"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn files_that_the_package_does_not_list_are_named_and_stay() {
    let place = place("foreign");
    let dir = place.join("x64");
    let package = [data(&["driver.sys"]), ("driver.sys".into(), vec![])];
    replace(&dir, &package).unwrap();
    fs::create_dir(dir.join("keys")).unwrap();
    fs::write(dir.join("keys/signer.pem"), "key").unwrap();
    fs::write(dir.join("driver.inx"), "mine").unwrap();
    let problem = replace(&dir, &package).unwrap_err();
    assert_eq!(problem.rule, "package-folder");
    assert!(!problem.is_access, "{problem}");
    assert!(problem.text.contains(": driver.inx, keys/;"), "{problem}");
    assert_eq!(names(&dir), ["driver.inx", "driver.sys", "keys", DATA_FILE]);
    assert_eq!(fs::read(dir.join("keys/signer.pem")).unwrap(), b"key");

    // Without a list, every file is somebody else's.
    fs::remove_dir_all(&dir).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join(DATA_FILE), "@{\n    Name = 'x'\n}\n").unwrap();
    assert!(replace(&dir, &package).unwrap_err().text.contains(DATA_FILE));
    assert!(replace(&dir.join(DATA_FILE), &package).unwrap_err().is_access, "it is a file");
    assert_eq!(names(&place), ["x64"]);
    fs::remove_dir_all(place).unwrap();
}

#[cfg(unix)]
#[test]
fn replaced_files_keep_their_mode_and_a_link_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = place("mode");
    let dir = place.join("x64");
    let package = [data(&["a.ps1"]), ("a.ps1".into(), b"1".to_vec())];
    replace(&dir, &package).unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    set(&dir, 0o750);
    set(&dir.join("a.ps1"), 0o755);
    symlink(&dir, place.join("link")).unwrap();
    replace(&place.join("link"), &package).unwrap();
    assert_eq!(mode(&dir), 0o750);
    assert_eq!(mode(&dir.join("a.ps1")), 0o755);
    assert!(place.join("link").is_symlink());
    set(&dir.join("a.ps1"), 0o700);
    add(&dir, &[("a.ps1".into(), b"2".to_vec())]).unwrap();
    assert_eq!(mode(&dir.join("a.ps1")), 0o700);
    assert_eq!(fs::read(dir.join("a.ps1")).unwrap(), b"2");
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn an_interrupted_package_leaves_nothing_and_keeps_the_old_one() {
    use std::cell::Cell;
    let place = place("interrupted");
    let dir = place.join("x64");
    let files = [data(&["a", "b"]), ("a".into(), b"1".to_vec()), ("b".into(), b"1".to_vec())];
    for before in [vec![], names(dir_of(&dir, &files))] {
        if before.is_empty() {
            fs::remove_dir_all(&dir).unwrap();
        } else {
            replace(&dir, &files).unwrap();
        }
        for stop in 0..files.len() {
            let written = Cell::new(0);
            let is_stopped = || written.replace(written.get() + 1) == stop;
            let problem = super::replace(&out(&dir), &files, &is_stopped).unwrap_err();
            assert!(problem.is_access, "{problem}");
            let left = if dir.exists() { names(&dir) } else { vec![] };
            assert_eq!(left, before);
            assert_eq!(names(&place).len(), usize::from(!before.is_empty()), "{:?}", names(&place));
        }
    }
    fs::remove_dir_all(place).unwrap();
}

/// Writes a package and returns its folder.
fn dir_of<'a>(dir: &'a Path, files: &[(String, Vec<u8>)]) -> &'a Path {
    replace(dir, files).unwrap();
    dir
}

#[test]
fn files_are_added_all_or_none() {
    let place = place("add");
    let dir = place.join("x_package");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("b"), "old").unwrap();
    let file = |name: &str| (name.to_owned(), b"new".to_vec());
    let bad = [file("a"), file("b"), file("no/such/folder")];
    assert!(add(&dir, &bad).unwrap_err().file.ends_with("no/such/folder"));
    assert_eq!(names(&dir), ["b"]);
    assert_eq!(names(&place), ["x_package"]);
    assert_eq!(fs::read_to_string(dir.join("b")).unwrap(), "old");
    add(&dir, &[file("a"), file("b")]).unwrap();
    assert_eq!(names(&dir), ["a", "b"]);
    assert_eq!(fs::read_to_string(dir.join("b")).unwrap(), "new");
    assert_eq!(names(&place), ["x_package"]);
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn no_input_is_replaced() {
    let place = place("inputs");
    let dir = place.join("x64");
    let package = [data(&["driver.sys"]), ("driver.sys".into(), b"unsigned".to_vec())];
    replace(&dir, &package).unwrap();
    let inputs = Inputs::new().file(dir.join("driver.sys"));
    let out = Outputs::new(inputs).dir(&dir.clone().into());
    let signed = [data(&["driver.sys"]), ("driver.sys".into(), b"signed".to_vec())];
    let problem = super::replace(&out, &signed, &|| false).unwrap_err();
    assert!(problem.text.contains(" would be removed with the input "), "{problem}");
    let problem = super::add(&out, &signed).unwrap_err();
    assert!(problem.text.contains(" is the input "), "{problem}");
    assert_eq!(fs::read(dir.join("driver.sys")).unwrap(), b"unsigned");
    fs::remove_dir_all(place).unwrap();
}
