//! The folder of a deployment on the other machine.
//!
//! A new package is first copied beside the folder and gets its name when it is complete, so that an interrupted or failed copy
//! changes nothing that an earlier deployment needs for its removal.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use command_line::Deferred;
use driver_exercise::{Lost, Ran, Target};

use super::ssh::{Ssh, is_plain, plain_name};

/// The folder of all deployments, in the home of the user.
const ALL: &str = "cargo-driver-deploy";
/// How often to look for an interrupt during a wait.
const LOOK: Duration = Duration::from_millis(100);

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
    pub(super) fn upload(&mut self, files: &Path) -> Result<(), String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(files).map_err(|error| format!("{}: {error}", files.display()))? {
            let name = entry.map_err(|error| format!("{}: {error}", files.display()))?.file_name();
            let plain = plain_name(&name)
                .ok_or_else(|| format!("{} cannot be copied: its name is not plain", name.display()))?;
            names.push(plain.to_owned());
        }
        if !is_plain(&self.dir) {
            return Err(format!("'{}' cannot be the name of a folder on the machine", self.dir));
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
            let left = if is_undone {
                "nothing was changed there".to_owned()
            } else {
                format!("the folder {new} may be left there")
            };
            return Err(format!("the package could not be copied: {reason}; {left}"));
        }
        self.remove_earlier()?;
        match self.ssh.files(files, &[format!("rename {new} {}", self.dir)], &|| false) {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(format!("the folder {new} could not get its name {}; it is left on the machine", self.dir))
            }
            Err(lost) => Err(format!("{lost}; the folder {new} is left on the machine")),
        }
    }

    /// Removes what an earlier deployment installed, and its folder. Returns whether there was one.
    pub(super) fn remove_earlier(&mut self) -> Result<bool, String> {
        let here = Path::new(".");
        let look = [format!("ls {}/uninstall.ps1", self.dir)];
        if !self.ssh.files(here, &look, &|| false).map_err(|lost| lost.to_string())? {
            return Ok(false);
        }
        let failed = |reason: String| format!("what an earlier run left could not be removed: {reason}");
        let ran = self.script("uninstall.ps1", &[], true).map_err(|lost| failed(lost.to_string()))?;
        if ran.code != 0 {
            return Err(failed(format!("uninstall.ps1 ended with {}\n{}{}", ran.code, ran.output, ran.errors)));
        }
        self.delete().map_or(Ok(true), Err)
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

    fn fetch(&mut self, name: &str, to: &Path) -> Result<(), Lost> {
        let local = to.file_name().and_then(|name| name.to_str()).unwrap_or(name);
        let command = format!("get {}/{name} {local}", self.dir);
        let is_copied = self.ssh.files(to.parent().unwrap_or(Path::new(".")), &[command], &|| false)?;
        let lost = || Lost::File(format!("{}/{name} could not be copied from the machine", self.dir));
        is_copied.then_some(()).ok_or_else(lost)
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
