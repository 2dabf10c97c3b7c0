//! The order of the steps, and what the failure of one means.

use std::time::{Duration, Instant};

use command_line::{OutputDir, OutputError};
use driver_client::Reply;

use crate::evidence::{Outcome, Status, Step, StepResult};
use crate::plan::Plan;
use crate::target::{Lost, Ran, Target};

/// How to exercise a driver.
#[derive(Clone, Debug)]
pub struct Options {
    /// Leaves the driver installed at the end.
    pub keep: bool,
    /// Switches Driver Verifier on.
    pub verifier: bool,
    /// Restarts Windows after the driver is installed, and records from the start of Windows. The value is the longest time until the
    /// device has started again.
    pub restart: Option<Duration>,
    /// How long to record after the last request.
    pub record: Duration,
    /// Collects whole logs, which name other devices and programs of the machine.
    pub whole_logs: bool,
    /// The folder for the trace, the logs and the output of each step.
    pub out: OutputDir,
}

impl Options {
    /// Returns the options of an exercise without a restart, without Driver Verifier and without a time to record, which leaves
    /// nothing installed.
    #[must_use]
    pub const fn new(out: OutputDir) -> Self {
        Self { keep: false, verifier: false, restart: None, record: Duration::ZERO, whole_logs: false, out }
    }
}

/// What an exercise reports while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A step begins.
    Begun(Step),
    /// A step has ended, or was skipped.
    Ended(&'a StepResult),
}

/// The name of the trace, in the package's folder and in the folder for results.
pub(crate) const TRACE: &str = "windows.etl";
/// The logs, in the package's folder.
pub(crate) const LOGS: &str = "logs";
/// The exit code of `restart.ps1 -Check` before the restart is complete.
const NOT_YET: i32 = 2;
/// The time between two checks of a machine that restarts.
const PAUSE: Duration = Duration::from_secs(1);
/// Why a step is skipped after an interrupt.
const INTERRUPTED: &str = "the exercise was interrupted before it";

/// An exercise of one driver on one machine.
pub struct Exercise<'a> {
    target: &'a mut dyn Target,
    driver: &'a str,
    plan: &'a Plan,
    options: &'a Options,
    report: &'a mut dyn FnMut(Progress<'_>),
    outcome: Outcome,
}

impl<'a> Exercise<'a> {
    /// Prepares an exercise. `report` learns of each step when it begins, and when it has ended.
    pub fn new(
        target: &'a mut dyn Target,
        driver: &'a str,
        plan: &'a Plan,
        options: &'a Options,
        report: &'a mut dyn FnMut(Progress<'_>),
    ) -> Self {
        Self { target, driver, plan, options, report, outcome: Outcome::default() }
    }

    /// Runs all steps. The steps that clean up run whatever happened before.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        if self.prepare() {
            self.drive();
            self.clean_up();
        }
        self.outcome.left = self.left();
        self.outcome
    }

    /// Finds out whether the machine is fit, without changing it, and removes what an earlier run left. Nothing else runs if this
    /// fails: there is nothing to clean up.
    fn prepare(&mut self) -> bool {
        self.ask_machine()
            && self.script(Step::Check, "install.ps1", &["-Check"], false).is_some()
            && self.script(Step::Clean, "uninstall.ps1", &[], true).is_some()
    }

    fn ask_machine(&mut self) -> bool {
        self.begin(Step::Machine);
        let ran = self.run_script(Step::Machine, "machine.ps1", &[], false);
        let output = ran.as_ref().ok().filter(|ran| ran.code == 0).map(|ran| ran.output.trim());
        match output.map(serde_json::from_str) {
            Some(Err(error)) => self.fail(Step::Machine, format!("machine.ps1 printed something else: {error}")),
            machine => {
                self.outcome.machine = machine.and_then(Result::ok);
                drop(self.finish(Step::Machine, ran));
            }
        }
        self.outcome.machine.is_some()
    }

    /// The steps that change the machine. The first one that fails ends them.
    fn drive(&mut self) {
        if self.options.verifier && self.script(Step::Verifier, "verifier.ps1", &[], false).is_none() {
            return;
        }
        if !self.install() {
            return;
        }
        self.requests();
        if self.outcome.has_passed(Step::Requests) && !self.options.record.is_zero() {
            self.target.wait(self.options.record);
        }
    }

    /// Installs the driver. The session is there before the driver, so that it also gets the events of `DriverEntry`: it starts now, or
    /// together with Windows.
    fn install(&mut self) -> bool {
        let Some(limit) = self.options.restart else {
            let trace = self.target.path(TRACE);
            return self.script(Step::Record, "record.ps1", &["-Start", "-Output", &trace], false).is_some()
                && self.script(Step::Install, "install.ps1", &[], false).is_some();
        };
        self.script(Step::Record, "boot-trace.ps1", &["Enable"], false).is_some()
            && self.script(Step::Install, "install.ps1", &["-Restart"], false).is_some()
            && self.restart(limit).is_some()
    }

    /// Restarts Windows and waits until the device has started again. A machine that restarts cannot be reached for a while.
    fn restart(&mut self, limit: Duration) -> Option<Ran> {
        if self.target.is_interrupted() {
            self.skip(Step::Restart, INTERRUPTED);
            return None;
        }
        self.begin(Step::Restart);
        let asked = self.run_script(Step::Restart, "restart.ps1", &["-Now"], false);
        if !asked.as_ref().is_ok_and(|ran| ran.code == 0) {
            return self.finish(Step::Restart, asked);
        }
        let start = Instant::now();
        let mut is_gone = false;
        loop {
            let reached = if is_gone { self.target.reconnect() } else { Ok(()) };
            let ran = reached.and_then(|()| self.run_script(Step::Restart, "restart.ps1", &["-Check"], false));
            is_gone = matches!(ran, Err(Lost::Connection(_) | Lost::TimedOut));
            let reason = match &ran {
                Err(lost) if is_gone => lost.to_string(),
                Ok(ran) if ran.code == NOT_YET => last_lines(&ran.output),
                _ => return self.finish(Step::Restart, ran),
            };
            if start.elapsed() >= limit {
                self.fail(Step::Restart, format!("it was not complete after {} s: {reason}", limit.as_secs()));
                return None;
            }
            self.target.wait(PAUSE);
        }
    }

    fn requests(&mut self) {
        let Some(wanted) = self.plan.requests() else {
            self.skip(Step::Requests, "the driver's Cargo.toml names none");
            return;
        };
        if self.target.is_interrupted() {
            self.skip(Step::Requests, INTERRUPTED);
            return;
        }
        self.begin(Step::Requests);
        let ran = self.run_script(Step::Requests, "send.ps1", &[], false);
        // The replies so far are of use even if the client failed later.
        let output = ran.as_ref().map(|ran| ran.output.as_str()).unwrap_or_default();
        let replies: Result<Vec<Reply>, _> =
            output.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
        let mistake = match &replies {
            Err(error) => Some(format!("driver-client printed something else: {error}")),
            Ok(replies) if replies.len() != wanted.requests.len() => {
                Some(format!("{} of {} requests have a reply", replies.len(), wanted.requests.len()))
            }
            Ok(_) => None,
        };
        self.outcome.replies = replies.unwrap_or_default();
        match (ran, mistake) {
            (Ok(ran), Some(mistake)) if ran.code == 0 => self.fail(Step::Requests, mistake),
            (ran, _) => drop(self.finish(Step::Requests, ran)),
        }
    }

    fn clean_up(&mut self) {
        let is_recording = self.outcome.was_begun(Step::Record);
        let is_installed = self.outcome.was_begun(Step::Install);
        if is_recording {
            let logs = self.target.path(LOGS);
            let mut arguments = vec!["-Output", &logs];
            arguments.extend(self.options.whole_logs.then_some("-Whole"));
            self.script(Step::Collect, "collect.ps1", &arguments, true);
        }
        if is_installed && !self.options.keep {
            self.script(Step::Remove, "remove.ps1", &[], true);
        }
        if is_recording {
            self.stop();
            self.fetch();
        }
        if self.outcome.was_begun(Step::Verifier) && !self.options.keep {
            self.script(Step::VerifierOff, "verifier.ps1", &["-Off"], true);
        }
        if (is_recording || is_installed) && !self.options.keep {
            self.script(Step::Uninstall, "uninstall.ps1", &[], true);
        }
    }

    /// Ends the recording.
    fn stop(&mut self) {
        let trace = self.target.path(TRACE);
        let (script, arguments) = match self.options.restart {
            Some(_) => ("boot-trace.ps1", vec!["Remove", "-Output", &trace]),
            None => ("record.ps1", vec!["-Stop"]),
        };
        self.script(Step::Stop, script, &arguments, true);
    }

    /// Copies the trace and the logs. Logs that are missing are not a failure of their own: `collect` has failed then.
    fn fetch(&mut self) {
        self.begin(Step::Fetch);
        let fetched = self.fetch_file(TRACE);
        let logs =
            if self.outcome.has_passed(Step::Collect) { self.fetch_file(&format!("{LOGS}.zip")) } else { Ok(()) };
        match fetched.as_ref().and(logs.as_ref()) {
            Ok(()) => self.push(Step::Fetch, Status::Passed, None, String::new()),
            Err(lost) => self.fail(Step::Fetch, lost.to_string()),
        }
        self.outcome.trace = fetched.is_ok().then(|| self.options.out.path().join(TRACE));
    }

    fn fetch_file(&mut self, name: &str) -> Result<(), Lost> {
        let to = self.options.out.file(name)?;
        self.target.fetch(name, &to)
    }

    /// What may be left on the machine.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let outcome = &self.outcome;
        let driver = self.driver;
        let is_clean = outcome.has_passed(Step::Uninstall);
        if outcome.was_begun(Step::Install) && !is_clean {
            left.push(format!("the certificate, the driver package and the device of {driver}"));
        }
        if outcome.was_begun(Step::Record) && !is_clean && !outcome.has_passed(Step::Stop) {
            left.push(match self.options.restart {
                Some(_) => format!("the session {driver}-boot, which Windows starts whenever it starts"),
                None => format!("the session {driver}-record"),
            });
        }
        if outcome.status(Step::Clean) == Some(Status::Failed) {
            left.push(format!("what an earlier run of {driver} left"));
        }
        if outcome.was_begun(Step::Verifier) && !outcome.has_passed(Step::VerifierOff) {
            left.push(format!("the setting of Driver Verifier for {driver}, until Windows restarts"));
        }
        left
    }

    /// Runs the script of a step. Returns what it did if it succeeded.
    fn script(&mut self, step: Step, name: &str, arguments: &[&str], is_cleanup: bool) -> Option<Ran> {
        if self.target.is_interrupted() && !is_cleanup {
            self.skip(step, INTERRUPTED);
            return None;
        }
        self.begin(step);
        let ran = self.run_script(step, name, arguments, is_cleanup);
        self.finish(step, ran)
    }

    /// Runs a script and keeps its output beside the evidence.
    fn run_script(&mut self, step: Step, name: &str, arguments: &[&str], is_cleanup: bool) -> Result<Ran, Lost> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let ran = self.target.script(name, &arguments, is_cleanup);
        let text = match &ran {
            Ok(ran) => format!("{}{}exit code {}\n", ran.output, ran.errors, ran.code),
            Err(lost) => format!("{lost}\n"),
        };
        // Without the file the evidence still has the status and the reason.
        let _: Result<(), OutputError> =
            self.options.out.file(&format!("{}.log", step.as_str())).and_then(|log| log.write(text));
        ran
    }

    fn finish(&mut self, step: Step, ran: Result<Ran, Lost>) -> Option<Ran> {
        match ran {
            Ok(ran) if ran.code == 0 => {
                self.push(step, Status::Passed, Some(0), String::new());
                Some(ran)
            }
            Ok(ran) => {
                let text = if ran.errors.trim().is_empty() { &ran.output } else { &ran.errors };
                self.push(step, Status::Failed, Some(ran.code), last_lines(text));
                None
            }
            Err(lost) => {
                self.fail(step, lost.to_string());
                None
            }
        }
    }

    fn begin(&mut self, step: Step) {
        (self.report)(Progress::Begun(step));
    }

    fn fail(&mut self, step: Step, reason: String) {
        self.push(step, Status::Failed, None, reason);
    }

    fn skip(&mut self, step: Step, reason: &str) {
        self.push(step, Status::Skipped, None, reason.to_owned());
    }

    fn push(&mut self, step: Step, status: Status, exit_code: Option<i32>, reason: String) {
        let result = StepResult { step, status, exit_code, reason };
        (self.report)(Progress::Ended(&result));
        self.outcome.steps.push(result);
    }
}

/// The last lines of an output, which usually say why a script failed.
fn last_lines(text: &str) -> String {
    const MOST: usize = 12;
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(MOST)..).unwrap_or_default().join("\n")
}
