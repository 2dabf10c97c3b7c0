//! A process that runs a driver for the fuzzer, and what happened in it.

use std::sync::Arc;
use std::time::Duration;

use nt_machine::{ImageOffset, Record, Rule};

use super::input::Environment;
use crate::api::Target;
use crate::steps::Step;
use crate::wire::{Batch, Reply, Request};
use crate::{Error, NtHost};

/// The time that passes for the driver after its last request, as in `nt-host run`.
const ADVANCE: Duration = Duration::from_millis(2500);

/// The mistake that a record is about. Two records of the same mistake can differ in everything else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) rule: Rule,
    /// The images and addresses of the mistake and of its caller: many drivers complete all requests in one function. For a leak
    /// also of the caller's caller: functions that allocate for others call each other.
    addresses: [Option<(u32, u32)>; 3],
    /// What happened, without numbers, if the place alone does not say it.
    detail: String,
}

impl Key {
    /// The key of a process that has ended, which no driver should be able to cause.
    pub(super) const DIED: Self = Self { rule: Rule::Host, addresses: [None; 3], detail: String::new() };

    pub(super) fn new(record: &Record) -> Self {
        let rule = record.rule();
        let callers = if rule.is_leak() { record.callers_of_leak() } else { record.calls() };
        let mut addresses = record.address().into_iter().chain(callers.iter().copied());
        let mut next = || addresses.next().map(|address: ImageOffset| (address.image, address.rva));
        Self {
            rule,
            addresses: [next(), next(), next().filter(|_| rule.is_leak())],
            detail: essence(rule, &record.detail()),
        }
    }

    /// Returns whether another key is for the same mistake.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // A driver that does not return can be interrupted anywhere.
        self == other || (self.rule == Rule::Hang && other.rule == Rule::Hang)
    }
}

/// Returns how many callers belong to the place of a mistake.
pub(super) const fn callers(rule: Rule) -> usize {
    if rule.is_leak() { 2 } else { 1 }
}

/// Returns the words of a detail if several mistakes have the same place: a dispatch routine, for what it does with its
/// request.
pub(super) fn essence(rule: Rule, detail: &str) -> String {
    if !matches!(rule, Rule::RequestMisuse | Rule::RequestNever) {
        return String::new();
    }
    let words = detail.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

/// A process with a driver.
pub(super) struct Runner {
    pub(super) host: NtHost,
    pub(super) environment: Arc<Environment>,
    /// The number of the device in the process; 0 if there is none.
    device: u64,
    /// Whether the driver has a device. One that filters may have none.
    pub(super) has_device: bool,
    /// Whether the driver can be unloaded.
    pub(super) is_loaded: bool,
    /// Why there is no device.
    pub(super) failure: Option<Error>,
    /// The sequences so far.
    pub(super) history: Vec<Vec<Step>>,
}

/// How a batch ended.
pub(super) enum Ran {
    /// Its sequences ended, up to the first step with a finding.
    Ended,
    /// The driver stopped the machine.
    Stopped,
    /// The process has ended or does not reply.
    Died(Error),
}

impl Runner {
    /// Starts a process, loads the driver and adds a device.
    ///
    /// # Errors
    ///
    /// Fails if there is no process. What the driver does is not an error.
    pub(super) fn start(target: &Target, environment: &Arc<Environment>) -> Result<Self, Error> {
        let host = if environment.is_empty() {
            target.host()?
        } else {
            let mut target = target.clone();
            environment.apply(&mut target.config);
            target.host()?
        };
        let loaded = host.load();
        let is_loaded = loaded.is_ok();
        let (device, failure) = match loaded.and_then(|()| host.add_device()) {
            Ok(device) => (device.number(), None),
            Err(Error::Status(_)) if filters(&host) => (0, None),
            Err(error) => (0, Some(error)),
        };
        let environment = Arc::clone(environment);
        let has_device = device != 0;
        Ok(Self { host, environment, device, has_device, is_loaded, failure, history: Vec::new() })
    }

    /// Returns whether there is something to send requests to.
    pub(super) const fn is_ready(&self) -> bool {
        self.device != 0 || (!self.has_device && self.failure.is_none())
    }

    /// Runs sequences. What ran is in the history afterwards.
    pub(super) fn batch(&mut self, sequences: Vec<Vec<Step>>) -> (Batch, Ran) {
        let count = sequences.len() as u32;
        let request = Request::Batch { device: self.device, sequences };
        let reply = self.host.call(&request);
        let all = || Batch { done: count, ..Batch::default() };
        let (batch, ran) = match reply {
            Ok(Reply::Batch { batch }) => {
                self.device = batch.device;
                (batch, Ran::Ended)
            }
            Ok(Reply::Stopped {}) => match self.host.call(&Request::Progress {}) {
                Ok(Reply::Batch { mut batch }) => {
                    // A batch that the driver stops before its first step must not be repeated forever.
                    batch.done += u32::from(batch.begun == 0);
                    (batch, Ran::Stopped)
                }
                _ => (all(), Ran::Stopped),
            },
            Ok(reply) => (all(), Ran::Died(self.host.unexpected(reply))),
            Err(error) => (all(), Ran::Died(error)),
        };
        if let Request::Batch { sequences, .. } = request {
            let mut sequences = sequences.into_iter();
            self.history.extend(sequences.by_ref().take(batch.done as usize));
            if let Some(mut cut) = sequences.next().filter(|_| batch.begun != 0) {
                cut.truncate(batch.begun as usize);
                self.history.push(cut);
            }
        }
        (batch, ran)
    }

    /// Removes the device and unloads the driver, which shows what it leaks. The driver may stop the machine.
    pub(super) fn end(&self) {
        let _ = self.host.advance(ADVANCE);
        if self.device != 0 {
            let _ = self.host.call_for_status(&Request::RemoveDevice { device: self.device });
        }
        let _ = self.host.call_for_status(&Request::Unload {});
    }

    /// Returns the findings so far.
    pub(super) fn records(&self) -> Vec<Record> {
        self.host.process().records()
    }
}

/// Returns whether the driver filters files or traffic.
fn filters(host: &NtHost) -> bool {
    match host.call(&Request::Names {}) {
        Ok(Reply::Names { ports, callouts, .. }) => ports.is_some() || callouts,
        _ => false,
    }
}

/// Runs steps in a process of their own, and returns the mistakes.
///
/// # Errors
///
/// Fails if there is no process.
pub(super) fn replay(target: &Target, environment: &Arc<Environment>, steps: Vec<Step>) -> Result<Vec<Key>, Error> {
    let mut runner = Runner::start(target, environment)?;
    let ran = runner.is_ready().then(|| runner.batch(vec![steps]).1);
    match ran {
        Some(Ran::Ended) => runner.end(),
        None if runner.is_loaded => runner.end(),
        Some(Ran::Died(_)) => return Ok(vec![Key::DIED]),
        None | Some(Ran::Stopped) => {}
    }
    Ok(runner.records().iter().map(Key::new).collect())
}
