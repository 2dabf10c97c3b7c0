//! Writes a folder atomically: under another name, which is then renamed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// A folder with this file is a package of ours and can be replaced.
const MARK: &str = "package.psd1";
const RULE: &str = "package-folder";

/// Replaces the package in a folder with these files.
pub(super) fn replace(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    if !may_be_replaced(folder).map_err(|error| Problem::access(folder, RULE, &error))? {
        let text = "it contains files that are not a package, so it was not changed; choose another folder";
        return Err(Problem::error(folder, RULE, text));
    }
    let (draft, old) = (beside(folder, "new"), beside(folder, "old"));
    let result = fill(&draft, files).and_then(|()| {
        let _ = fs::remove_dir_all(&old);
        if folder.exists() {
            fs::rename(folder, &old).map_err(|error| (folder.to_path_buf(), error))?;
        }
        fs::rename(&draft, folder).map_err(|error| {
            // Restore the previous folder.
            let _ = fs::rename(&old, folder);
            (folder.to_path_buf(), error)
        })
    });
    let _ = fs::remove_dir_all(&draft);
    if !folder.exists() && old.exists() {
        // The restore failed, too: this is the only copy of the previous package.
        let text = format!("it could not be replaced; the previous package is in {}", old.display());
        return Err(Problem { is_access: true, ..Problem::error(folder, RULE, text) });
    }
    let _ = fs::remove_dir_all(&old);
    // The name that the user knows.
    let named = |path: PathBuf| path.strip_prefix(&draft).map_or_else(|_| path.clone(), |inside| folder.join(inside));
    result.map_err(|(path, error)| Problem::access(&named(path), RULE, &error))
}

/// Adds files to a folder, or replaces those of the same name. Either all files are written or none.
pub(super) fn add(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    let (draft, old) = (beside(folder, "new"), beside(folder, "old"));
    let mut placed = Vec::new();
    let result = fill(&draft, files).and_then(|()| {
        let _ = fs::remove_dir_all(&old);
        fs::create_dir(&old).map_err(|error| (old.clone(), error))?;
        for (name, _) in files {
            let path = folder.join(name);
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
            let _ = fs::remove_file(folder.join(name));
        }
        for entry in fs::read_dir(&old).into_iter().flatten().flatten() {
            let _ = fs::rename(entry.path(), folder.join(entry.file_name()));
        }
    }
    let _ = fs::remove_dir_all(&draft);
    // After an error, files that could not be restored stay in `old`.
    let _ = if result.is_ok() { fs::remove_dir_all(&old) } else { fs::remove_dir(&old) };
    result.map_err(|(path, error)| Problem::access(&path, RULE, &error))
}

fn fill(draft: &Path, files: &[(String, Vec<u8>)]) -> Result<(), (PathBuf, io::Error)> {
    let _ = fs::remove_dir_all(draft);
    fs::create_dir_all(draft).map_err(|error| (draft.to_path_buf(), error))?;
    for (name, bytes) in files {
        let path = draft.join(name);
        fs::write(&path, bytes).map_err(|error| (path, error))?;
    }
    Ok(())
}

/// Returns the path of a hidden sibling on the same file system.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{}.{what}", std::process::id()))
}

/// Whether the folder is a package or empty, or does not exist. Fails if it cannot be read, for example because it is a
/// file.
fn may_be_replaced(folder: &Path) -> io::Result<bool> {
    if folder.join(MARK).is_file() {
        return Ok(true);
    }
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{MARK, add, replace};

    /// Creates an empty temporary folder for a test.
    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("driver-package-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_package_takes_the_place_of_the_one_before() {
        let place = place("replace");
        let folder = place.join("x64");
        replace(&folder, &[(MARK.into(), vec![]), ("old".into(), vec![])]).unwrap();
        replace(&folder, &[(MARK.into(), vec![]), ("new".into(), b"1".to_vec())]).unwrap();
        assert_eq!(names(&folder), ["new", MARK]);
        assert_eq!(names(&place), ["x64"], "nothing else is left");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_failed_write_keeps_the_old_package() {
        let place = place("half");
        let folder = place.join("x64");
        replace(&folder, &[(MARK.into(), vec![])]).unwrap();
        let problem = replace(&folder, &[("a".into(), vec![]), ("no/such/folder".into(), vec![])]).unwrap_err();
        assert!(problem.file.ends_with("no/such/folder"), "{problem}");
        assert_eq!((names(&folder), names(&place)), (vec![MARK.to_owned()], vec!["x64".to_owned()]));
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_a_package_is_not_replaced() {
        let place = place("foreign");
        fs::write(place.join("thesis.txt"), "").unwrap();
        assert_eq!(replace(&place, &[(MARK.into(), vec![])]).unwrap_err().rule, "package-folder");
        assert!(replace(&place.join("thesis.txt"), &[(MARK.into(), vec![])]).unwrap_err().is_access, "it is a file");
        assert_eq!(names(&place), ["thesis.txt"]);
        assert!(place.join("thesis.txt").is_file());
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn files_are_added_all_or_none() {
        let place = place("add");
        let folder = place.join("x_package");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("b"), "old").unwrap();
        let file = |name: &str| (name.to_owned(), b"new".to_vec());
        let bad = [file("a"), file("b"), file("no/such/folder")];
        assert!(add(&folder, &bad).unwrap_err().file.ends_with("no/such/folder"));
        assert_eq!((names(&folder), names(&place)), (vec!["b".to_owned()], vec!["x_package".to_owned()]));
        assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), "old");
        add(&folder, &[file("a"), file("b")]).unwrap();
        assert_eq!(names(&folder), ["a", "b"]);
        assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), "new");
        assert_eq!(names(&place), ["x_package"]);
        fs::remove_dir_all(place).unwrap();
    }
}
