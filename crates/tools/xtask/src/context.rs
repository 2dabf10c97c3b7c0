//! What every command knows: where the repository is, which cargo runs, which flags were given.

use std::env;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use driver_build::{Host, Options};

/// Where drivers and all that is needed to build them go.
const DRIVERS: &str = "target/driver";
const SAMPLE: &str = "driver-sample/Cargo.toml";

/// The surroundings of one run: a host that installs what is missing and keeps everything inside the repository.
pub(crate) struct Context {
    root: PathBuf,
    host: Host,
    flags: Vec<&'static str>,
    words: Vec<String>,
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
        Self { root, host, flags, words: Vec::new() }
    }

    /// The sample, as it is shipped.
    pub(crate) fn sample(&self) -> Options {
        Options { out: Some(self.path(DRIVERS)), ..Options::new(self.path(SAMPLE)) }
    }

    /// Adds the words behind the command's name, for commands that hand them on.
    pub(crate) fn with_words(self, words: Vec<String>) -> Self {
        Self { words, ..self }
    }

    /// Everything behind the command's name, as it was written.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// A path inside the repository.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    pub(crate) fn has_flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }
}

/// The command that builds a program of this repository if necessary, and runs it.
fn program(name: &str) -> Vec<OsString> {
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
