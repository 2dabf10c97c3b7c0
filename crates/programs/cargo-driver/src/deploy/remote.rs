//! The folder of a deployment on the other machine.
//!
//! A new package is first copied beside the folder and gets its name when it is complete, so that an interrupted or failed copy
//! changes nothing that an earlier deployment needs for its removal.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use command_line::{Deferred, Output};
use driver_build::Error;
use driver_exercise::{Lost, Ran, Target};

use super::ssh::{Ssh, is_plain, plain_name};

/// The folder of all deployments, in the home of the user.
const ALL: &str = "cargo-driver-deploy";
/// How often to look for an interrupt during a wait.
const LOOK: Duration = Duration::from_millis(100);

/// Why the machine has not the package, or still has an earlier one.
#[derive(Debug)]
pub(super) enum RemoteError {
    /// The folder of this machine that is copied cannot be read.
    Local(PathBuf, io::Error),
    /// A file whose name is not safe in every shell.
    FileName(OsString),
    /// A driver whose folder's name is not safe in every shell.
    FolderName(String),
    /// The copy failed; this folder may be left.
    NotCopied { reason: String, left: Option<String> },
    /// The copy is complete and has not got its name.
    NotRenamed { new: String, dir: String },
    /// As before, and the connection was lost.
    LostWithNew { lost: Lost, new: String },
    /// The connection was lost.
    Lost(Lost),
    /// The connection was lost while an earlier deployment was removed.
    EarlierLost(Lost),
    /// The script that removes an earlier deployment failed.
    EarlierStays(Ran),
    /// This could not be deleted.
    Left(String),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EARLIER: &str = "what an earlier run left could not be removed";
        match self {
            Self::Local(path, error) => write!(f, "{}: {error}", path.display()),
            Self::FileName(name) => write!(f, "{} cannot be copied: its name is not plain", name.display()),
            Self::FolderName(dir) => write!(f, "'{dir}' cannot be the name of a folder on the machine"),
            Self::NotCopied { reason, left: None } => {
                write!(f, "the package could not be copied: {reason}; nothing was changed there")
            }
            Self::NotCopied { reason, left: Some(new) } => {
                write!(f, "the package could not be copied: {reason}; the folder {new} may be left there")
            }
            Self::NotRenamed { new, dir } => {
                write!(f, "the folder {new} could not get its name {dir}; it is left on the machine")
            }
            Self::LostWithNew { lost, new } => write!(f, "{lost}; the folder {new} is left on the machine"),
            Self::Lost(lost) => lost.fmt(f),
            Self::EarlierLost(lost) => write!(f, "{EARLIER}: {lost}"),
            Self::EarlierStays(Ran { code, output, errors }) => {
                write!(f, "{EARLIER}: uninstall.ps1 ended with {code}\n{output}{errors}")
            }
            Self::Left(left) => f.write_str(left),
        }
    }
}

impl From<RemoteError> for Error {
    fn from(error: RemoteError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The other machine.
pub(super) struct Remote<'a> {
    ssh: Ssh,
    /// The folder of this driver.
    dir: String,
    interrupts: &'a Deferred,
}

impl<'a> Remote<'a> {
    pub(super) fn new(ssh: Ssh, driver: &str, interrupts: &'a Deferred) -> Self {
        Self { ssh, dir: format!("{ALL}/{driver}"), interrupts }
    }

    /// Opens the connection to the machine.
    pub(super) fn connect(&mut self) -> Result<(), Lost> {
        self.ssh.connect(&|| self.interrupts.is_interrupted())
    }

    /// Copies the files of a folder. What an earlier deployment installed is removed first, with its own scripts.
    pub(super) fn upload(&mut self, files: &Path) -> Result<(), RemoteError> {
        let unreadable = |error| RemoteError::Local(files.to_owned(), error);
        let mut names = Vec::new();
        for entry in fs::read_dir(files).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let plain = plain_name(&name).ok_or_else(|| RemoteError::FileName(name.clone()))?;
            names.push(plain.to_owned());
        }
        if !is_plain(&self.dir) {
            return Err(RemoteError::FolderName(self.dir.clone()));
        }
        let new = format!("{}.new", self.dir);
        let mut commands = vec![format!("-mkdir {ALL}"), format!("-rm {new}/*"), format!("-mkdir {new}")];
        commands.extend(names.iter().map(|name| format!("put {name} {new}/{name}")));
        let ends = || self.interrupts.is_interrupted();
        let copied = self.ssh.files(files, &commands, &ends);
        let reason = match copied {
            Ok(true) => None,
            Ok(false) => Some("the machine refused a file; check the free space of its disk".to_owned()),
            Err(lost) => Some(lost.to_string()),
        };
        if let Some(reason) = reason {
            let undo = [format!("-rm {new}/*"), format!("-rmdir {new}"), format!("-rmdir {ALL}")];
            let is_undone = matches!(self.ssh.files(files, &undo, &|| false), Ok(true));
            let left = (!is_undone).then_some(new);
            return Err(RemoteError::NotCopied { reason, left });
        }
        self.remove_earlier()?;
        match self.ssh.files(files, &[format!("rename {new} {}", self.dir)], &|| false) {
            Ok(true) => Ok(()),
            Ok(false) => Err(RemoteError::NotRenamed { new, dir: self.dir.clone() }),
            Err(lost) => Err(RemoteError::LostWithNew { lost, new }),
        }
    }

    /// Removes what an earlier deployment installed, and its folder. Returns whether there was one.
    pub(super) fn remove_earlier(&mut self) -> Result<bool, RemoteError> {
        let here = Path::new(".");
        let look = [format!("ls {}/uninstall.ps1", self.dir)];
        if !self.ssh.files(here, &look, &|| false).map_err(RemoteError::Lost)? {
            return Ok(false);
        }
        let ran = self.script("uninstall.ps1", &[], true).map_err(RemoteError::EarlierLost)?;
        if ran.code != 0 {
            return Err(RemoteError::EarlierStays(ran));
        }
        self.delete().map_or(Ok(true), |left| Err(RemoteError::Left(left)))
    }

    /// Deletes the folder. Returns what is left if that fails.
    pub(super) fn delete(&mut self) -> Option<String> {
        let dir = &self.dir;
        let commands = [
            format!("-rm {dir}/logs/*"),
            format!("-rmdir {dir}/logs"),
            format!("-rm {dir}/*"),
            format!("rmdir {dir}"),
            format!("-rmdir {ALL}"),
        ];
        let left = format!("the folder {dir} in the home of the user");
        (!matches!(self.ssh.files(Path::new("."), &commands, &|| false), Ok(true))).then_some(left)
    }
}

impl Target for Remote<'_> {
    fn script(&mut self, name: &str, arguments: &[String], is_cleanup: bool) -> Result<Ran, Lost> {
        let ends = || !is_cleanup && self.interrupts.is_interrupted();
        self.ssh.script(&format!("{}/{name}", self.dir), arguments, &ends)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    fn fetch(&mut self, name: &str, to: &Output) -> Result<(), Lost> {
        to.write_with(|partial| {
            let local = partial.file_name().and_then(|name| name.to_str()).unwrap_or(name);
            let command = format!("get {}/{name} {local}", self.dir);
            let dir = partial.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let is_copied = self.ssh.files(dir, &[command], &|| false)?;
            let lost = || Lost::File(format!("{}/{name} could not be copied from the machine", self.dir));
            is_copied.then_some(()).ok_or_else(lost)
        })
    }

    fn reconnect(&mut self) -> Result<(), Lost> {
        self.ssh.disconnect();
        self.connect()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupts.is_interrupted()
    }

    fn wait(&mut self, time: Duration) {
        let start = Instant::now();
        while start.elapsed() < time && !self.is_interrupted() {
            thread::sleep(LOOK.min(time.saturating_sub(start.elapsed())));
        }
    }
}
