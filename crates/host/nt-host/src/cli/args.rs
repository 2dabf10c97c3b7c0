//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use etw_types::NtStatus;
use nt_machine::{Below, IoRequest, RequestKind, Time};

use crate::{Failure, Os};

/// The help text, with the releases of Windows.
pub(super) fn help() -> String {
    format!("{HELP}\n\nreleases of Windows for --os, by any of these names or by the build:\n{}", Os::list())
}

/// Room for the output of a control request.
const OUTPUT: u32 = 4096;

const HELP: &str = "\
Runs a Windows kernel driver natively, and says what it does wrong.

usage: nt-host run FILE.sys [options]     load it, give it a device, send requests, let time pass, unload it
       nt-host matrix FILE.sys [options]  the same again and again, each time with another routine failing
       nt-host list FILE.sys [--os OS]    say which of its imports are here
       nt-host list --all [--os OS]       every routine, how far it goes (full, fixed answer, missing)

options:
  --os RELEASE                   the Windows that is imitated, from the list below (win11-24h2)
  --hide ROUTINE                 this Windows lacks a routine
  --fail ROUTINE[=STATUS][@N]    a routine fails, at its N-th call or always; STATUS as C000009A
  --seed N                       routines fail now and then, the same ones for the same N; for matrix, how many seeds
  --below KIND[:CODE]=STATUS[:HEX][@MILLISECONDS]
                                 what the device below does with ioctl, internal-ioctl, read, write or any requests: the
                                 status they end with (0, C0000001), what they return, how long they take
  --capture-state                then ask the driver's providers for their state
  --advance MILLISECONDS         time that passes before the driver is unloaded (2500)
  --timeout SECONDS              how long the driver may take for one request, on the wall (20)
  --memory MIB                   how much memory the driver's allocations may take together (4096)
  --real-time                    let it pass as on the wall; else things take as long as they take, and waiting no time
  --virtual-time                 only waiting takes time, so that each run is the same; always so for matrix and --seed
  --races                        write each event as late as can be
  --stacks                       record the calls that led to each event
  --no-device                    load and unload only
  --no-debug-output              leave out what the driver printed with DbgPrint
  --etl FILE                     write the events to a trace file
  --json                         a report for programs

what clients do, in the order of the command line:
  --open NAME                    open a device by its name or symbolic link: \\\\.\\Name, \\Device\\Name
  --handle N                     what follows goes to the N-th device that was opened; without it, to the last one
  --close                        close it
  --ioctl CODE[:HEX]             send a control request; without an open device, one is opened for each request
  --internal-ioctl CODE[:HEX]    send an internal control request
  --read BYTES                   send a read request
  --write HEX                    send a write request
  --wait MILLISECONDS            let time pass

exit codes: 0 clean; 1 not loaded, or DriverEntry failed; 2 bad usage, no driver, or a file that cannot be written;
  3 findings, a bug check, or a request that could not be sent; 4 incomplete: events or findings were lost, or the
  driver's process ended; 130 interrupted";

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Open(String),
    /// Goes on with the device that was opened as this one, counted from 1.
    Handle(usize),
    Close,
    Request(IoRequest),
    Wait(Duration),
}

/// What a run is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) path: PathBuf,
    pub(super) os: Os,
    pub(super) hide: Vec<String>,
    pub(super) fail: Vec<Failure>,
    pub(super) seed: Option<u64>,
    pub(super) steps: Vec<Step>,
    pub(super) below: Vec<Below>,
    pub(super) capture_state: bool,
    pub(super) advance: Duration,
    pub(super) timeout: Option<Duration>,
    pub(super) memory: Option<u64>,
    pub(super) time: Option<Time>,
    pub(super) races: bool,
    pub(super) stacks: bool,
    pub(super) device: bool,
    pub(super) debug_output: bool,
    pub(super) etl: Option<PathBuf>,
    pub(super) json: bool,
    /// Not about a driver: everything.
    pub(super) all: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Run(Options),
    List(PathBuf, Os),
    ListAll(Os),
    Matrix(Options),
}

pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.peekable();
    let command = arguments.next().unwrap_or_default();
    let command = text(&command)?;
    if matches!(command, "" | "help" | "-h" | "--help") || arguments.peek().is_some_and(|next| next == "--help") {
        return Ok(Command::Help);
    }
    if !matches!(command, "run" | "list" | "matrix") {
        return Err(format!("unknown command `{command}`"));
    }
    let options = options(arguments)?;
    if options.all && command != "list" {
        return Err("`--all` is for `nt-host list`".into());
    }
    Ok(match command {
        "run" => Command::Run(options),
        "matrix" => Command::Matrix(options),
        _ if options.all => Command::ListAll(options.os),
        _ => Command::List(options.path, options.os),
    })
}

fn options(mut arguments: impl Iterator<Item = OsString>) -> Result<Options, String> {
    let mut options = Options {
        path: PathBuf::new(),
        os: Os::default(),
        hide: Vec::new(),
        fail: Vec::new(),
        seed: None,
        steps: Vec::new(),
        below: Vec::new(),
        capture_state: false,
        advance: Duration::from_millis(2500),
        timeout: None,
        memory: None,
        time: None,
        races: false,
        stacks: false,
        device: true,
        debug_output: true,
        etl: None,
        json: false,
        all: false,
    };
    while let Some(argument) = arguments.next() {
        let word = argument.to_string_lossy();
        let mut path = || arguments.next().ok_or_else(|| format!("`{word}` needs a value"));
        let mut value = || path().and_then(|value| text(&value).map(String::from));
        match word.as_ref() {
            "--os" => options.os = os(&value()?)?,
            "--hide" => options.hide.push(value()?),
            "--fail" => options.fail.push(failure(&value()?)?),
            "--seed" => options.seed = Some(number(&value()?)?),
            "--below" => options.below.push(below(&value()?)?),
            "--open" => options.steps.push(Step::Open(value()?)),
            "--handle" => options.steps.push(Step::Handle(handle(&value()?)?)),
            "--close" => options.steps.push(Step::Close),
            "--ioctl" => options.steps.push(control(RequestKind::DEVICE_CONTROL, &value()?)?),
            "--internal-ioctl" => options.steps.push(control(RequestKind::INTERNAL_DEVICE_CONTROL, &value()?)?),
            "--read" => options.steps.push(read(&value()?)?),
            "--write" => options.steps.push(write(&value()?)?),
            "--wait" => options.steps.push(Step::Wait(Duration::from_millis(number(&value()?)?))),
            "--advance" => options.advance = Duration::from_millis(number(&value()?)?),
            "--memory" => options.memory = Some(number(&value()?)?.saturating_mul(1 << 20)),
            "--timeout" => options.timeout = Some(Duration::from_secs(number(&value()?)?)),
            "--capture-state" => options.capture_state = true,
            "--real-time" => options.time = Some(Time::Real),
            "--virtual-time" => options.time = Some(Time::Virtual),
            "--races" => options.races = true,
            "--stacks" => options.stacks = true,
            "--no-device" => options.device = false,
            "--no-debug-output" => options.debug_output = false,
            "--etl" => options.etl = Some(path()?.into()),
            "--json" => options.json = true,
            "--all" => options.all = true,
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            _ if options.path.as_os_str().is_empty() => options.path = PathBuf::from(&argument),
            _ => return Err(format!("`{word}` is one file too many")),
        }
    }
    if options.path.as_os_str().is_empty() && !options.all { Err("no file given".into()) } else { Ok(options) }
}

/// What is no name of a file has to be text.
fn text(word: &OsStr) -> Result<&str, String> {
    word.to_str().ok_or_else(|| format!("`{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii()))
}

fn os(text: &str) -> Result<Os, String> {
    text.parse().map_err(|error: windows_releases::UnknownRelease| error.to_string())
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number"))
}

fn failure(text: &str) -> Result<Failure, String> {
    let (rest, call) = match text.split_once('@') {
        Some((rest, call)) => (rest, Some(number(call)?)),
        None => (text, None),
    };
    let (routine, status) = match rest.split_once('=') {
        Some((routine, status)) => {
            let digits = status.trim_start_matches("0x");
            let number = u32::from_str_radix(digits, 16).map_err(|_| format!("`{status}` is no status"))?;
            if number < 0x8000_0000 {
                return Err(format!("`{status}` is no status of a failure"));
            }
            let status = number;
            (routine, Some(NtStatus::from_int(status)))
        }
        None => (rest, None),
    };
    if routine.is_empty() || call == Some(0) {
        return Err(format!("`{text}` names no call"));
    }
    Ok(Failure { routine: routine.to_owned(), status, call })
}

fn control(kind: RequestKind, text: &str) -> Result<Step, String> {
    let (code, data) = text.split_once(':').unwrap_or((text, ""));
    let digits = code.trim_start_matches("0x");
    let code = u32::from_str_radix(digits, 16).map_err(|_| format!("`{code}` is no control code in hexadecimal"))?;
    Ok(Step::Request(IoRequest { kind, code, input: bytes(data)?, output: OUTPUT }))
}

fn read(text: &str) -> Result<Step, String> {
    let output = u32::try_from(number(text)?).map_err(|_| format!("`{text}` bytes are too many to read"))?;
    Ok(Step::Request(IoRequest { kind: RequestKind::READ, output, ..IoRequest::default() }))
}

fn write(text: &str) -> Result<Step, String> {
    Ok(Step::Request(IoRequest { kind: RequestKind::WRITE, input: bytes(text)?, ..IoRequest::default() }))
}

fn handle(text: &str) -> Result<usize, String> {
    let number = usize::try_from(number(text)?).ok().filter(|number| *number != 0);
    number.ok_or_else(|| format!("`{text}` is no handle: they count from 1"))
}

/// `KIND[:CODE]=STATUS[:HEX][@MILLISECONDS]`.
fn below(text: &str) -> Result<Below, String> {
    let bad =
        || format!("`{text}` does not say what the device below does: expected for example ioctl:222000=0:0102@10");
    let (wanted, response) = text.split_once('=').ok_or_else(bad)?;
    let (kind, code) = wanted.split_once(':').map_or((wanted, None), |(kind, code)| (kind, Some(code)));
    let kind = match kind {
        "any" => None,
        "ioctl" => Some(RequestKind::DEVICE_CONTROL),
        "internal-ioctl" => Some(RequestKind::INTERNAL_DEVICE_CONTROL),
        "read" => Some(RequestKind::READ),
        "write" => Some(RequestKind::WRITE),
        _ => return Err(bad()),
    };
    let hexadecimal = |digits: &str| u32::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|_| bad());
    let (response, delay) = response.split_once('@').map_or((response, "0"), |(response, delay)| (response, delay));
    let (status, output) = response.split_once(':').unwrap_or((response, ""));
    Ok(Below {
        kind,
        code: code.map(hexadecimal).transpose()?,
        status: NtStatus::from_int(hexadecimal(status)?),
        output: bytes(output)?,
        delay: Duration::from_millis(number(delay)?),
    })
}

fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.ok_or_else(|| format!("`{text}` is no data in hexadecimal"))
}

#[cfg(test)]
mod tests {
    use super::{Command, OUTPUT, Step, parse};
    use crate::Failure;
    use etw_types::NtStatus;
    use nt_machine::{IoRequest, RequestKind};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn words(line: &str) -> impl Iterator<Item = OsString> {
        line.split_whitespace().map(OsString::from).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn files_may_have_names_that_are_no_text() {
        let odd = |name: &[u8]| OsString::from_vec(name.to_vec());
        let line = words("run").chain([odd(b"a\xFF.sys"), "--etl".into(), odd(b"b\xFF.etl")]);
        let Ok(Command::Run(options)) = parse(line) else { panic!("a run") };
        assert_eq!(options.path.as_os_str(), odd(b"a\xFF.sys"));
        assert_eq!(options.etl.unwrap_or_default().as_os_str(), odd(b"b\xFF.etl"));
        for line in [words("run a --hide"), words("")] {
            assert_eq!(parse(line.chain([odd(b"X\xFF")])), Err("`X\\xff` is not valid UTF-8".into()));
        }
    }

    #[test]
    fn a_run_is_described() {
        let line = "run a.sys --os win7 --hide X --fail Y=C000009A@2 --ioctl 222000:0aff --seed 0x10 --json";
        let Ok(Command::Run(options)) = parse(words(line)) else { panic!("a run") };
        assert_eq!(options.os.name(), "win7");
        let kind = RequestKind::DEVICE_CONTROL;
        let request = IoRequest { kind, code: 0x222_000, input: vec![0x0A, 0xFF], output: OUTPUT };
        assert_eq!(options.steps, [Step::Request(request)]);
        let status = Some(NtStatus::InsufficientResources);
        assert_eq!(options.fail, [Failure { routine: "Y".into(), status, call: Some(2) }]);
        assert_eq!((options.seed, options.json), (Some(16), true));
    }

    #[test]
    fn what_clients_do_keeps_its_order() {
        let line = r"run a.sys --open \\.\A --read 16 --wait 5 --open \\.\B --write 01 --handle 1 --close";
        let Ok(Command::Run(options)) = parse(words(line)) else { panic!("a run") };
        let [Step::Open(_), Step::Request(read), Step::Wait(_), Step::Open(name), Step::Request(write), rest @ ..] =
            options.steps.as_slice()
        else {
            panic!("{:?}", options.steps)
        };
        assert_eq!((read.kind, read.output, write.input.as_slice()), (RequestKind::READ, 16, [1].as_slice()));
        assert_eq!((name.as_str(), rest), (r"\\.\B", [Step::Handle(1), Step::Close].as_slice()));
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        for (line, reason) in [
            ("fly", "unknown command `fly`"),
            ("run", "no file given"),
            ("run a b", "`b` is one file too many"),
            ("run --all", "`--all` is for `nt-host list`"),
            (
                "run a --below ioctl",
                "`ioctl` does not say what the device below does: expected for example ioctl:222000=0:0102@10",
            ),
            ("run a --handle 0", "`0` is no handle: they count from 1"),
            ("run a --read 0x100000000", "`0x100000000` bytes are too many to read"),
            ("run a --write 1", "`1` is no data in hexadecimal"),
            ("run a --ioctl zz", "`zz` is no control code in hexadecimal"),
            ("run a --ioctl 1:abc", "`abc` is no data in hexadecimal"),
            ("run a --fail X@0", "`X@0` names no call"),
            ("run a --fail", "`--fail` needs a value"),
            ("run a --fail X=0", "`0` is no status of a failure"),
            ("run a --fail X=maybe", "`maybe` is no status"),
            ("run a --fail X@two", "`two` is no number"),
            ("run a --seed many", "`many` is no number"),
            ("run a --wings", "unknown option `--wings`"),
        ] {
            assert_eq!(parse(words(line)), Err(reason.into()), "{line}");
        }
    }
}
