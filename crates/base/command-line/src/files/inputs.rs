//! The files that a command reads, which its output must never replace: the same file may have several names. Files are compared
//! by device and inode, on other systems than Unix by their canonical paths.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::OutputError;
use crate::shown;

/// The inputs of a command.
///
/// ```
/// use command_line::Inputs;
///
/// let path = std::env::temp_dir().join(format!("command-line-inputs-{}", std::process::id()));
/// std::fs::write(&path, "input")?;
/// let inputs = Inputs::new().file(&path);
/// assert!(inputs.check("--output", &path).is_err());
/// assert!(inputs.check("--output", &path.with_extension("other")).is_ok());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inputs(Vec<Source>);

#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    /// The files below the folder with one of these extensions.
    Folder(PathBuf, &'static [&'static str]),
    Stdin,
}

impl Inputs {
    /// No inputs.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a file, which need not exist.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.push(Source::File(path.into()));
        self
    }

    /// Adds files. `-` is standard input.
    #[must_use]
    pub fn files<P: AsRef<Path>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        paths.into_iter().fold(self, |all, path| match path.as_ref() {
            path if path.as_os_str() == "-" => all.stdin(),
            path => all.file(path),
        })
    }

    /// Adds a file, or, if the path is a folder, the files in it and in its subfolders that have one of these extensions.
    #[must_use]
    pub fn file_or_folder(mut self, path: impl Into<PathBuf>, extensions: &'static [&'static str]) -> Self {
        let path = path.into();
        self.0.push(if path.is_dir() { Source::Folder(path, extensions) } else { Source::File(path) });
        self
    }

    /// Adds the files with one of these extensions that are in a folder now, without those in its subfolders. No extensions mean all
    /// files.
    #[must_use]
    pub fn files_in(self, dir: &Path, extensions: &[&str]) -> Self {
        let is_wanted = |path: &PathBuf| {
            let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            path.is_file() && (extensions.is_empty() || extensions.contains(&extension))
        };
        let paths = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        self.files(paths.filter(is_wanted))
    }

    /// Adds standard input, which may be redirected from a file.
    #[must_use]
    pub fn stdin(mut self) -> Self {
        self.0.push(Source::Stdin);
        self
    }

    /// Adds all inputs of others.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(others.0.iter().cloned());
        self
    }

    /// Checks that an output file is none of the inputs. `option` is how the user named it, such as `--output`.
    ///
    /// # Errors
    ///
    /// If it is one: the error names both.
    pub fn check(&self, option: &str, output: &Path) -> Result<(), OutputError> {
        let same = Identity::from_path(output).and_then(|output| self.find(&output));
        same.map_or(Ok(()), |input| {
            Err(OutputError::Input { option: option.to_owned(), output: output.to_owned(), input })
        })
    }

    /// Checks that a folder whose files are removed contains none of the inputs, under any name.
    pub(super) fn check_removed(&self, dir: &Path) -> Result<(), OutputError> {
        // A folder that does not exist contains nothing.
        let Ok(whole) = dir.canonicalize() else { return Ok(()) };
        let is_below = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(&whole));
        // A link in the folder, too, whose file is elsewhere.
        let is_inside = |path: &Path| is_below(path) || (path.exists() && path.parent().is_some_and(is_below));
        let input = self.0.iter().find_map(|source| match source {
            Source::File(path) => is_inside(path).then(|| shown(path)),
            Source::Folder(path, _) if is_inside(path) => Some(shown(path)),
            Source::Folder(path, extensions) => {
                below(path, extensions).into_iter().find(|path| is_inside(path)).map(|path| shown(&path))
            }
            // A stream has no path. Its file stays open, also if its name is removed.
            Source::Stdin => None,
        });
        input.map_or(Ok(()), |input| Err(OutputError::Removed { dir: dir.to_owned(), input }))
    }

    /// Checks that standard output is not redirected to one of the inputs.
    ///
    /// # Errors
    ///
    /// If it is: the error names the input.
    pub fn check_stdout(&self) -> Result<(), OutputError> {
        let same = stream(io::stdout()).and_then(|output| self.find(&output));
        same.map_or(Ok(()), |input| Err(OutputError::Stdout { input }))
    }

    /// Finds the input with this identity, and returns its name.
    fn find(&self, output: &Identity) -> Option<String> {
        let is_output = |path: &Path| Identity::from_path(path).as_ref() == Some(output);
        self.0.iter().find_map(|source| match source {
            Source::File(path) => is_output(path).then(|| shown(path)),
            Source::Folder(dir, extensions) => {
                below(dir, extensions).into_iter().find(|path| is_output(path)).map(|path| shown(&path))
            }
            Source::Stdin => (stream(io::stdin()).as_ref() == Some(output)).then(|| "standard input".to_owned()),
        })
    }
}

/// The files below a folder with one of these extensions. Folders that cannot be read, and links to folders, are left out.
fn below(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let is_read = |extension: &OsStr| extensions.iter().any(|known| extension.eq_ignore_ascii_case(known));
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.is_symlink() {
                dirs.push(path);
            } else if path.extension().is_some_and(is_read) {
                found.push(path);
            }
        }
    }
    found
}

/// What two names of one file have in common. Only regular files have one: a device can be input and output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl Identity {
    /// The identity of a file, if it exists. Links are followed.
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        Self::from_metadata(path, &fs::metadata(path).ok()?)
    }

    #[cfg(unix)]
    fn from_metadata(_path: &Path, about: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        about.is_file().then(|| Self((about.dev(), about.ino())))
    }

    #[cfg(not(unix))]
    fn from_metadata(path: &Path, about: &Metadata) -> Option<Self> {
        if about.is_file() { path.canonicalize().ok().map(Self) } else { None }
    }
}

/// The identity of the file that a standard stream is redirected to.
#[cfg(unix)]
fn stream(stream: impl std::os::fd::AsFd) -> Option<Identity> {
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    Identity::from_metadata(Path::new(""), &file.metadata().ok()?)
}

/// Redirected streams have no path, so they are not recognised here.
#[cfg(not(unix))]
fn stream<T>(_stream: T) -> Option<Identity> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    use super::Inputs;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("command-line-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("sub")).unwrap();
        dir
    }

    #[test]
    fn an_input_is_recognised_by_every_name() {
        let dir = dir("names");
        let input = dir.join("a.etl");
        fs::write(&input, "input").unwrap();
        symlink(&input, dir.join("link")).unwrap();
        fs::hard_link(&input, dir.join("hard")).unwrap();
        let inputs = Inputs::new().files([&input]);
        for name in ["a.etl", "link", "hard", "sub/../a.etl"] {
            let error = inputs.check("--output", &dir.join(name)).unwrap_err().to_string();
            assert!(error.starts_with("--output "), "{error}");
            assert!(error.ends_with("a.etl: choose another file"), "{error}");
        }
        fs::write(dir.join("other"), "").unwrap();
        for name in ["other", "missing", "sub"] {
            assert!(inputs.check("--output", &dir.join(name)).is_ok(), "{name}");
        }
        assert!(Inputs::new().file("/dev/null").check("--output", Path::new("/dev/null")).is_ok(), "a device");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn in_a_folder_only_the_files_that_are_read_are_inputs() {
        let dir = dir("extensions");
        for name in ["sub/a.MAN", "out.csv", "b.pdb"] {
            fs::write(dir.join(name), "").unwrap();
        }
        let inputs = Inputs::new().and(&Inputs::new().file_or_folder(&dir, &["man", "sys"]));
        assert!(inputs.check("--output", &dir.join("sub/a.MAN")).is_err());
        assert!(inputs.check("--output", &dir.join("out.csv")).is_ok());
        assert!(inputs.check("--output", &dir.join("b.pdb")).is_ok());
        fs::remove_dir_all(dir).unwrap();
    }
}
