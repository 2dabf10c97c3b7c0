//! A folder that stands in for a Windows machine: `fake_windows.py` is in the place of Windows PowerShell, and plays what the scripts of a
//! package do. The trace and the replies that it plays are the caller's.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

/// What happens to a call of a script, after the first half of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails.
    Fail,
    /// It never ends. The pipe `hangs` gets a line when it has begun.
    Hang,
    /// The connection that it runs in breaks.
    Disconnect,
}

/// The source of the stand-in.
pub const FAKE: &str = include_str!("fake_windows.py");

/// The interpreter itself. A launcher before it would take longer than the script.
static PYTHON: LazyLock<String> = LazyLock::new(|| {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    output.map_or_else(|_| "python3".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
});

/// A machine.
#[derive(Debug)]
pub struct Machine {
    dir: PathBuf,
}

impl Machine {
    /// Makes a machine in an empty folder. It plays this trace and these replies.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    pub fn new(dir: &Path, trace: &Path, replies: &str) -> io::Result<Self> {
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir)?;
        fs::write(dir.join("fake_windows.py"), FAKE)?;
        let words =
            [PYTHON.as_str(), "-I", "-S", &dir.join("fake_windows.py").to_string_lossy(), &dir.to_string_lossy()]
                .map(|word| format!("'{word}'"));
        fs::write(dir.join("powershell.exe"), format!("#!/bin/sh\nexec {} \"$@\"\n", words.join(" ")))?;
        fs::set_permissions(dir.join("powershell.exe"), fs::Permissions::from_mode(0o755))?;
        fs::copy(trace, dir.join("trace.etl"))?;
        fs::write(dir.join("replies.jsonl"), replies)?;
        let machine = Self { dir: dir.to_owned() };
        machine.set_test_mode(true)?;
        Ok(machine)
    }

    /// Returns the path of a file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Switches test mode on or off.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    pub fn set_test_mode(&self, is_on: bool) -> io::Result<()> {
        let facts = json!({
            "build": 26100, "revision": 1, "edition": "Professional", "architecture": "x64", "kmdf": "1.33",
            "test_signing": is_on, "secure_boot": false, "memory_integrity": false,
        });
        fs::write(self.path("machine.json"), facts.to_string())
    }

    /// Makes the call with this number of a script, such as `record.ps1 -Start`, end in a fault. Forgets earlier calls.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written.
    pub fn set_fault(&self, call: &str, count: u32, fault: Fault) -> io::Result<()> {
        let kind = match fault {
            Fault::Fail => "fail",
            Fault::Hang => "hang",
            Fault::Disconnect => "disconnect",
        };
        let _ = fs::remove_file(self.path("calls.txt"));
        let fault = json!({"call": call, "count": count, "kind": kind});
        fs::write(self.path("fault.json"), fault.to_string())
    }

    /// Removes the fault and what is installed.
    pub fn reset(&self) {
        for name in ["fault.json", "state.json", "calls.txt"] {
            let _ = fs::remove_file(self.path(name));
        }
    }

    /// Removes the fault. What is installed stays.
    pub fn repair(&self) {
        let _ = fs::remove_file(self.path("fault.json"));
    }

    /// Returns what is installed.
    #[must_use]
    pub fn state(&self) -> BTreeMap<String, Value> {
        let text = fs::read_to_string(self.path("state.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Returns the calls of scripts in their order.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
