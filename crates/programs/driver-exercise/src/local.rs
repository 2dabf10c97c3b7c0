//! This machine: the scripts run here, with Windows PowerShell.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;
use std::thread;
use std::time::Duration;

use command_line::{Output, OutputDir, OutputError};
use driver_client::Requests;

use crate::exercise::{LOGS, TRACE};
use crate::target::{Lost, Ran, Target};

/// The arguments of Windows PowerShell before the path of a script. The execution policy is that of this process alone.
pub const POWERSHELL: [&str; 6] =
    ["powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"];
/// The name of the client in the package's folder.
pub const CLIENT: &str = "driver-client.exe";
/// The name of the file with the requests in the package's folder.
pub const REQUESTS: &str = "exercise.json";

/// This machine, with a package in a folder.
#[derive(Debug)]
pub struct Local {
    package: PathBuf,
}

impl Local {
    /// Prepares the folder of a package: adds the client and the requests, which `send.ps1` needs. None of them replaces an input of
    /// the command.
    ///
    /// # Errors
    ///
    /// If the folder is not a package, or cannot be written.
    pub fn new(dir: &OutputDir, requests: Option<&Requests>, client: Option<&Path>) -> Result<Self, String> {
        // Not `canonicalize`: a verbatim path of Windows is not for PowerShell and the programs that scripts run.
        let package = absolute(dir.path()).map_err(|error| format!("{}: {error}", dir.path().display()))?;
        if !package.join("package.psd1").is_file() {
            return Err(format!("{} is not a driver package: it has no package.psd1", package.display()));
        }
        let refused = |error: OutputError| error.to_string();
        let trace = dir.file(TRACE).map_err(refused)?;
        let logs = dir.dir(LOGS).into_own().map_err(refused)?;
        let client_file = dir.file(CLIENT).map_err(refused)?;
        let requests_file = dir.file(REQUESTS).map_err(refused)?;
        // The results of an earlier exercise. record.ps1 replaces no file.
        let _ = fs::remove_file(trace);
        let _ = logs.remove();
        if let Some(requests) = requests {
            let client = client.ok_or("the requests need a driver-client: name its file with --client")?;
            client_file.copy(client).map_err(refused)?;
            let text = serde_json::to_string(requests).map_err(|error| error.to_string())?;
            requests_file.write(text).map_err(refused)?;
        }
        Ok(Self { package })
    }
}

impl Target for Local {
    fn script(&mut self, name: &str, arguments: &[String], _is_cleanup: bool) -> Result<Ran, Lost> {
        let [program, options @ ..] = POWERSHELL;
        let mut command = Command::new(program);
        command.args(options).arg(self.package.join(name)).args(arguments).current_dir(&self.package);
        // PowerShell 7 puts its modules there, which Windows PowerShell cannot load. Without the variable it uses its own.
        command.env_remove("PSModulePath");
        let output = command.output().map_err(|error| Lost::Connection(format!("cannot run {program}: {error}")))?;
        Ok(Ran {
            // A process that a signal ended has no code.
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn path(&self, name: &str) -> String {
        self.package.join(name).display().to_string()
    }

    fn fetch(&mut self, name: &str, to: &Output) -> Result<(), Lost> {
        Ok(to.copy(&self.package.join(name))?)
    }

    fn reconnect(&mut self) -> Result<(), Lost> {
        Ok(())
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }
}
