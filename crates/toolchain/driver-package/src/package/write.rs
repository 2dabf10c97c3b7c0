//! Writes a folder atomically: under another name, which is then renamed. Only files that a package lists as its own are
//! replaced, and a replaced file keeps its mode.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::texts::{DATA_FILE, index};
use crate::problem::Problem;

const RULE: &str = "package-folder";
/// The most files that a message names.
const NAMED: usize = 8;

type Failure = (PathBuf, io::Error);

/// Replaces the package in a folder with these files, unless `is_stopped` says so before it is complete.
pub(super) fn replace(dir: &Path, files: &[(String, Vec<u8>)], is_stopped: &dyn Fn() -> bool) -> Result<(), Problem> {
    let foreign = foreign_files(dir).map_err(|error| Problem::access(dir, RULE, &error))?;
    if !foreign.is_empty() {
        let named: Vec<&str> = foreign.iter().map(String::as_str).take(NAMED).collect();
        let more = foreign.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "it contains files that no package of this program lists as its own: {}{more}; nothing was changed; move them, or \
             choose another folder",
            named.join(", ")
        );
        return Err(Problem::error(dir, RULE, text));
    }
    // A link to a folder stays a link.
    let place = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let missing = missing_parents(&place);
    let (draft, old) = (beside(&place, "new"), beside(&place, "old"));
    let result = fill(&draft, files, Some(&place), is_stopped).and_then(|()| {
        let _ = fs::remove_dir_all(&old);
        if place.exists() {
            keep_mode(&place, &draft)?;
            fs::rename(&place, &old).map_err(|error| (dir.to_path_buf(), error))?;
        }
        fs::rename(&draft, &place).map_err(|error| {
            // Restore the previous folder.
            let _ = fs::rename(&old, &place);
            (dir.to_path_buf(), error)
        })
    });
    let _ = fs::remove_dir_all(&draft);
    if !place.exists() && old.exists() {
        // The restore failed, too: this is the only copy of the previous package.
        let text = format!("it could not be replaced; the previous package is in {}", old.display());
        return Err(Problem { is_access: true, ..Problem::error(dir, RULE, text) });
    }
    let _ = fs::remove_dir_all(&old);
    if result.is_err() {
        // Only empty folders are removed.
        for parent in &missing {
            let _ = fs::remove_dir(parent);
        }
    }
    result.map_err(|(path, error)| Problem::access(&asked(&path, &draft, dir), RULE, &error))
}

/// Adds files to a folder, or replaces those of the same name. Either all files are written or none.
pub(crate) fn add(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    // The folder may be the root of a file system, so its siblings may be on another one.
    let inside = |what| dir.join(format!(".{}.{what}", std::process::id()));
    let (draft, old) = (inside("new"), inside("old"));
    let mut placed = Vec::new();
    let result = fill(&draft, files, Some(dir), &|| false).and_then(|()| {
        let _ = fs::remove_dir_all(&old);
        fs::create_dir(&old).map_err(|error| (old.clone(), error))?;
        for (name, _) in files {
            let path = dir.join(name);
            let failed = |error| (path.clone(), error);
            if path.exists() {
                fs::rename(&path, old.join(name)).map_err(failed)?;
            }
            placed.push(name);
            fs::rename(draft.join(name), &path).map_err(failed)?;
        }
        Ok(())
    });
    if result.is_err() {
        // Restore the previous files. A name is added to `placed` before its file is moved.
        for name in placed {
            let _ = fs::remove_file(dir.join(name));
        }
        for entry in fs::read_dir(&old).into_iter().flatten().flatten() {
            let _ = fs::rename(entry.path(), dir.join(entry.file_name()));
        }
    }
    let _ = fs::remove_dir_all(&draft);
    // After an error, files that could not be restored stay in `old`.
    let _ = if result.is_ok() { fs::remove_dir_all(&old) } else { fs::remove_dir(&old) };
    result.map_err(|(path, error)| Problem::access(&asked(&asked(&path, &draft, dir), &old, dir), RULE, &error))
}

/// Returns the path that the user knows, for one in a temporary folder.
fn asked(path: &Path, temporary: &Path, dir: &Path) -> PathBuf {
    match path.strip_prefix(temporary) {
        Ok(inside) if inside.as_os_str().is_empty() => dir.to_path_buf(),
        Ok(inside) => dir.join(inside),
        Err(_) => path.to_path_buf(),
    }
}

/// Writes the files to a new folder. Each gets the mode of the file that it replaces in `previous`.
fn fill(
    draft: &Path,
    files: &[(String, Vec<u8>)],
    previous: Option<&Path>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let _ = fs::remove_dir_all(draft);
    fs::create_dir_all(draft).map_err(|error| (draft.to_path_buf(), error))?;
    for (name, bytes) in files {
        let path = draft.join(name);
        if is_stopped() {
            return Err((path, io::ErrorKind::Interrupted.into()));
        }
        fs::write(&path, bytes).map_err(|error| (path.clone(), error))?;
        if let Some(previous) = previous {
            keep_mode(&previous.join(name), &path)?;
        }
    }
    Ok(())
}

/// Gives a file or folder the mode of the one that it replaces, if there is one.
fn keep_mode(previous: &Path, new: &Path) -> Result<(), Failure> {
    match fs::metadata(previous) {
        Ok(metadata) => fs::set_permissions(new, metadata.permissions()).map_err(|error| (new.to_path_buf(), error)),
        Err(_) => Ok(()),
    }
}

/// Returns the path of a hidden sibling on the same file system.
fn beside(dir: &Path, what: &str) -> PathBuf {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!(".{name}.{}.{what}", std::process::id()))
}

/// Returns the parents of a folder that do not exist, the deepest first.
fn missing_parents(dir: &Path) -> Vec<PathBuf> {
    let parents = dir.ancestors().skip(1).take_while(|parent| !parent.as_os_str().is_empty() && !parent.exists());
    parents.map(Path::to_path_buf).collect()
}

/// Returns the names in a folder that the package in it does not list, sorted. Fails if the folder cannot be read, for
/// example because it is a file.
fn foreign_files(dir: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let own = fs::read_to_string(dir.join(DATA_FILE)).ok().and_then(|text| index(&text)).unwrap_or_default();
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            names.push(format!("{name}/"));
        } else if !own.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{DATA_FILE, add};

    /// A data file that lists these files and itself.
    fn data(names: &[&str]) -> (String, Vec<u8>) {
        let names: Vec<String> = names.iter().chain(&[DATA_FILE]).map(|name| format!("'{name}'")).collect();
        (DATA_FILE.into(), format!("@{{\n    Files = @({})\n}}\n", names.join(", ")).into_bytes())
    }

    fn replace(dir: &Path, files: &[(String, Vec<u8>)]) -> Result<(), crate::Problem> {
        super::replace(dir, files, &|| false)
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
        assert!(problem.file.ends_with("no/such/folder"), "{problem}");
        assert_eq!((names(&dir), names(&place)), (vec![DATA_FILE.to_owned()], vec!["x64".to_owned()]));
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
        assert_eq!((problem.rule.as_str(), problem.is_access), ("package-folder", false));
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
        assert_eq!((mode(&dir), mode(&dir.join("a.ps1"))), (0o750, 0o755));
        assert!(place.join("link").is_symlink());
        set(&dir.join("a.ps1"), 0o700);
        add(&dir, &[("a.ps1".into(), b"2".to_vec())]).unwrap();
        assert_eq!((mode(&dir.join("a.ps1")), fs::read(dir.join("a.ps1")).unwrap()), (0o700, b"2".to_vec()));
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
                let problem = super::replace(&dir, &files, &is_stopped).unwrap_err();
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
        assert_eq!((names(&dir), names(&place)), (vec!["b".to_owned()], vec!["x_package".to_owned()]));
        assert_eq!(fs::read_to_string(dir.join("b")).unwrap(), "old");
        add(&dir, &[file("a"), file("b")]).unwrap();
        assert_eq!(names(&dir), ["a", "b"]);
        assert_eq!(fs::read_to_string(dir.join("b")).unwrap(), "new");
        assert_eq!(names(&place), ["x_package"]);
        fs::remove_dir_all(place).unwrap();
    }
}
