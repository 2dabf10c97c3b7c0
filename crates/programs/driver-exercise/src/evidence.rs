//! What happened, as a file: `evidence.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use command_line::{Output, OutputError, VERSION};
use driver_client::Reply;
use serde::{Deserialize, Serialize};

/// The version of the file.
const SCHEMA_VERSION: u32 = 1;

/// What happened in an exercise.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The machine, if it could be asked.
    pub machine: Option<Machine>,
    /// The steps in their order.
    pub steps: Vec<StepResult>,
    /// The replies to the requests.
    pub replies: Vec<Reply>,
    /// The trace, if it could be fetched.
    pub trace: Option<PathBuf>,
    /// What may be left on the machine.
    pub left: Vec<String>,
}

impl Outcome {
    /// How a step ended, `None` if it was not reached.
    #[must_use]
    pub fn status(&self, step: Step) -> Option<Status> {
        self.steps.iter().rfind(|result| result.step == step).map(|result| result.status)
    }

    pub(crate) fn has_passed(&self, step: Step) -> bool {
        self.status(step) == Some(Status::Passed)
    }

    /// Whether a step may have changed the machine: it was begun, however it ended.
    pub(crate) fn was_begun(&self, step: Step) -> bool {
        matches!(self.status(step), Some(Status::Passed | Status::Failed))
    }
}

/// What happened on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The version of the file: 1.
    pub schema_version: u32,
    /// The driver.
    pub driver: String,
    /// Where it ran, for people: the image of a runner, the name of a host.
    pub place: String,
    /// When it ran: seconds since 1970.
    pub time: u64,
    /// The version of these tools.
    pub tools: String,
    /// The machine, if it could be asked.
    pub machine: Option<Machine>,
    /// The steps in their order.
    pub steps: Vec<StepResult>,
    /// The replies to the requests.
    pub replies: Vec<Reply>,
    /// The statuses of session control, if they were queried.
    pub classes: Vec<ClassStatus>,
    /// The comparison of the trace with the one of nt-host, if there are both.
    pub comparison: Option<Compared>,
    /// What may be left on the machine.
    pub left: Vec<String>,
}

impl Evidence {
    /// Makes evidence of an outcome, now.
    #[must_use]
    pub fn new(driver: &str, place: &str, outcome: Outcome, comparison: Option<Compared>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            driver: driver.to_owned(),
            place: place.to_owned(),
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            tools: VERSION.to_owned(),
            machine: outcome.machine,
            steps: outcome.steps,
            replies: outcome.replies,
            classes: Vec::new(),
            comparison,
            left: outcome.left,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not evidence of this version.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bad = |error: &dyn ToString| format!("{}: {}", path.display(), error.to_string());
        let text = fs::read_to_string(path).map_err(|error| bad(&error))?;
        let evidence: Self = serde_json::from_str(&text).map_err(|error| bad(&error))?;
        if evidence.schema_version != SCHEMA_VERSION {
            return Err(bad(&format!("its version is {}, expected {SCHEMA_VERSION}", evidence.schema_version)));
        }
        Ok(evidence)
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written: the error names it.
    pub fn write(&self, output: &Output) -> Result<(), OutputError> {
        // The members are text, numbers and lists.
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| OutputError::Write(output.as_ref().to_owned(), error.into()))?;
        output.write(text + "\n")
    }

    /// Whether every step passed, the traces are the same, and nothing is left.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.steps.iter().all(|step| step.status != Status::Failed)
            && self.comparison.as_ref().is_none_or(|compared| compared.differences.is_empty())
            && self.left.is_empty()
    }
}

/// What `machine.ps1` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The build of Windows.
    pub build: u32,
    /// The revision of the build.
    pub revision: u32,
    /// The edition of Windows.
    pub edition: String,
    /// The processor: `x64` or `arm64`.
    pub architecture: String,
    /// The version of KMDF, empty if it is not known.
    pub kmdf: String,
    /// Whether test mode is on.
    pub test_signing: bool,
    /// Whether Secure Boot is on.
    pub secure_boot: bool,
    /// Whether memory integrity (HVCI) is on.
    pub memory_integrity: bool,
}

/// A step of the exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Asks the machine what it is.
    Machine,
    /// Checks whether the machine can load the driver.
    Check,
    /// Removes what an earlier run left.
    Clean,
    /// Switches Driver Verifier on.
    Verifier,
    /// Starts the recording.
    Record,
    /// Installs the driver and starts its device.
    Install,
    /// Restarts Windows and waits until the device has started again.
    Restart,
    /// Sends the requests.
    Requests,
    /// Collects the logs.
    Collect,
    /// Removes the device, so that the driver is unloaded.
    Remove,
    /// Stops the recording.
    Stop,
    /// Copies the trace and the logs.
    Fetch,
    /// Switches Driver Verifier off.
    VerifierOff,
    /// Removes everything.
    Uninstall,
}

impl Step {
    /// All steps in their order.
    pub const ALL: [Self; 14] = [
        Self::Machine,
        Self::Check,
        Self::Clean,
        Self::Verifier,
        Self::Record,
        Self::Install,
        Self::Restart,
        Self::Requests,
        Self::Collect,
        Self::Remove,
        Self::Stop,
        Self::Fetch,
        Self::VerifierOff,
        Self::Uninstall,
    ];

    /// The name in messages and in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Check => "check",
            Self::Clean => "clean",
            Self::Verifier => "verifier",
            Self::Record => "record",
            Self::Install => "install",
            Self::Restart => "restart",
            Self::Requests => "requests",
            Self::Collect => "collect",
            Self::Remove => "remove",
            Self::Stop => "stop",
            Self::Fetch => "fetch",
            Self::VerifierOff => "verifier-off",
            Self::Uninstall => "uninstall",
        }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did what it should.
    Passed,
    /// It failed, or it is not known how it ended.
    Failed,
    /// It was not run.
    Skipped,
}

/// How a step ended, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    /// The step.
    pub step: Step,
    /// How it ended.
    pub status: Status,
    /// The exit code of its script, if it ended.
    pub exit_code: Option<i32>,
    /// Why it failed or was skipped; empty if it passed.
    pub reason: String,
}

/// The status of an information class of session control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassStatus {
    /// The number of the class.
    pub class: u32,
    /// Its name.
    pub name: String,
    /// What Microsoft's documentation says: the directions, and the first Windows.
    pub documented: String,
    /// What the system returned.
    pub status: String,
}

/// The comparison of two traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The number of events of the machine.
    pub events: usize,
    /// The number of events of nt-host.
    pub expected: usize,
    /// The number of events that both have.
    pub common: usize,
    /// The differences, one line each.
    pub differences: Vec<String>,
}
