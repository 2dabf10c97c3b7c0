//! What the fuzzer sends to a driver: a sequence of steps, and the environment that the driver is loaded into.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use nt_machine::{Below, Config, RegistryKey, RegistryValue};

use crate::steps::{FileStep, Step};
use crate::text::{below, registry};

/// How long a client waits for a request before it cancels it, in the driver's time. A driver whose timer expires each
/// millisecond would otherwise run it 60,000 times for each request that it keeps.
pub(super) const CANCEL_AFTER: Duration = Duration::from_millis(250);

/// What a driver finds when it is loaded, beyond what the run gives it anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// How devices of other drivers complete requests.
    pub below: Vec<Below>,
    /// Values of the registry: the key, the name, the value.
    pub registry: Vec<(RegistryKey, String, RegistryValue)>,
}

impl Environment {
    /// Adds itself to the configuration of a run.
    pub(super) fn apply(&self, config: &mut Config) {
        // The first entry that matches a request applies.
        config.below.splice(0..0, self.below.iter().cloned());
        config.registry.extend(self.registry.iter().cloned());
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.below.is_empty() && self.registry.is_empty()
    }
}

/// A sequence of steps in an environment. It reproduces what the driver did, as options of `nt-host run` or as a test.
///
/// ```
/// use nt_host::{Environment, Input};
///
/// let input = Input { environment: Environment::default(), steps: Vec::new() };
/// assert!(input.options().is_empty());
/// assert!(input.command_of("cargo driver run").starts_with("cargo driver run --virtual-time"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// What the driver finds when it is loaded.
    pub environment: Environment,
    /// What the clients do.
    pub steps: Vec<Step>,
}

impl Input {
    /// Returns the options of `nt-host run` that do the same, one option with its value in each element.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let below = self.environment.below.iter().map(below_option);
        let registry = self.environment.registry.iter();
        let registry = registry.map(|(key, name, value)| format!("--registry={}", registry::written(key, name, value)));
        let steps = self.steps.iter().map(ToString::to_string);
        below.chain(registry).chain(steps).collect()
    }

    /// Returns the command that does the same.
    #[must_use]
    pub fn command(&self, driver: &Path) -> String {
        self.command_of(&format!("nt-host run {}", quoted(&driver.to_string_lossy())))
    }

    /// As [`Input::command`], for another command that runs the driver.
    #[must_use]
    pub fn command_of(&self, runner: &str) -> String {
        let mut command = runner.to_owned();
        for option in self.options() {
            let _ = write!(command, " {}", quoted(&option));
        }
        // As the fuzzer ran it: in the same order, however long the driver's code takes.
        let _ = write!(command, " --virtual-time --cancel-after={}ms", CANCEL_AFTER.as_millis());
        command
    }
}

/// Returns a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn below_option(below: &Below) -> String {
    let name = if below.device.is_some() { "--remote" } else { "--below" };
    format!("{name}={}", below::written(below))
}

/// Joins sequences to one. Each sequence starts with files and requests of its own, and ends without them.
pub(super) fn join(sequences: &[&[Step]]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut files = 0;
    let mut requests = 0;
    for (index, sequence) in sequences.iter().enumerate() {
        let first_file = files;
        let first_request = requests;
        for step in *sequence {
            steps.push(match step {
                Step::Handle { number } => Step::Handle { number: number + first_file },
                Step::Cancel { number } => Step::Cancel { number: number + first_request },
                step => step.clone(),
            });
            files += u32::from(matches!(step, Step::Open { .. }));
            requests += u32::from(matches!(step, Step::Begin { .. }));
        }
        if index + 1 < sequences.len() {
            let has = |wanted: fn(&Step) -> bool| sequence.iter().any(wanted);
            if has(|step| matches!(step, Step::FailNext { .. })) {
                steps.push(Step::FailNext { call: 0 });
            }
            if has(|step| matches!(step, Step::AnswerNext { .. })) {
                steps.push(Step::AnswerNext { answer: None });
            }
            steps.extend((first_request..requests).map(|request| Step::Cancel { number: request + 1 }));
            steps.extend((first_file..files).flat_map(|file| [Step::Handle { number: file + 1 }, Step::Close {}]));
            steps.extend(closed(sequence));
            if has(|step| matches!(step, Step::Sleep {})) {
                steps.push(Step::Wake {});
            }
            if has(|step| matches!(step, Step::Remove {} | Step::SurpriseRemove {})) {
                steps.push(Step::AddDevice {});
            }
        }
    }
    steps
}

/// Returns the steps that end what a sequence has left open of files, ports and connections.
fn closed(sequence: &[Step]) -> Vec<Step> {
    let has = |wanted: fn(&Step) -> bool| sequence.iter().any(wanted);
    let has_file =
        |wanted: fn(&FileStep) -> bool| sequence.iter().any(|step| matches!(step, Step::File { step } if wanted(step)));
    let file = |step: FileStep| Step::File { step };
    let ends = [
        (has_file(|step| step.open().is_some()), file(FileStep::Close {})),
        (has_file(|step| matches!(step, FileStep::Connect { .. })), file(FileStep::Disconnect {})),
        (has(|step| matches!(step, Step::Connect { .. })), Step::Disconnect {}),
        (has_file(|step| matches!(step, FileStep::Detach {})), file(FileStep::Attach {})),
    ];
    ends.into_iter().filter_map(|(is_open, end)| is_open.then_some(end)).collect()
}

#[cfg(test)]
mod tests {
    use nt_machine::{IoRequest, RequestKind};

    use super::{Environment, Input, join};
    use crate::steps::Step;

    fn control(output: u32) -> IoRequest {
        IoRequest {
            kind: RequestKind::DEVICE_CONTROL,
            code: 0x0022_2004,
            input: vec![1, 0xAB],
            output,
            ..IoRequest::default()
        }
    }

    #[test]
    fn an_input_is_a_command_line() {
        let steps = vec![
            Step::Open { name: None },
            Step::Open { name: Some(r"\\.\Name".into()) },
            Step::Request { request: control(16) },
            Step::Begin { request: control(4096) },
            Step::Request { request: IoRequest { code: 0x0022_2005, output_data: vec![7; 2], ..control(8) } },
            Step::Request { request: IoRequest { code: 0x0022_2005, output_data: vec![7; 2], ..control(2) } },
            Step::Cancel { number: 1 },
        ];
        let input = Input { environment: Environment::default(), steps };
        assert_eq!(
            input.command("a b.sys".as_ref()),
            r"nt-host run 'a b.sys' --open-device '--open=\\.\Name' --ioctl=222004:01ab/16 --begin-ioctl=222004:01ab --ioctl=222005:01ab/8:0707 --ioctl=222005:01ab/:0707 --cancel=1 --virtual-time --cancel-after=250ms"
        );
    }

    #[test]
    fn sequences_are_joined_with_their_own_files_and_requests() {
        let open = || Step::Open { name: None };
        let begin = || Step::Begin { request: control(0) };
        let first = [open(), begin(), Step::SurpriseRemove {}];
        let second = [open(), begin(), Step::Handle { number: 1 }, Step::Cancel { number: 1 }];
        let joined = join(&[&first, &second]);
        let expected = [
            open(),
            begin(),
            Step::SurpriseRemove {},
            Step::Cancel { number: 1 },
            Step::Handle { number: 1 },
            Step::Close {},
            Step::AddDevice {},
            open(),
            begin(),
            Step::Handle { number: 2 },
            Step::Cancel { number: 2 },
        ];
        assert_eq!(joined, expected);
    }
}
