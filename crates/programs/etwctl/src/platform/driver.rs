//! Runs a driver with `nt-host`, on a thread beside the recording.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use etw_session::Machine;
use etw_session::info::ProviderInstance;
use etw_types::Guid;
use nt_host::{Answer, Error, NtHost};
use windows_releases::Release;

use super::{Outcome, Plan};
use crate::failure::Failure;
use crate::values;

/// The length of the output buffer of a request.
const ROOM: u32 = 4096;

/// What the driver did, and whether the run was completed.
type Run = (Outcome, Result<(), Error>);

/// A driver to run.
#[derive(Debug)]
pub(crate) struct Driver {
    host: NtHost,
    machine: Machine,
    ends: Arc<AtomicBool>,
    run: Option<JoinHandle<Run>>,
}

impl Driver {
    /// Reads the driver's file. No code of the driver runs yet.
    pub(crate) fn prepare(path: &Path, os: Option<Release>) -> Result<Self, Failure> {
        let os = os.unwrap_or_default();
        let prepared = NtHost::builder().driver(path).os(os).measured_time().prepare();
        let host = prepared.map_err(|error| io::Error::other(error.to_string()))?;
        let machine = host.machine();
        Ok(Self { host, machine, ends: Arc::default(), run: None })
    }

    /// The ETW that the driver writes to.
    pub(crate) const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The files that the run reads: the driver, and its symbols.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.host.files()
    }

    /// Starts the thread that runs the driver.
    pub(crate) fn start(&mut self, plan: Plan) {
        let host = self.host.clone();
        let machine = self.machine.clone();
        let ends = Arc::clone(&self.ends);
        self.run = Some(thread::spawn(move || {
            let mut outcome = Outcome::default();
            let result = run(&host, &machine, &plan, &ends, &mut outcome);
            (outcome, result)
        }));
    }

    /// Whether the run is over.
    pub(crate) fn is_finished(&self) -> bool {
        self.run.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the run early if it is not over, waits for the unload, and returns what happened.
    pub(crate) fn finish(self) -> Outcome {
        self.ends.store(true, Ordering::Relaxed);
        let panicked = || Error::Host("the thread that runs the driver has panicked".to_owned());
        let (outcome, result) = match self.run.map(JoinHandle::join) {
            Some(Ok(run)) => run,
            Some(Err(_)) => (Outcome::default(), Err(panicked())),
            None => (Outcome::default(), Ok(())),
        };
        let report = self.host.report();
        let findings = report.findings().iter().map(ToString::to_string).collect();
        let gaps = outcome.gaps.iter().cloned().chain(report.gaps().iter().map(ToString::to_string)).collect();
        let is_refused = matches!(result, Err(Error::NotLoaded(..) | Error::DriverEntry(..)));
        let error = match result {
            // The last finding says what stopped the machine.
            Ok(()) | Err(Error::Stopped(_)) => None,
            Err(error) => Some(error.to_string()),
        };
        Outcome { findings, gaps, error, is_refused, ..outcome }
    }
}

/// Loads the driver, adds a device, sends the requests, lets time pass, and unloads the driver.
fn run(host: &NtHost, machine: &Machine, plan: &Plan, ends: &AtomicBool, outcome: &mut Outcome) -> Result<(), Error> {
    host.load()?;
    let is_registered = |provider: &Guid| {
        let instances = machine.provider(*provider).unwrap_or_default().0;
        instances.iter().any(ProviderInstance::is_registered)
    };
    outcome.providers = machine.providers().unwrap_or_default().into_iter().filter(is_registered).collect();
    match host.add_device() {
        Ok(device) => {
            for (code, input) in &plan.requests {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                outcome.replies.push(describe_reply(*code, &device.ioctl(*code, input, ROOM)?));
            }
            if !ends.load(Ordering::Relaxed) {
                host.advance(plan.time)?;
            }
            match device.remove() {
                // The report has a gap. The unload removes the device by surprise.
                Err(Error::Status(status)) => outcome.replies.push(format!("the driver refused the removal: {status}")),
                result => result?,
            }
        }
        // The recording goes on without a device. If the driver should have one, the report has a gap.
        Err(Error::Status(status)) => {
            outcome.replies.push(format!("there is no device: {status}"));
            let unsent = plan
                .requests
                .iter()
                .map(|(code, _)| format!("{code:08X} did not reach the driver: there is no device"));
            outcome.gaps.extend(unsent.map(|request| format!("not-reached: request {request}")));
        }
        Err(error) => return Err(error),
    }
    match host.unload() {
        Err(error @ Error::NotUnloaded) => outcome.replies.push(error.to_string()),
        result => drop(result?),
    }
    Ok(())
}

fn describe_reply(code: u32, reply: &Answer) -> String {
    let output = match reply.output.len() {
        _ if !reply.reached => "it did not reach the driver".to_owned(),
        0 => "no output".to_owned(),
        length => format!("{length} bytes: {}", values::hex(&reply.output)),
    };
    format!("request {code:08X}: {}, {output}", reply.status)
}
