//! Writes a folder atomically: under another name, which is then renamed. Only files that a package lists as its own are
//! replaced, none of them an input, and a replaced file keeps its mode.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use command_line::{OutputDir, OutputError, OwnDir};

use super::texts::{DATA_FILE, index};
use crate::problem::Problem;

const RULE: &str = "package-folder";
/// The most files that a message names.
const NAMED: usize = 8;

/// A file or folder that could not be written.
struct Failure {
    path: PathBuf,
    error: io::Error,
}

impl Failure {
    fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self { path: path.to_owned(), error }
    }

    fn from_output(error: OutputError, dir: &Path) -> Self {
        match error {
            OutputError::Read(path, error) | OutputError::Write(path, error) => Self { path, error },
            refused => Self { path: dir.to_owned(), error: io::Error::other(refused) },
        }
    }
}

/// Replaces the package in a folder with these files, unless `is_stopped` says so before it is complete.
pub(super) fn replace(
    out: &OutputDir,
    files: &[(String, Vec<u8>)],
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Problem> {
    let dir = out.path();
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
    if let Err(error) = out.clone().into_own() {
        return Err(Problem::error(dir, RULE, error.to_string()));
    }
    // A link to a folder stays a link.
    let place = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    let missing = missing_parents(&place);
    let draft = beside(&place, "new");
    let old = beside(&place, "old");
    let result = fill(&draft, files, &place, is_stopped).and_then(|()| {
        let _ = old.remove();
        if place.exists() {
            keep_mode(&place, draft.path())?;
            rename(&place, old.path()).map_err(Failure::at(dir))?;
        }
        rename(draft.path(), &place).map_err(|error| {
            // Restore the previous folder.
            let _ = rename(old.path(), &place);
            Failure { path: dir.to_owned(), error }
        })
    });
    let _ = draft.remove();
    if !place.exists() && old.path().exists() {
        // The restore failed, too: this is the only copy of the previous package.
        let text = format!("it could not be replaced; the previous package is in {}", old.path().display());
        return Err(Problem { is_access: true, ..Problem::error(dir, RULE, text) });
    }
    let _ = old.remove();
    if result.is_err() {
        // Only empty folders are removed.
        for parent in &missing {
            let _ = fs::remove_dir(parent);
        }
    }
    result.map_err(|Failure { path, error }| Problem::access(&asked(&path, draft.path(), dir), RULE, &error))
}

/// Adds files to a folder, or replaces those of the same name, none of them an input. Either all files are written or none.
pub(crate) fn add(out: &OutputDir, files: &[(String, Vec<u8>)]) -> Result<(), Problem> {
    let dir = out.path();
    for (name, _) in files {
        let refused = |error: OutputError| Problem::error(&dir.join(name), "package-file", error.to_string());
        out.file(name).map_err(refused)?;
    }
    // The folder may be the root of a file system, so its siblings may be on another one.
    let inside = |what| OwnDir::new(dir.join(format!(".{}.{what}", std::process::id())));
    let draft = inside("new");
    let old = inside("old");
    let mut placed = Vec::new();
    let result = fill(&draft, files, dir, &|| false).and_then(|()| {
        old.empty().map_err(|error| Failure::from_output(error, dir))?;
        for (name, _) in files {
            let path = dir.join(name);
            if path.exists() {
                rename(&path, &old.path().join(name)).map_err(Failure::at(&path))?;
            }
            placed.push(name);
            rename(&draft.path().join(name), &path).map_err(Failure::at(&path))?;
        }
        Ok(())
    });
    if result.is_err() {
        // Restore the previous files. A name is added to `placed` before its file is moved.
        for name in placed {
            let _ = fs::remove_file(dir.join(name));
        }
        for entry in fs::read_dir(old.path()).into_iter().flatten().flatten() {
            let _ = rename(&entry.path(), &dir.join(entry.file_name()));
        }
    }
    let _ = draft.remove();
    if result.is_ok() {
        let _ = old.remove();
    } else {
        // Files that could not be restored stay there.
        let _ = fs::remove_dir(old.path());
    }
    result.map_err(|Failure { path, error }| {
        let path = asked(&asked(&path, draft.path(), dir), old.path(), dir);
        Problem::access(&path, RULE, &error)
    })
}

/// Renames a file or folder.
#[expect(clippy::disallowed_methods, reason = "both are drafts, or were checked with their folder")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
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
    draft: &OwnDir,
    files: &[(String, Vec<u8>)],
    previous: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let failed = |error| Failure::from_output(error, draft.path());
    draft.empty().map_err(failed)?;
    for (name, bytes) in files {
        let output = draft.file(name);
        if is_stopped() {
            return Err(Failure::at(output.as_ref())(io::ErrorKind::Interrupted.into()));
        }
        output.write(bytes).map_err(failed)?;
        keep_mode(&previous.join(name), output.as_ref())?;
    }
    Ok(())
}

/// Gives a file or folder the mode of the one that it replaces, if there is one.
fn keep_mode(previous: &Path, new: &Path) -> Result<(), Failure> {
    match fs::metadata(previous) {
        Ok(metadata) => fs::set_permissions(new, metadata.permissions()).map_err(Failure::at(new)),
        Err(_) => Ok(()),
    }
}

/// Returns a hidden sibling on the same file system.
fn beside(dir: &Path, what: &str) -> OwnDir {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    OwnDir::new(dir.with_file_name(format!(".{name}.{}.{what}", std::process::id())))
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
mod tests;
