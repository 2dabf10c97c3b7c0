use super::{Arguments, Command, RunOptions};
use clap::{CommandFactory as _, Parser as _};
use etw_types::NtStatus;
use nt_host::Failure;
use nt_host::text::request::OUTPUT;
use nt_host::{Form, Step};
use nt_machine::{IoRequest, RegistryKey, RegistryValue, RequestKind, Time};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

fn parse(line: &str, last: &[OsString]) -> Result<Command, String> {
    let words = ["nt-host"].into_iter().chain(line.split_whitespace()).map(OsString::from).chain(last.iter().cloned());
    Arguments::try_parse_from(words).map(|arguments| arguments.command).map_err(|error| error.to_string())
}

fn run(line: &str, last: &[OsString]) -> RunOptions {
    let Ok(Command::Run(options)) = parse(line, last) else { panic!("a run") };
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
    assert_eq!(options.run.path.as_os_str(), odd(b"a\xFF.sys"));
    assert_eq!(options.etl, Some(odd(b"b\xFF.etl").into()));
    let error = parse("run a --hide", &[odd(b"X\xFF")]).unwrap_err();
    assert!(error.contains("invalid UTF-8"), "{error}");
}

#[test]
fn a_run_is_described() {
    let line = "run a.sys --os win7 --hide X --fail Y=C000009A@2 --ioctl 222000:0aff --seed 0x10 --json --no-device";
    let options = run(line, &[]);
    assert_eq!(options.run.release.os.name(), "win7");
    let kind = RequestKind::DEVICE_CONTROL;
    let request = IoRequest { kind, code: 0x222_000, input: vec![0x0A, 0xFF], output: OUTPUT, ..IoRequest::default() };
    assert_eq!(options.run.steps.0, [Step::Request { request }]);
    let status = Some(NtStatus::InsufficientResources);
    assert_eq!(options.run.fail, [Failure { routine: "Y".into(), status, call: Some(2) }]);
    assert_eq!(options.seed, Some(16));
    assert!(options.run.json);
    assert!(!options.lifecycle.device);
    assert!(options.debug_output);
    assert_eq!(options.run.time(), None);
    assert_eq!(run("run a.sys --virtual-time", &[]).run.time(), Some(Time::Virtual));
}

#[test]
fn values_of_the_registry_have_a_key_a_name_and_a_type() {
    let line = r"run a --registry device\PortName=COM5 --registry parameters\A=dword:0x10 --registry driver\B=text:hex:01 \
                 --registry \Registry\Machine\Software\K\C=hex:01ff --registry device\D=qword:7";
    let line = line.replace(" \\\n", " ");
    let values = run(&line, &[]).run.registry;
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
    let steps = run(line, &[]).run.steps.0;
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
    assert_eq!(read.kind, RequestKind::READ);
    assert_eq!(read.output, 16);
    assert_eq!(write.input.as_slice(), [1].as_slice());
    assert_eq!(name.as_deref(), Some(r"\\.\B"));
    assert_eq!(rest, [Step::Handle { number: 1 }, Step::Close {}].as_slice());
}

#[test]
fn every_step_is_an_option() {
    let options = |form: &Form<Step>| -> Vec<Step> {
        form.examples.iter().map(|example| form.read(example).expect("a value")).collect()
    };
    let steps: Vec<Step> = Step::forms().iter().flat_map(options).collect();
    let input = nt_host::Input { steps: steps.clone(), ..nt_host::Input::default() };
    let words: Vec<OsString> = input.options().into_iter().map(OsString::from).collect();
    assert_eq!(run("run a.sys", &words).run.steps.0, steps);
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
        (
            "run a --client-memory 0x10000000:01",
            "`0x10000000:01` is not memory: expected for example 0x10000000/64 or 0x10000000/:0AFF",
        ),
        ("run a --client-memory 0x10000000/", "`0x10000000/` is not memory"),
        ("run a --client-memory 0x10000000/0", "`0x10000000/0` is not memory"),
        ("run a --client-memory 0x10000000/1:0102", "a buffer of 1 bytes cannot hold 2"),
        ("run a --client-memory 0x10000000/0x1000001", "a client has at most 16 MiB"),
        ("run a --port 0x378", "`0x378` is not a port with values: expected for example 0x379=0x00,0x80"),
        ("run a --port 0x10000=1", "ports end at 0xFFFF"),
        ("run a --register 0xFE000010=one", "`one` is not a number"),
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
        // What a command would accept and not do.
        ("fuzz a --etl b", "unexpected argument '--etl'"),
        ("matrix a --etl b", "unexpected argument '--etl'"),
        ("compare a --etl b", "unexpected argument '--etl'"),
        ("compare a --coverage b", "unexpected argument '--coverage'"),
        ("compare a --seed 1", "unexpected argument '--seed'"),
        ("matrix a --stacks", "unexpected argument '--stacks'"),
        ("matrix a --no-debug-output", "unexpected argument '--no-debug-output'"),
        ("fuzz a --capture-state", "unexpected argument '--capture-state'"),
        ("fuzz a --advance 1s", "unexpected argument '--advance'"),
        ("fuzz a --no-device", "unexpected argument '--no-device'"),
        ("fuzz a --allow not-started", "unexpected argument '--allow'"),
        ("run a --no-device --advance 1s", "cannot be used with"),
        ("run a --debug --timeout 1s", "cannot be used with"),
        ("run a --stack", "a similar argument exists: '--stacks'"),
    ] {
        let error = parse(line, &[]).unwrap_err();
        assert!(error.contains(reason), "{line}: {error}");
    }
}
