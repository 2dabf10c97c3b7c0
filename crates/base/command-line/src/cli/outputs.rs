//! The files that a command writes. What the command line names has no path that could be opened: only [`Outputs`] makes an
//! [`Output`] of it, and checks first that it replaces none of the command's inputs and no other output.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::inputs::{Identity, Inputs};
use crate::shown;

/// A file or folder to write, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputPath(PathBuf);

impl From<OsString> for OutputPath {
    fn from(path: OsString) -> Self {
        Self(path.into())
    }
}

impl From<PathBuf> for OutputPath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl fmt::Display for OutputPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

/// A file that may be written: it is none of the inputs of its command.
#[derive(Clone, Debug)]
pub struct Output(PathBuf);

impl AsRef<Path> for Output {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// A folder whose files may be written, each after a check of its own.
#[derive(Clone, Debug)]
pub struct OutputDir {
    path: PathBuf,
    inputs: Inputs,
}

impl OutputDir {
    /// Returns the folder, for messages and to create and list it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn dir(&self, name: &str) -> Self {
        Self { path: self.path.join(name), inputs: self.inputs.clone() }
    }

    /// Checks a file in the folder.
    ///
    /// # Errors
    ///
    /// A message that names the file and the input that it would replace.
    pub fn file(&self, name: &str) -> Result<Output, String> {
        let path = self.path.join(name);
        self.inputs.check("the output", &path)?;
        Ok(Output(path))
    }
}

/// Checks the outputs of a command.
///
/// ```
/// use command_line::{Inputs, Outputs, OutputPath};
///
/// let dir = std::env::temp_dir().join(format!("command-line-outputs-{}", std::process::id()));
/// std::fs::create_dir_all(&dir)?;
/// let input = dir.join("driver.sys");
/// std::fs::write(&input, "input")?;
/// let mut outputs = Outputs::new(Inputs::new().file(&input));
/// assert!(outputs.file("--etl", &OutputPath::from(input)).is_err());
/// let trace = OutputPath::from(dir.join("trace.etl"));
/// let output = outputs.file("--etl", &trace)?;
/// assert_eq!(output.as_ref(), dir.join("trace.etl"));
/// assert!(outputs.file("--coverage", &trace).is_err());
/// # std::fs::remove_dir_all(dir)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Outputs {
    inputs: Inputs,
    /// The files so far, with the options that name them.
    files: Vec<(String, PathBuf)>,
}

impl Outputs {
    /// Begins with all inputs of a command.
    #[must_use]
    pub const fn new(inputs: Inputs) -> Self {
        Self { inputs, files: Vec::new() }
    }

    /// Adds inputs, which files that are checked later must not replace.
    #[must_use]
    pub fn and(mut self, inputs: &Inputs) -> Self {
        self.inputs = self.inputs.and(inputs);
        self
    }

    /// Checks a file. `option` is how the user named it, such as `--output`.
    ///
    /// # Errors
    ///
    /// A message that names the file, and the input or the other option with the same file.
    pub fn file(&mut self, option: &str, path: &OutputPath) -> Result<Output, String> {
        let OutputPath(path) = path;
        self.inputs.check(option, path)?;
        if let Some((other, _)) = self.files.iter().find(|(_, known)| is_same(known, path)) {
            return Err(format!("{option} and {other} are the same file, {}: choose another one", shown(path)));
        }
        self.files.push((option.to_owned(), path.clone()));
        Ok(Output(path.clone()))
    }

    /// Adds a folder, in which the command chooses the names of files.
    #[must_use]
    pub fn dir(&self, path: &OutputPath) -> OutputDir {
        OutputDir { path: path.0.clone(), inputs: self.inputs.clone() }
    }

    /// Checks that standard output is not redirected to one of the inputs.
    ///
    /// # Errors
    ///
    /// A message that names the input.
    pub fn stdout(&self) -> Result<(), String> {
        self.inputs.check_stdout()
    }
}

/// Returns whether two paths lead to one regular file, which need not exist yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let name = |path: &Path| {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(dir.canonicalize().ok()?.join(path.file_name()?))
    };
    match (one.exists(), other.exists()) {
        (true, true) => Identity::from_path(one).is_some_and(|identity| Identity::from_path(other) == Some(identity)),
        (false, false) => name(one).is_some_and(|path| name(other) == Some(path)),
        _ => false,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
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
        let error = outputs.file("--coverage", &path(dir.join("./a"))).unwrap_err();
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
        let error = out.file("coverage.html").unwrap_err();
        assert!(error.contains("coverage.html is the input "), "{error}");
        assert_eq!(out.dir("corpus").file("a.steps").unwrap().as_ref(), dir.join("out/corpus/a.steps"));
        fs::remove_dir_all(dir).unwrap();
    }
}
