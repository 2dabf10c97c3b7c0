//! This machine: the scripts run here, with Windows PowerShell.

use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;
use std::thread;
use std::time::Duration;

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
    /// Prepares the folder of a package: adds the client and the requests, which `send.ps1` needs.
    ///
    /// # Errors
    ///
    /// If the folder is not a package, or cannot be written.
    pub fn new(package: &Path, requests: Option<&Requests>, client: Option<&Path>) -> Result<Self, String> {
        // Not `canonicalize`: a verbatim path of Windows is not for PowerShell and the programs that scripts run.
        let package = absolute(package).map_err(|error| format!("{}: {error}", package.display()))?;
        if !package.join("package.psd1").is_file() {
            return Err(format!("{} is not a driver package: it has no package.psd1", package.display()));
        }
        // The results of an earlier exercise. record.ps1 replaces no file.
        let _ = fs::remove_file(package.join(TRACE));
        let _ = fs::remove_dir_all(package.join(LOGS));
        let failed = |name: &str, error: io::Error| format!("{}: {error}", package.join(name).display());
        if let Some(requests) = requests {
            let client = client.ok_or("the requests need a driver-client: name its file with --client")?;
            fs::copy(client, package.join(CLIENT)).map_err(|error| format!("{}: {error}", client.display()))?;
            let text = serde_json::to_string(requests).map_err(|error| error.to_string())?;
            fs::write(package.join(REQUESTS), text).map_err(|error| failed(REQUESTS, error))?;
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

    fn fetch(&mut self, name: &str, to: &Path) -> Result<(), Lost> {
        let from = self.package.join(name);
        fs::copy(&from, to).map(drop).map_err(|error| Lost::File(format!("{}: {error}", from.display())))
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
