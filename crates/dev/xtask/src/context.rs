//! The context of a command: the repository's folder, the cargo to run, and the flags of the command line.

use std::cell::Cell;
use std::env;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::background::Background;
use command_line::OwnDir;
use driver_build::{Host, Options};

/// The folder for built drivers and for everything that is needed to build them.
const DRIVERS: &str = "target/driver";
const SAMPLE: &str = "driver-sample/Cargo.toml";

/// The context of one run. Its [`Host`] installs missing tools and keeps all files inside the repository.
pub(crate) struct Context {
    root: PathBuf,
    host: Host,
    flags: Vec<&'static str>,
    words: Vec<String>,
    /// Commands that a step has started for a later step. They end with this value.
    pub(crate) background: Cell<Vec<Background>>,
}

impl Deref for Context {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl Context {
    pub(crate) fn new(flags: Vec<&'static str>) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(3).unwrap_or(here).to_path_buf();
        let host = Host::new(&root, program, root.join(DRIVERS));
        Self { root, host, flags, words: Vec::new(), background: Cell::default() }
    }

    /// The options that build the sample driver in release mode.
    pub(crate) fn sample(&self) -> Options {
        Options { out: Some(self.path(DRIVERS)), ..Options::new(self.path(SAMPLE)) }
    }

    /// Adds the words after the command's name, for commands that pass them to another program.
    pub(crate) fn with_words(self, words: Vec<String>) -> Self {
        Self { words, ..self }
    }

    /// All words after the command's name, unchanged.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// A path inside the repository.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    /// The folder for everything that commands build and print.
    pub(crate) fn target(&self) -> OwnDir {
        OwnDir::new(self.path("target"))
    }

    /// The word after a flag, if the flag was given. The parser has checked that there is one.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        let index = self.words.iter().position(|word| word == flag)?;
        self.words.get(index + 1).map(String::as_str)
    }

    pub(crate) fn has_flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }
}

/// Returns the command line that builds a program of this repository if necessary, and runs it.
fn program(name: &str) -> Vec<OsString> {
    // The only program that builds of drivers use here.
    if name != "driver-package" {
        return Vec::new();
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = [
        "run",
        "--quiet",
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../Cargo.toml"),
        "--package",
        name,
        "--",
    ];
    std::iter::once(cargo).chain(words.map(Into::into)).collect()
}
