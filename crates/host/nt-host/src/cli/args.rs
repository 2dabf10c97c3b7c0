//! The command line, parsed by clap.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use command_line::units::{duration, size};
use command_line::{VERSION, Words, exit};
use etw_types::NtStatus;
use nt_machine::{Below, RegistryKey, RegistryValue, RequestKind, Resource, Time};

use super::framework::Framework;
use super::steps::{Steps, bytes, number};
use crate::suggest::suggestion;
use crate::{Failure, GapKind, Os};

/// Returns the text at the end of help pages.
fn notes() -> String {
    format!("{}\n\nReleases of Windows for --os, by any of these names or by the build:\n{}", exit::HELP, Os::list())
}

/// Runs a Windows kernel driver natively and reports its mistakes.
#[derive(Debug, Parser, PartialEq, Eq)]
#[command(name = "nt-host", version = VERSION, max_term_width = 120, disable_help_subcommand = true, after_help = notes())]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The subcommands.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub(super) enum Command {
    /// Load a driver, add a device, send requests, let time pass, and unload the driver
    #[command(after_help = format!(
        "Examples:\n  nt-host run my_driver.sys --ioctl 22E000:6869 --etl trace.etl\n  \
         nt-host run my_driver.sys --os win10-1809 --fail EtwRegister=C000009A --json\n  \
         nt-host run my_driver.sys --open \\\\.\\Name --read 16 --wait 20ms --close\n\n{}",
        notes()
    ))]
    Run {
        /// Print the command that attaches a debugger, and wait for the debugger before `DriverEntry`
        #[arg(long)]
        debug: bool,
        /// What to run
        #[command(flatten)]
        options: Box<Options>,
    },
    /// Fail each fallible call in turn, then calls at random
    #[command(after_help = format!("Example:\n  nt-host matrix my_driver.sys --ioctl 22E000:6869 --seed 5\n\n{}", notes()))]
    Matrix(Box<Options>),
    /// Send the driver requests that are made up, and report its mistakes with the commands that reproduce them
    #[command(after_help = format!(
        "Examples:\n  nt-host fuzz my_driver.sys --time 5m --jobs 2\n  \
         nt-host fuzz my_driver.sys --executions 100000 --seed 1 --json\n\n{}",
        notes()
    ))]
    Fuzz(Box<FuzzOptions>),
    /// Run the driver on the imitated framework and on Microsoft's own, and print where they differ
    #[command(after_help = format!(
        "Example:\n  nt-host compare my_driver.sys --framework frameworks/1.33 --ioctl 22E000:6869\n\n{}",
        notes()
    ))]
    Compare(Box<Options>),
    /// Keep copies of Microsoft's framework, which --framework then finds by version
    Framework {
        /// What to do
        #[command(subcommand)]
        command: Framework,
    },
    /// Show how far the host implements a driver's imports, or every routine
    #[command(after_help = format!("Examples:\n  nt-host list my_driver.sys --os win7\n  nt-host list --all --json\n\n{}", notes()))]
    List(List),
}

/// The arguments of `fuzz`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct FuzzOptions {
    /// Stop after this time
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(super) time: Duration,
    /// Stop after this many sequences of requests; with --jobs 1 and --seed, such a session is always the same
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "time")]
    pub(super) executions: Option<u64>,
    /// Run the driver in this many processes at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) jobs: u32,
    /// The folder for the corpus and the findings (default: the driver's name with .fuzz)
    #[arg(long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// The folder with the inputs of earlier sessions, which also gets those of this one (default: corpus in the output)
    #[arg(long, value_name = "DIR")]
    pub(super) corpus: Option<PathBuf>,
    /// Describes the driver's requests, in TOML
    #[arg(long, value_name = "FILE")]
    pub(super) grammar: Option<PathBuf>,
    #[command(flatten)]
    pub(super) run: Options,
}

/// The arguments of `list`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// The driver's image
    #[arg(value_name = "FILE.sys", required_unless_present = "all")]
    pub(super) path: Option<PathBuf>,
    /// List every routine: implemented in full, with a fixed result, missing
    #[arg(long, conflicts_with = "path")]
    pub(super) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Imitate this Windows release, from the list below
    #[arg(long, value_name = "RELEASE", default_value_t, value_parser = releases(), hide_possible_values = true)]
    pub(super) os: Os,
}

/// The options of a run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct Options {
    /// The driver's image
    #[arg(value_name = "FILE.sys")]
    pub(super) path: PathBuf,
    /// Imitate this Windows release, from the list below
    #[arg(long, value_name = "RELEASE", default_value_t, value_parser = releases(), hide_possible_values = true)]
    pub(super) os: Os,
    /// Load another image before the driver, for example one that exports routines to it; repeatable
    #[arg(long, value_name = "FILE.sys")]
    pub(super) with: Vec<PathBuf>,
    /// Use this framework in place of the imitation: Wdf01000.sys of a Windows machine, a folder with it, or a version
    /// that `nt-host framework add` has copied
    #[arg(long, value_name = "DIR|FILE|VERSION")]
    pub(super) framework: Option<PathBuf>,
    /// Switch on the verifier of that framework for the driver
    #[arg(long, requires = "framework")]
    pub(super) framework_verifier: bool,
    /// Hide a routine, as if this Windows did not have it; repeatable
    #[arg(long, value_name = "ROUTINE")]
    pub(super) hide: Vec<String>,
    /// Make a routine fail, at its N-th call or always; STATUS as in C000009A; repeatable
    #[arg(long, value_name = "ROUTINE[=STATUS][@N]", value_parser = failure)]
    pub(super) fail: Vec<Failure>,
    /// Accept a gap that the run intends: not-added, not-started, not-reached, not-removed, not-failed; repeatable
    #[arg(long, value_name = "GAP", value_parser = gap)]
    pub(super) allow: Vec<GapKind>,
    /// Make routines fail at random, the same ones for the same N; for matrix, the number of seeds; for fuzz, the seed of
    /// all random choices
    #[arg(long, value_name = "N", value_parser = number)]
    pub(super) seed: Option<u64>,
    /// Set how the device below completes requests (ioctl, internal-ioctl, read, write or any): status (0, C0000001),
    /// data and delay; repeatable
    #[arg(long, value_name = "KIND[:CODE]=STATUS[:HEX][@TIME]", value_parser = below)]
    pub(super) below: Vec<Below>,
    /// Set how a device of another driver, which this driver opens by name, completes requests; repeatable
    #[arg(long, value_name = "NAME,KIND[:CODE]=STATUS[:HEX][@TIME]", value_parser = remote)]
    pub(super) remote: Vec<Below>,
    /// Give the device a hardware resource: line, messages:COUNT, memory:START:LENGTH, port:START:LENGTH;
    /// repeatable
    #[arg(long, value_name = "RESOURCE", value_parser = resource)]
    pub(super) resource: Vec<Resource>,
    /// Set a registry value, for example device\PortName=COM5 or parameters\Level=dword:3; keys: parameters, device,
    /// driver, or a full path; types: text (default), dword, qword, hex; repeatable
    #[arg(long, value_name = "KEY\\NAME=[TYPE:]VALUE", value_parser = registry)]
    pub(super) registry: Vec<Registry>,
    /// Copy a folder to the root of the volume, for --file; repeatable
    #[arg(long, value_name = "DIR")]
    pub(super) volume: Vec<PathBuf>,
    /// Ask the driver's providers to log their state after the requests
    #[arg(long)]
    pub(super) capture_state: bool,
    /// Let this much time pass before the unload
    #[arg(long, value_name = "TIME", default_value = "2500ms", value_parser = duration)]
    pub(super) advance: Duration,
    /// Stop the run if the driver needs longer than this for one request, in real time (default: 20s)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Fail allocations beyond this total size (default: 4GiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) memory: Option<u64>,
    /// Use real time; by default, code runs at its real speed, and waits are skipped
    #[arg(long, conflicts_with = "virtual_time")]
    real_time: bool,
    /// Use virtual time: only waits advance the clock, so every run is the same; matrix and --seed always use it
    #[arg(long)]
    virtual_time: bool,
    /// Delay each event as long as possible, to expose races with unregistering
    #[arg(long)]
    pub(super) races: bool,
    /// Record the call stack of each event
    #[arg(long)]
    pub(super) stacks: bool,
    /// Only load and unload the driver
    #[arg(long = "no-device", action = ArgAction::SetFalse)]
    pub(super) device: bool,
    /// Keep at most this much debug output; count and drop the rest (default: 4MiB)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) debug_output_limit: Option<u64>,
    /// Omit the driver's debug output (`DbgPrint`)
    #[arg(long = "no-debug-output", action = ArgAction::SetFalse)]
    pub(super) debug_output: bool,
    /// Write the events to a trace file
    #[arg(long, value_name = "FILE")]
    pub(super) etl: Option<PathBuf>,
    /// Record which code of the driver runs; write its source lines to a file: a page for the browser (.html) or lcov (.info)
    #[arg(long, value_name = "FILE")]
    #[expect(clippy::option_option, reason = "the option and its value are both optional")]
    pub(super) coverage: Option<Option<PathBuf>>,
    /// Print a machine-readable report
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) steps: Steps,
}

impl Options {
    /// Returns how time passes, if the command line sets it.
    pub(super) const fn time(&self) -> Option<Time> {
        match (self.real_time, self.virtual_time) {
            (true, _) => Some(Time::Real),
            (_, true) => Some(Time::Virtual),
            _ => None,
        }
    }
}

fn releases() -> Words<Os> {
    Words::new(Os::NAMES, |text| {
        text.parse()
            .map_err(|error: windows_releases::UnknownRelease| error.to_string() + &suggestion(text, &Os::NAMES))
    })
}

fn gap(text: &str) -> Result<GapKind, String> {
    // The exit code of a driver that is not loaded, or of a run that ends early, does not depend on gaps.
    let known = || GapKind::ALL.iter().filter(|kind| !matches!(kind, GapKind::NotLoaded | GapKind::NotFinished));
    known().find(|kind| kind.id() == text).copied().ok_or_else(|| {
        let names: Vec<&str> = known().map(|kind| kind.id()).collect();
        format!("`{text}` is not a gap: expected {}{}", names.join(", "), suggestion(text, &names))
    })
}

fn failure(text: &str) -> Result<Failure, String> {
    let (rest, call) = match text.split_once('@') {
        Some((rest, call)) => (rest, Some(number(call)?)),
        None => (text, None),
    };
    let (routine, status) = match rest.split_once('=') {
        Some((routine, status)) => {
            let digits = status.trim_start_matches("0x");
            let number = u32::from_str_radix(digits, 16)
                .map_err(|_| format!("`{status}` is not a status: expected for example C000009A"))?;
            if number < 0x8000_0000 {
                return Err(format!(
                    "`{status}` is not a failure status: expected 80000000 or higher, for example C000009A"
                ));
            }
            let status = number;
            (routine, Some(NtStatus::from_int(status)))
        }
        None => (rest, None),
    };
    if routine.is_empty() || call == Some(0) {
        return Err(format!(
            "`{text}` does not select a call: expected a routine and a call from 1 on, for example EtwRegister@2"
        ));
    }
    Ok(Failure { routine: routine.to_owned(), status, call })
}

fn resource(text: &str) -> Result<Resource, String> {
    let bad = || {
        let kind = text.split(':').next().unwrap_or_default();
        let near = suggestion(kind, &["line", "messages", "memory", "port"]);
        format!("`{text}` is not a resource: expected line, messages:4, memory:0xFE000000:0x1000 or port:0x3F8:8{near}")
    };
    let size = |text: &str| number(text).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(bad);
    match *text.split(':').collect::<Vec<_>>() {
        ["line"] => Ok(Resource::LineInterrupt),
        ["messages", count] => Ok(Resource::MessageInterrupts(size(count)?)),
        ["memory", start, length] => Ok(Resource::Memory { start: number(start)?, length: size(length)? }),
        ["port", start, length] => Ok(Resource::Port { start: number(start)?, length: size(length)? }),
        _ => Err(bad()),
    }
}

/// The argument of `--registry`: the key, the name of the value, and the value.
type Registry = (RegistryKey, String, RegistryValue);

fn registry(text: &str) -> Result<Registry, String> {
    let bad = || {
        format!(
            r"`{text}` is not a value of the registry: expected for example device\PortName=COM5 or parameters\Level=dword:3"
        )
    };
    let (place, value) = text.split_once('=').ok_or_else(bad)?;
    let (key, name) = place.rsplit_once('\\').filter(|(_, name)| !name.is_empty()).ok_or_else(bad)?;
    let key = match key {
        "parameters" => RegistryKey::Parameters,
        "device" => RegistryKey::Device,
        "driver" => RegistryKey::Driver,
        path if path.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(r"\Registry\")) => {
            RegistryKey::Path(path.to_owned())
        }
        _ => {
            let near = suggestion(key, &["parameters", "device", "driver"]);
            let keys = r"parameters, device, driver or a path that begins with \Registry\";
            return Err(format!("`{key}` is not a key of the registry: expected {keys}{near}"));
        }
    };
    let value = match value.split_once(':') {
        Some(("dword", value)) => RegistryValue::Dword(u32::try_from(number(value)?).map_err(|_| bad())?),
        Some(("qword", value)) => RegistryValue::Qword(number(value)?),
        Some(("hex", value)) => RegistryValue::Binary(bytes(value)?),
        Some(("text", value)) => RegistryValue::Text(value.to_owned()),
        _ => RegistryValue::Text(value.to_owned()),
    };
    Ok((key, name.to_owned(), value))
}

/// The kinds of requests that can be scripted.
const KINDS: [&str; 5] = ["any", "ioctl", "internal-ioctl", "read", "write"];

/// Parses `KIND[:CODE]=STATUS[:HEX][@TIME]`.
fn below(text: &str) -> Result<Below, String> {
    let bad =
        || format!("`{text}` does not describe how requests complete: expected for example ioctl:222000=0:0102@10ms");
    let (wanted, response) = text.split_once('=').ok_or_else(bad)?;
    let (kind, code) = wanted.split_once(':').map_or((wanted, None), |(kind, code)| (kind, Some(code)));
    let kind = match kind {
        "any" => None,
        "ioctl" => Some(RequestKind::DEVICE_CONTROL),
        "internal-ioctl" => Some(RequestKind::INTERNAL_DEVICE_CONTROL),
        "read" => Some(RequestKind::READ),
        "write" => Some(RequestKind::WRITE),
        _ => {
            let near = suggestion(kind, &KINDS);
            return Err(format!("`{kind}` is not a kind of request: expected {}{near}", KINDS.join(", ")));
        }
    };
    let hexadecimal = |digits: &str| u32::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|_| bad());
    let (response, delay) = response.split_once('@').map_or((response, "0"), |(response, delay)| (response, delay));
    let (status, output) = response.split_once(':').unwrap_or((response, ""));
    Ok(Below {
        device: None,
        kind,
        code: code.map(hexadecimal).transpose()?,
        status: NtStatus::from_int(hexadecimal(status)?),
        output: bytes(output)?,
        delay: duration(delay)?,
    })
}

/// Parses `NAME,` followed by the text that [`below`] parses.
fn remote(text: &str) -> Result<Below, String> {
    let (name, script) = text.split_once(',').filter(|(name, _)| name.starts_with('\\')).ok_or_else(|| {
        format!(r"`{text}` does not begin with a device name: expected for example \Device\Name,ioctl:222000=0:0102")
    })?;
    Ok(Below { device: Some(name.to_owned()), ..below(script)? })
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Command, Options};
    use crate::Failure;
    use crate::wire::{OUTPUT, Step};
    use clap::{CommandFactory as _, Parser as _};
    use etw_types::NtStatus;
    use nt_machine::{IoRequest, RegistryKey, RegistryValue, RequestKind, Time};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn parse(line: &str, last: &[OsString]) -> Result<Command, String> {
        let words =
            ["nt-host"].into_iter().chain(line.split_whitespace()).map(OsString::from).chain(last.iter().cloned());
        Arguments::try_parse_from(words).map(|arguments| arguments.command).map_err(|error| error.to_string())
    }

    fn run(line: &str, last: &[OsString]) -> Options {
        let Ok(Command::Run { options, .. }) = parse(line, last) else { panic!("a run") };
        *options
    }

    #[test]
    fn the_description_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn file_names_need_not_be_valid_utf_8() {
        let odd = |name: &[u8]| OsString::from_vec(name.to_vec());
        let options = run("run", &[odd(b"a\xFF.sys"), "--etl".into(), odd(b"b\xFF.etl")]);
        assert_eq!(options.path.as_os_str(), odd(b"a\xFF.sys"));
        assert_eq!(options.etl.unwrap_or_default().as_os_str(), odd(b"b\xFF.etl"));
        let error = parse("run a --hide", &[odd(b"X\xFF")]).unwrap_err();
        assert!(error.contains("invalid UTF-8"), "{error}");
    }

    #[test]
    fn a_run_is_described() {
        let line =
            "run a.sys --os win7 --hide X --fail Y=C000009A@2 --ioctl 222000:0aff --seed 0x10 --json --no-device";
        let options = run(line, &[]);
        assert_eq!(options.os.name(), "win7");
        let kind = RequestKind::DEVICE_CONTROL;
        let request = IoRequest { kind, code: 0x222_000, input: vec![0x0A, 0xFF], output: OUTPUT };
        assert_eq!(options.steps.of_device().unwrap(), [Step::Request { request }]);
        let status = Some(NtStatus::InsufficientResources);
        assert_eq!(options.fail, [Failure { routine: "Y".into(), status, call: Some(2) }]);
        assert_eq!((options.seed, options.json), (Some(16), true));
        assert_eq!((options.device, options.debug_output, options.time()), (false, true, None));
        assert_eq!(run("run a.sys --virtual-time", &[]).time(), Some(Time::Virtual));
    }

    #[test]
    fn values_of_the_registry_have_a_key_a_name_and_a_type() {
        let line = r"run a --registry device\PortName=COM5 --registry parameters\A=dword:0x10 --registry driver\B=text:hex:01 \
                     --registry \Registry\Machine\Software\K\C=hex:01ff --registry device\D=qword:7";
        let line = line.replace(" \\\n", " ");
        let values = run(&line, &[]).registry;
        let text = |text: &str| RegistryValue::Text(text.to_owned());
        let expected = [
            (RegistryKey::Device, "PortName", text("COM5")),
            (RegistryKey::Parameters, "A", RegistryValue::Dword(16)),
            (RegistryKey::Driver, "B", text("hex:01")),
            (RegistryKey::Path(r"\Registry\Machine\Software\K".to_owned()), "C", RegistryValue::Binary(vec![1, 255])),
            (RegistryKey::Device, "D", RegistryValue::Qword(7)),
        ];
        assert_eq!(values, expected.map(|(key, name, value)| (key, name.to_owned(), value)));
    }

    #[test]
    fn actions_of_clients_keep_their_order() {
        let line = r"run a.sys --open \\.\A --close --read 16 --wait 5ms --open \\.\B --write 01 --handle 1 --close";
        let steps = run(line, &[]).steps.of_device().unwrap();
        let [
            Step::Open { .. },
            Step::Close {},
            Step::Request { request: read },
            Step::Wait { .. },
            Step::Open { name },
            Step::Request { request: write },
            rest @ ..,
        ] = steps.as_slice()
        else {
            panic!("{steps:?}")
        };
        assert_eq!((read.kind, read.output, write.input.as_slice()), (RequestKind::READ, 16, [1].as_slice()));
        assert_eq!((name.as_deref(), rest), (Some(r"\\.\B"), [Step::Handle { number: 1 }, Step::Close {}].as_slice()));
    }

    #[test]
    fn every_step_is_an_option() {
        let request = IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x0022_2000, input: vec![1, 2], output: 7 };
        let read = IoRequest { kind: RequestKind::READ, output: 5, ..IoRequest::default() };
        let steps = vec![
            Step::Open { name: None },
            Step::Request { request: IoRequest { input: Vec::new(), output: 0, ..request.clone() } },
            Step::Request { request: IoRequest { kind: RequestKind::INTERNAL_DEVICE_CONTROL, ..request.clone() } },
            Step::Begin { request },
            Step::Begin { request: read },
            Step::Begin { request: IoRequest { kind: RequestKind::WRITE, input: vec![3], ..IoRequest::default() } },
            Step::Cancel { number: 2 },
            Step::Together { count: 2 },
            Step::FailNext { call: 3 },
            Step::Wait { time: 50_000 },
            Step::Interrupt { number: 1 },
            Step::Sleep {},
            Step::Wake {},
            Step::Rebalance {},
            Step::Remove {},
            Step::SurpriseRemove {},
            Step::AddDevice {},
            Step::Change { offset: 4, value: 0x1000 },
        ];
        let input = crate::Input { steps: steps.clone(), ..crate::Input::default() };
        let words: Vec<OsString> = input.options().into_iter().map(OsString::from).collect();
        assert_eq!(run("run a.sys", &words).steps.of_device().unwrap(), steps);
    }

    #[test]
    fn invalid_arguments_are_rejected_with_the_reason() {
        for (line, reason) in [
            ("fly", "unrecognized subcommand 'fly'"),
            ("rum a", "a similar subcommand exists: 'run'"),
            ("run", "<FILE.sys>"),
            ("list", "<FILE.sys>"),
            ("list a --all", "cannot be used with"),
            ("run a b", "unexpected argument 'b' found"),
            ("run --all", "unexpected argument '--all' found"),
            ("run a --real-time --virtual-time", "cannot be used with"),
            (
                "run a --below ioctl",
                "`ioctl` does not describe how requests complete: expected for example ioctl:222000=0:0102@10ms",
            ),
            ("run a --resource dma", "`dma` is not a resource: expected line, messages:4,"),
            ("run a --registry PortName=COM5", r"expected for example device\PortName=COM5"),
            (
                r"run a --registry elsewhere\A=1",
                "`elsewhere` is not a key of the registry: expected parameters, device, driver",
            ),
            (r"run a --registry Device\A=1", "; did you mean `device`?"),
            (
                "run a --below iocl:222000=0",
                "`iocl` is not a kind of request: expected any, ioctl, internal-ioctl, read, write; did you mean `ioctl`?",
            ),
            ("run a --resource message:2", "; did you mean `messages`?"),
            ("run a --allow not-startd", "not-failed; did you mean `not-started`?"),
            ("run a --allow not-finished", "`not-finished` is not a gap"),
            (r"run a --registry device\A=dword:0x100000000", "is not a value of the registry"),
            ("run a --interrupt first", "`first` is not a number"),
            (r"run a --remote Name,any=0", "`Name,any=0` does not begin with a device name: expected for example"),
            ("run a --handle 0", "`0` is not a handle: handles count from 1"),
            ("run a --read 0x100000000", "`0x100000000` is too many bytes for one read: expected at most 0xFFFFFFFF"),
            ("run a --write 1", "`1` is not hexadecimal data: expected two digits per byte, for example 0AFF"),
            ("run a --ioctl zz", "`zz` is not a hexadecimal control code: expected for example 222000"),
            ("run a --ioctl 1:abc", "`abc` is not hexadecimal data"),
            ("run a --fail X@0", "`X@0` does not select a call: expected a routine and a call from 1 on"),
            ("run a --fail", "a value is required for '--fail <ROUTINE[=STATUS][@N]>'"),
            ("run a --fail X=0", "`0` is not a failure status: expected 80000000 or higher, for example C000009A"),
            ("run a --fail X=maybe", "`maybe` is not a status: expected for example C000009A"),
            ("run a --fail X@two", "`two` is not a number"),
            ("run a --seed many", "`many` is not a number: expected for example 12 or 0x10"),
            ("run a --advance 2500", "expected a number with a unit, for example 2s, 20ms or 1m30s"),
            ("run a --stack", "a similar argument exists: '--stacks'"),
        ] {
            let error = parse(line, &[]).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
    }
}
