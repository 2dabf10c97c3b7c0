//! The machine that builds: where commands run, which cargo runs, and whether missing tools are installed.

use std::cell::OnceCell;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::llvm;
use crate::process::{Tool, quoted};
use crate::toolchain::WindowsToolchain;

/// Settings of jemalloc, which rustup's compilers allocate with. With huge pages they take about 6 % less processor time.
const HUGE_PAGES: (&str, &str) = ("MALLOC_CONF", "thp:always,metadata_thp:always");

/// The environment of one run.
pub struct Host {
    dir: PathBuf,
    cargo: OsString,
    programs: fn(&str) -> Vec<OsString>,
    cache: PathBuf,
    installs: Option<&'static str>,
    /// The toolchain for Windows, once `setup` has found it.
    pub(crate) windows: OnceCell<WindowsToolchain>,
}

impl Host {
    /// A host whose commands run in `dir`. `programs` turns the name of a program of this project, such as `driver-package`,
    /// into the command that runs it; the command is empty if there is none. `cache` is the folder for the kit and for compiled
    /// crates. Missing tools are installed.
    #[must_use]
    pub fn new(dir: &Path, programs: fn(&str) -> Vec<OsString>, cache: PathBuf) -> Self {
        Self {
            dir: dir.to_path_buf(),
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
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder for the kit and for compiled crates.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The cargo that started this program.
    #[must_use]
    pub fn cargo(&self) -> Tool {
        self.cargo_at(&self.cargo)
    }

    /// The cargo with this name or path. The user's own settings of jemalloc are kept.
    pub(crate) fn cargo_at(&self, program: impl Into<OsString>) -> Tool {
        let tool = self.tool(program);
        let (name, value) = HUGE_PAGES;
        // On other systems, jemalloc would print a warning.
        if cfg!(target_os = "linux") && env::var_os(name).is_none() { tool.hidden_env(name, value) } else { tool }
    }

    /// Any program. It runs in the host's folder, and finds the host's own LLVM, if there is one.
    #[must_use]
    pub fn tool(&self, program: impl Into<OsString>) -> Tool {
        let tool = Tool::new(program).current_dir(&self.dir);
        llvm::environment(&self.cache).into_iter().fold(tool, |tool, (key, value)| tool.hidden_env(key, value))
    }

    /// The folders that programs are looked for in, the host's own LLVM first.
    pub(crate) fn search_path(&self) -> OsString {
        llvm::search_path(&self.cache)
    }

    /// A program of this project.
    #[must_use]
    pub fn program(&self, name: &str) -> Tool {
        let words = (self.programs)(name);
        let (program, words) = words.split_first().map_or((OsString::new(), [].as_slice()), |(p, w)| (p.clone(), w));
        self.tool(program).args(words)
    }

    /// The command that runs a program of this project, for a shell; `None` if this host does not have it.
    pub(crate) fn shell_command(&self, name: &str) -> Option<String> {
        let words: Vec<String> = (self.programs)(name).iter().map(|word| quoted(&word.to_string_lossy())).collect();
        if words.is_empty() { None } else { Some(words.join(" ")) }
    }

    /// Returns an error that says how to get what is missing, unless this host installs it. The command that installs what every driver
    /// needs installs it, too.
    pub(crate) fn permit(&self, what: &str, how: &str) -> Result<(), Error> {
        match self.installs {
            None => Ok(()),
            Some(command) => Err(Error::Missing(format!(
                "{what} is not installed; run `{command}`, which installs everything that is missing, or install it yourself: {how}"
            ))),
        }
    }

    /// The same for what only some drivers need, such as another toolchain: that command does not install it.
    pub(crate) fn permit_for_driver(&self, what: &str, how: &str) -> Result<(), Error> {
        match self.installs {
            None => Ok(()),
            Some(_) => Err(Error::Missing(format!("{what} is not installed; run: {how}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn compilers_use_huge_pages_unless_the_user_has_other_settings() {
        let (name, value) = HUGE_PAGES;
        let host = Host::new(&env::temp_dir(), |_| Vec::new(), PathBuf::new());
        let shown = host.cargo_at("printenv").args([name]).capture().unwrap();
        assert_eq!(shown.trim(), env::var(name).unwrap_or_else(|_| value.to_owned()));
    }
}
