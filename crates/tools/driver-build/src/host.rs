//! The machine that builds: where commands run, which cargo runs, and whether missing tools are installed.

use std::cell::OnceCell;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::process::Tool;
use crate::setup::{self, WindowsToolchain};

/// The environment of one run.
pub struct Host {
    folder: PathBuf,
    cargo: OsString,
    programs: fn(&str) -> Vec<OsString>,
    cache: PathBuf,
    installs: Option<&'static str>,
    windows: OnceCell<WindowsToolchain>,
}

impl Host {
    /// A host whose commands run in `folder`. `programs` turns the name of a program of this project (`wdk-kit`, `driver-package`)
    /// into the command that runs it. `cache` is the folder for the kit and for compiled crates. Missing tools are installed.
    #[must_use]
    pub fn new(folder: &Path, programs: fn(&str) -> Vec<OsString>, cache: PathBuf) -> Self {
        Self {
            folder: folder.to_path_buf(),
            cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            programs,
            cache,
            installs: None,
            windows: OnceCell::new(),
        }
    }

    /// Makes the host install nothing. If something is missing, the error names `command`, which installs it.
    #[must_use]
    pub fn without_installing(self, command: &'static str) -> Self {
        Self { installs: Some(command), ..self }
    }

    /// The command that installs what is missing; `None` if this host installs it itself.
    pub fn installs(&self) -> Option<&'static str> {
        self.installs
    }

    /// The folder that commands run in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for the kit and for compiled crates.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The cargo that started this program.
    #[must_use]
    pub fn cargo(&self) -> Tool {
        self.tool(&self.cargo)
    }

    /// Any program. It runs in the host's folder.
    #[must_use]
    pub fn tool(&self, program: impl Into<OsString>) -> Tool {
        Tool::new(program).current_dir(&self.folder)
    }

    /// A program of this project.
    #[must_use]
    pub fn program(&self, name: &str) -> Tool {
        let words = (self.programs)(name);
        let (program, words) = words.split_first().map_or((OsString::new(), [].as_slice()), |(p, w)| (p.clone(), w));
        self.tool(program).args(words)
    }

    /// Returns the toolchain for Windows. It is looked for once.
    ///
    /// # Errors
    ///
    /// If there is none and it is not installed.
    pub fn windows(&self) -> Result<&WindowsToolchain, Error> {
        if let Some(toolchain) = self.windows.get() {
            return Ok(toolchain);
        }
        let toolchain = setup::ensure_windows(self)?;
        Ok(self.windows.get_or_init(|| toolchain))
    }
}
