//! Makes a new driver from the files in `templates`, with its name filled in.
//!
//! Nothing here depends on the command line or on where this repository is: the caller gives the driver's name, its kind, its
//! folder, and the source of `wdk-etw` and `nt-host`.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use command_line::device_of_name;

use crate::error::Error;

/// A kind of driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With the Kernel-Mode Driver Framework.
    Kmdf,
    /// Without a framework.
    Wdm,
    /// A file system minifilter.
    Minifilter,
    /// A callout driver of the Windows Filtering Platform.
    Wfp,
    /// A driver that exists. Only its tests are made.
    Existing,
}

/// A driver to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDriver {
    /// The package's name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The driver's folder. It must not exist, or must be empty; for an existing driver, the folder of its tests in it.
    pub dir: PathBuf,
    /// Where its dependencies come from.
    pub source: Source,
    /// A clone of the `wdk-etw` repository with lock files. It need not exist.
    pub locks: PathBuf,
}

/// Where a driver gets the crates of this project from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A registry.
    Registry {
        /// The version of the crates.
        version: String,
    },
    /// A git repository.
    Git {
        /// Its address.
        url: String,
        /// The revision.
        revision: String,
    },
    /// A clone on this machine. A driver that depends on it cannot be built on others, so it gets no workflow.
    Path(PathBuf),
}

impl Source {
    /// The options of `cargo install` that choose this source for a program in a folder of the repository.
    fn install(&self, dir: &str) -> String {
        let name = dir.rsplit('/').next().unwrap_or(dir);
        match self {
            Self::Registry { version } => format!("{name} --version {version}"),
            Self::Git { url, revision } => format!("--git {url} --rev {revision} {name}"),
            Self::Path(clone) => format!("--path \"{}/{dir}\"", clone.display()),
        }
    }

    /// Replaces the paths of dependencies in a template by this source.
    fn dependencies(&self, text: &str) -> String {
        let source = match self {
            Self::Registry { version } => format!("version = \"{version}\""),
            Self::Git { url, revision } => format!("git = \"{url}\", rev = \"{revision}\""),
            Self::Path(_) => return text.to_owned(),
        };
        let mut parts = text.split("path = \"{{wdk-etw");
        let first = parts.next().unwrap_or_default().to_owned();
        // Each part begins with the rest of a path, up to its quotation mark.
        parts.fold(first, |text, part| text + &source + part.split_once('"').map_or("", |(_, rest)| rest))
    }
}

/// The workflow, which needs crates that other machines can get.
const WORKFLOW: &str = ".github/workflows/driver.yml";

/// A template: the path in the driver's folder, and the text.
type Template = (&'static str, &'static str);

/// The templates in a folder.
macro_rules! templates {
    ($dir:literal: $($file:literal),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../templates/", $dir, "/", $file)))),+]
    };
}

const COMMON: &[Template] = templates!("common":
    "README.md", "build.rs", ".gitignore", ".cargo/config.toml", ".github/workflows/driver.yml", "src/trace.rs",
    "host-tests/Cargo.toml.in", "host-tests/src/lib.rs", "host-tests/tests/driver.rs");
const KMDF: &[Template] = templates!("kmdf": "Cargo.toml.in", "src/lib.rs", "{{crate}}.inx");
const WDM: &[Template] = templates!("wdm": "Cargo.toml.in", "src/lib.rs", "{{crate}}.inx");
const MINIFILTER: &[Template] = templates!("minifilter":
    "Cargo.toml.in", "README.md", "src/lib.rs", "src/filter_manager.rs", "src/trace.rs", "{{crate}}.inx",
    "host-tests/tests/driver.rs");
const WFP: &[Template] = templates!("wfp":
    "Cargo.toml.in", "README.md", "src/lib.rs", "src/filtering_platform.rs", "src/trace.rs", "{{crate}}.inx",
    "host-tests/tests/driver.rs");
const EXISTING: &[Template] = templates!("existing": "host-tests/tests/driver.rs");
/// The folder of the tests, as templates name it.
const TESTS: &str = "host-tests/";

/// Lock files that a new driver gets from the clone, so that it is built with tested versions of packages.
const LOCKS: [(&str, &str); 2] = [("driver-sample/Cargo.lock", "Cargo.lock"), ("Cargo.lock", "host-tests/Cargo.lock")];

impl Kind {
    /// The templates of the kind. They replace common ones with the same path.
    const fn templates(self) -> &'static [Template] {
        match self {
            Self::Kmdf => KMDF,
            Self::Wdm => WDM,
            Self::Minifilter => MINIFILTER,
            Self::Wfp => WFP,
            Self::Existing => EXISTING,
        }
    }
}

impl NewDriver {
    /// A driver in the folder `path`, whose last part is its name.
    #[must_use]
    pub fn at(path: &Path, kind: Kind, source: Source) -> Self {
        let dir = env::current_dir().unwrap_or_default().join(path);
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let locks = if let Source::Path(clone) = &source { clone.clone() } else { PathBuf::new() };
        Self { name, kind, dir, source, locks }
    }

    /// Writes the driver's files; returns their paths.
    ///
    /// # Errors
    ///
    /// If the name is not valid for a package, the folder is not empty, or a file cannot be written. Nothing is left then.
    pub fn write(&self) -> Result<Vec<PathBuf>, Error> {
        let dir = absolute(&self.dir)?;
        let made = if self.kind == Kind::Existing {
            dir.join(TESTS)
        } else {
            check_name(&self.name)?;
            dir.clone()
        };
        if fs::read_dir(&made).is_ok_and(|mut entries| entries.next().is_some()) || made.is_file() {
            return Err(Error::Usage(format!("{} exists and is not empty", made.display())));
        }
        let clone = match &self.source {
            Source::Path(clone) => absolute(clone)?,
            Source::Git { .. } | Source::Registry { .. } => PathBuf::new(),
        };
        if let Some(path) =
            [&dir, &clone].iter().find(|path| path.to_str().is_none_or(|text| text.contains(['"', '\n'])))
        {
            return Err(Error::Usage(format!(
                "a Cargo.toml cannot contain this path: {}; use one without quotation marks and line breaks, in valid UTF-8",
                path.display()
            )));
        }
        let missing: Vec<PathBuf> = made.ancestors().take_while(|path| !path.exists()).map(Path::to_path_buf).collect();
        self.write_files(&dir, &clone).inspect_err(|_| remove(&made, &missing))
    }

    /// Writes the files to the folder.
    fn write_files(&self, dir: &Path, clone: &Path) -> Result<Vec<PathBuf>, Error> {
        let words = self.words(dir, clone);
        let mut written = Vec::new();
        let own = self.kind.templates();
        let is_made = |path: &str| self.kind != Kind::Existing || path.starts_with(TESTS);
        let common = COMMON.iter().filter(|(path, _)| is_made(path) && own.iter().all(|(known, _)| known != path));
        for (path, text) in common.chain(own) {
            if *path == WORKFLOW && matches!(self.source, Source::Path(_)) {
                continue;
            }
            let path = fill(path.trim_end_matches(".in"), &words);
            written.push(write(dir.join(path), &fill(&self.source.dependencies(text), &words))?);
        }
        for (from, to) in LOCKS.into_iter().filter(|(_, to)| is_made(to)) {
            if let Ok(text) = fs::read_to_string(self.locks.join(from)) {
                written.push(write(dir.join(to), &text)?);
            }
        }
        Ok(written)
    }

    /// The value for each placeholder of the templates.
    fn words(&self, dir: &Path, clone: &Path) -> Vec<(&'static str, String)> {
        let plain = self.name.replace('-', "_");
        let kind = match self.kind {
            Kind::Kmdf => "KMDF",
            Kind::Wdm | Kind::Minifilter | Kind::Wfp | Kind::Existing => "WDM",
        };
        let text = |path: PathBuf| path.to_string_lossy().replace('\\', "/");
        vec![
            ("package", self.name.clone()),
            ("Name", camel(&self.name)),
            ("kind", kind.to_owned()),
            ("interface", identifier(&self.name)),
            ("interface-guid", in_guid_form(&identifier(&self.name))),
            ("wdk-etw-from-tests", text(relative(&dir.join("host-tests"), clone))),
            ("wdk-etw", text(relative(dir, clone))),
            ("driver", text(relative(clone, dir))),
            ("install-cargo-driver", self.source.install("crates/programs/cargo-driver")),
            ("install-driver-exercise", self.source.install("crates/programs/driver-exercise")),
            ("install-driver-client", self.source.install("crates/programs/driver-client")),
            ("crate", plain),
        ]
    }
}

/// Accepts ASCII letters, digits, `-` and `_`, with a letter first, and at most 64 characters. The name becomes that of a package,
/// a file and a service.
fn check_name(name: &str) -> Result<(), Error> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > 64 || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_word) {
        return Err(Error::Usage(format!(
            "`{name}` cannot be the name of a driver: use a letter, followed by up to 63 letters, digits, `-` and `_`"
        )));
    }
    if let Some(device) = device_of_name(name) {
        return Err(Error::Usage(format!(
            "`{name}` cannot be the name of a driver: Windows has no files such as {name}.sys, because {device} is the name of a \
             device; choose another name"
        )));
    }
    match name {
        "test" | "core" | "std" | "alloc" | "proc_macro" | "wdk" | "wdk-sys" | "wdk-etw" | "wdk-kmdf" | "wdk-panic" => {
            Err(Error::Usage(format!("`{name}` cannot be the name of a driver: another package has this name")))
        }
        _ => Ok(()),
    }
}

/// Turns `my-driver` into `MyDriver`.
fn camel(name: &str) -> String {
    let words = name.split(['-', '_']).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

/// The digits of a GUID for the driver's device interface. It has the form of version 4; its bits are a hash of the driver's
/// name, so they are the same each time.
fn identifier(name: &str) -> String {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        ("a device interface", salt, name).hash(&mut hasher);
        hasher.finish()
    };
    let high = half(0) & !0xF000 | 0x4000;
    let low = half(1) & (u64::MAX >> 2) | 1 << 63;
    let group = |half: u64, place: u32| half >> (48 - 16 * place) & 0xFFFF;
    let groups =
        [high, low].into_iter().flat_map(|half| (0..4).map(move |place| format!("{:04x}", group(half, place))));
    format!("0x{}", groups.collect::<Vec<_>>().join("_"))
}

/// The digits of an [`identifier`] in the usual form of a GUID.
fn in_guid_form(digits: &str) -> String {
    let groups: Vec<&str> = digits.trim_start_matches("0x").split('_').collect();
    match groups.as_slice() {
        [a, b, c, d, e, f, g, h] => format!("{a}{b}-{c}-{d}-{e}-{f}{g}{h}"),
        _ => digits.to_owned(),
    }
}

/// Replaces placeholders in double braces. Other double braces stay, such as those of GitHub's expressions.
fn fill(text: &str, words: &[(&str, String)]) -> String {
    words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(&format!("{{{{{word}}}}}"), value))
}

/// The absolute path with symbolic links resolved, because `..` after a link leads to another folder than its text says. The
/// path itself need not exist.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let path = std::path::absolute(path).map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
    let path: PathBuf = clean(&path).into_iter().collect();
    let real =
        path.ancestors().find_map(|there| Some((dunce::canonicalize(there).ok()?, path.strip_prefix(there).ok()?)));
    Ok(real.map_or_else(
        || path.clone(),
        |(there, rest)| if rest.as_os_str().is_empty() { there } else { there.join(rest) },
    ))
}

/// The relative path from one folder to another; both are absolute. If they have only the root in common, the result is `to`.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let mut from = clean(from);
    let mut to = clean(to);
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    if common <= 1 {
        return to.into_iter().collect();
    }
    from.drain(..common);
    let up = from.iter().map(|_| PathBuf::from(".."));
    up.chain(to.drain(common..)).collect()
}

/// The components of a path, with `.` and `..` resolved.
fn clean(path: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(names.pop()),
            Component::CurDir => {}
            other => names.push(PathBuf::from(other.as_os_str())),
        }
    }
    names
}

/// Removes what a failed attempt wrote: the contents of the folder, which was empty, and the folders that did not exist.
fn remove(dir: &Path, missing: &[PathBuf]) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        // The first error is what the user must know about.
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
    for path in missing {
        let _ = fs::remove_dir(path);
    }
}

fn write(path: PathBuf, text: &str) -> Result<PathBuf, Error> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
    written.map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
