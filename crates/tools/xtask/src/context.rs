//! What every command knows: where the repository is, which cargo runs, which flags were given.

use std::cell::OnceCell;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::process::Tool;
use crate::setup::WindowsToolchain;

/// The surroundings of one run.
pub(crate) struct Context {
    root: PathBuf,
    cargo: OsString,
    flags: Vec<&'static str>,
    words: Vec<String>,
    /// Filled by the set-up step, used by those after it.
    pub(crate) windows: OnceCell<WindowsToolchain>,
}

impl Context {
    pub(crate) fn new(flags: Vec<&'static str>) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(3).unwrap_or(here);
        Self {
            root: root.to_path_buf(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            flags,
            words: Vec::new(),
            windows: OnceCell::new(),
        }
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

    /// The cargo that started us, to be run at the repository's root.
    pub(crate) fn cargo(&self) -> Tool {
        self.tool(&self.cargo)
    }

    /// Any program, to be run at the repository's root.
    pub(crate) fn tool(&self, program: impl Into<OsString>) -> Tool {
        Tool::new(program).current_dir(&self.root)
    }
}
