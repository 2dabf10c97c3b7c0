//! Writes an input as the source of a test.

use std::fmt::Write as _;
use std::path::Path;

use nt_machine::{Below, IoRequest, RegistryKey, RegistryValue, RequestKind};

use super::input::{CANCEL_AFTER, Input};
use super::test_lines as lines;
use crate::wire::Step;

/// The start of a test.
const HEAD: &str = r#"use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{
    Below, Connection, Device, Error, File, IoRequest, NtHost, Packet, Passage, Port, RegistryKey, RegistryValue, RequestKind, VolumeFile,
};

#[test]
#[allow(unused, clippy::all, clippy::pedantic, reason = "generated code")]
"#;

impl Input {
    /// Returns the source of a test that does the same and fails while the driver makes the mistake.
    #[must_use]
    pub fn test(&self, name: &str, driver: &Path) -> String {
        let mut code = Code::default();
        code.line(&self.host(driver));
        code.line("// A driver that filters may have no device.");
        code.line("let mut device = match host.add_device() {");
        code.line("    Err(Error::Status(NtStatus::NoSuchDevice)) => None,");
        code.line("    device => Some(device?),");
        code.line("};");
        if self.steps.iter().any(Step::is_filtered) {
            code.line("let (mut file, mut position, mut port) = (None::<VolumeFile>, 0, None::<Port>);");
            code.line("let mut connections: Vec<Passage> = Vec::new();");
        }
        for step in &self.steps {
            if !matches!(step, Step::Request { .. } | Step::Handle { .. }) {
                code.send_together();
            }
            code.step(step);
        }
        code.send_together();
        if self.steps.iter().any(Step::is_filtered) {
            code.line("let _ = (file.map(VolumeFile::close), port.map(Port::close));");
        }
        code.line("let _ = host.advance(Duration::from_millis(2500));");
        code.line("let _ = device.map(Device::remove);");
        code.line("let _ = host.unload();");
        code.line("let report = host.report();");
        code.line("assert!(report.findings().is_empty(), \"{:#?}\", report.findings());");
        format!("{HEAD}fn {name}() -> Result<(), Error> {{\n{}    Ok(())\n}}\n", code.lines)
    }

    /// Returns the line that starts the host.
    fn host(&self, driver: &Path) -> String {
        let (driver, time) = (driver.display().to_string(), CANCEL_AFTER.as_millis());
        let mut line =
            format!("let host = NtHost::builder().driver({driver:?}).cancel_after(Duration::from_millis({time}))");
        for below in &self.environment.below {
            let _ = write!(line, ".below({})", self::below(below));
        }
        for (key, name, value) in &self.environment.registry {
            let _ = write!(line, ".registry({}, {name:?}, {})", self::key(key), self::value(value));
        }
        line + ".start()?;"
    }
}

/// The lines of a test, and the names of its variables.
#[derive(Default)]
struct Code {
    lines: String,
    files: u32,
    requests: u32,
    current: u32,
    /// The number of requests that are still to be sent at the same time, their schedule, and those so far.
    together: u32,
    schedule: u32,
    waiting: Vec<String>,
}

impl Code {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.lines, "    {line}");
    }

    fn step(&mut self, step: &Step) {
        // Without an open file, each request opens the device.
        let file = if self.current == 0 { "device".to_owned() } else { format!("file_{}", self.current) };
        match step {
            Step::Open { name } => {
                self.files += 1;
                self.current = self.files;
                let opened = match name {
                    Some(name) => format!("host.open({name:?}).ok()"),
                    None => "device.as_ref().and_then(|device| device.open().ok())".to_owned(),
                };
                self.line(&format!("let mut file_{} = {opened};", self.files));
            }
            Step::Handle { number } => self.current = *number,
            Step::Close {} if self.current == 0 => {}
            Step::Close {} => self.line(&format!("let _ = {file}.take().map(File::close);")),
            Step::Request { request } if self.together != 0 => self.add_to_group(&file, request),
            Step::Request { request } => {
                let call = call(request, "");
                self.line(&format!("let _ = {file}.as_ref().map(|file| file.{call});"));
            }
            Step::Begin { request } => {
                self.requests += 1;
                let (number, call) = (self.requests, call(request, "begin_"));
                self.line(&format!("let mut request_{number} = {file}.as_ref().and_then(|file| file.{call}.ok());"));
            }
            Step::Cancel { number } => {
                self.line(&format!("if let Some(request) = request_{number}.take() {{"));
                self.line("    let _ = request.cancel();");
                self.line("    let _ = request.wait();");
                self.line("}");
            }
            Step::Together { count, schedule } => (self.together, self.schedule) = (*count, *schedule),
            Step::FailNext { call } => self.line(&format!("let _ = host.fail_next({call});")),
            Step::AnswerNext { answer } => {
                let answer =
                    answer.as_ref().map_or_else(|| "None".to_owned(), |answer| format!("Some({})", below(answer)));
                self.line(&format!("let _ = host.answer_next({answer});"));
            }
            Step::Change { offset, value } => self.line(&format!("let _ = host.change_next({offset}, {value:#X});")),
            Step::Memory { address, data } => {
                self.line(&format!("let _ = host.client_memory({address:#X}, &{data:?});"));
            }
            Step::Wait { time } => {
                self.line(&format!("let _ = host.advance(Duration::from_nanos({}));", time.saturating_mul(100)));
            }
            Step::Interrupt { number } => {
                self.line(&format!("let _ = device.as_ref().map(|device| device.interrupt({number}));"));
            }
            Step::Sleep {} => self.line("let _ = device.as_ref().map(Device::sleep);"),
            Step::Wake {} => self.line("let _ = device.as_ref().map(Device::wake);"),
            Step::Rebalance {} => self.line("let _ = device.as_ref().map(Device::rebalance);"),
            Step::Remove {} => self.line("device = device.filter(|device| device.clone().remove().is_err());"),
            Step::SurpriseRemove {} => {
                self.line("device = device.filter(|device| device.clone().surprise_remove().is_err());");
            }
            Step::AddDevice {} => self.line("device = device.or_else(|| host.add_device().ok());"),
            Step::File { step } => lines::of_file(step).iter().for_each(|line| self.line(line)),
            step => self.line(&lines::of_traffic(step)),
        }
    }

    /// Adds a request to those that are sent at the same time.
    fn add_to_group(&mut self, file: &str, request: &IoRequest) {
        let IoRequest { kind, code, input, output, output_data } = request;
        let kind = match *kind {
            RequestKind::READ => "READ",
            RequestKind::WRITE => "WRITE",
            RequestKind::INTERNAL_DEVICE_CONTROL => "INTERNAL_DEVICE_CONTROL",
            _ => "DEVICE_CONTROL",
        };
        let data = if output_data.is_empty() { String::new() } else { format!(" output_data: vec!{output_data:?},") };
        let request = format!(
            "IoRequest {{ kind: RequestKind::{kind}, code: {code:#X}, input: vec!{input:?}, output: {output},{data} ..IoRequest::default() }}"
        );
        self.waiting.push(format!("{file}.as_ref().map(|file| (file, {request}))"));
        self.together -= 1;
        if self.together == 0 {
            self.send_together();
        }
    }

    fn send_together(&mut self) {
        self.together = 0;
        let requests = std::mem::take(&mut self.waiting).join(", ");
        if !requests.is_empty() {
            let schedule = self.schedule;
            self.line(&format!(
                "let _ = host.interleave({schedule}, &[{requests}].into_iter().flatten().collect::<Vec<_>>());"
            ));
        }
    }
}

/// Returns the call of a method of a file. `prefix` is that of the method.
fn call(request: &IoRequest, prefix: &str) -> String {
    let IoRequest { kind, code, input, output, output_data } = request;
    let prefix = match *kind {
        RequestKind::READ => return format!("{prefix}read({output})"),
        RequestKind::WRITE => return format!("{prefix}write(&{input:?})"),
        RequestKind::INTERNAL_DEVICE_CONTROL if prefix.is_empty() => "internal_",
        _ => prefix,
    };
    if output_data.is_empty() || !request.sends_output() {
        return format!("{prefix}ioctl({code:#X}, &{input:?}, {output})");
    }
    let rest = request.room() as usize - output_data.len();
    let buffer =
        if rest == 0 { format!("&{output_data:?}") } else { format!("&[&{output_data:?}[..], &[0; {rest}]].concat()") };
    format!("{prefix}ioctl_with_output({code:#X}, &{input:?}, {buffer})")
}

fn below(below: &Below) -> String {
    let kind = match below.kind {
        None => "None".to_owned(),
        Some(kind) => format!("Some(RequestKind::from_int({}))", kind.as_int()),
    };
    let device = below.device.as_ref().map_or_else(|| "None".to_owned(), |name| format!("Some({name:?}.into())"));
    format!(
        "Below {{ device: {device}, kind: {kind}, code: {:?}, status: NtStatus::from_int({:#X}), output: vec!{:?}, delay: Duration::from_nanos({}) }}",
        below.code,
        below.status.as_int(),
        below.output,
        below.delay.as_nanos()
    )
}

fn key(key: &RegistryKey) -> String {
    match key {
        RegistryKey::Path(path) => format!("RegistryKey::Path({path:?}.into())"),
        key => format!("RegistryKey::{key:?}"),
    }
}

fn value(value: &RegistryValue) -> String {
    match value {
        RegistryValue::Text(text) => format!("RegistryValue::Text({text:?}.into())"),
        RegistryValue::Binary(bytes) => format!("RegistryValue::Binary(vec!{bytes:?})"),
        value => format!("RegistryValue::{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use etw_types::NtStatus;
    use nt_machine::{Below, Connection, IoRequest, Packet, RegistryKey, RegistryValue, RequestKind};

    use super::Input;
    use crate::fuzz::input::Environment;
    use crate::wire::{FileStep, Step};

    /// `tests/it` compiles and runs this test.
    const FILE: &str = "tests/it/every_step.rs";

    #[test]
    fn every_step_becomes_a_line_of_a_test() {
        let control = IoRequest {
            kind: RequestKind::DEVICE_CONTROL,
            code: 0x0022_E000,
            input: vec![1, 2],
            output: 16,
            ..IoRequest::default()
        };
        let direct = IoRequest { code: 0x0022_E001, output_data: vec![7, 8], ..control.clone() };
        let read = IoRequest { kind: RequestKind::READ, output: 8, ..IoRequest::default() };
        let write = IoRequest { kind: RequestKind::WRITE, input: vec![3], ..IoRequest::default() };
        let internal = IoRequest { kind: RequestKind::INTERNAL_DEVICE_CONTROL, ..control.clone() };
        let (open, request) =
            (|| Step::Open { name: None }, |request: &IoRequest| Step::Request { request: request.clone() });
        let file = |step: FileStep| Step::File { step };
        let begin = |request: &IoRequest| Step::Begin { request: request.clone() };
        let (status, delay) = (NtStatus::InvalidParameter, Duration::from_millis(1));
        let below = Below { device: None, kind: Some(RequestKind::READ), code: None, status, output: vec![1], delay };
        let steps = vec![
            open(),
            request(&control),
            request(&internal),
            request(&read),
            request(&write),
            request(&direct),
            request(&IoRequest { output: 2, ..direct.clone() }),
            begin(&direct),
            begin(&control),
            begin(&read),
            begin(&write),
            Step::Cancel { number: 3 },
            open(),
            Step::Together { count: 2, schedule: 7 },
            request(&control),
            Step::Handle { number: 1 },
            request(&direct),
            Step::Close {},
            Step::Change { offset: 4, value: 0x1000 },
            Step::Memory { address: 0x1000_0000, data: vec![1, 2] },
            Step::FailNext { call: 1 },
            Step::AnswerNext { answer: Some(below.clone()) },
            Step::AnswerNext { answer: None },
            Step::Wait { time: 1_000_000 },
            Step::Interrupt { number: 0 },
            Step::Sleep {},
            Step::Wake {},
            Step::Rebalance {},
            Step::Remove {},
            Step::AddDevice {},
            Step::SurpriseRemove {},
            Step::Open { name: Some(r"\\.\None".into()) },
            file(FileStep::Create { path: r"\dir\a.txt".into() }),
            file(FileStep::Open { path: r"\dir\a.txt".into() }),
            file(FileStep::Write { data: vec![1, 2] }),
            file(FileStep::Read { length: 64 }),
            file(FileStep::Query { class: 5, length: 24 }),
            file(FileStep::Set { class: 20, data: vec![0; 8] }),
            file(FileStep::Rename { path: r"\dir\b.txt".into() }),
            file(FileStep::Delete {}),
            file(FileStep::Close {}),
            file(FileStep::Folder { path: r"\folder".into() }),
            file(FileStep::List { pattern: "*".into() }),
            file(FileStep::Detach {}),
            file(FileStep::Attach {}),
            file(FileStep::Connect { name: r"\Port".into() }),
            file(FileStep::Send { data: vec![1], output: 4 }),
            file(FileStep::Reply { data: vec![1] }),
            file(FileStep::Disconnect {}),
            Step::Connect { connection: Connection { udp: true, ..Connection::to(([10, 0, 0, 1], 53).into()) } },
            Step::Transfer { inbound: true, data: vec![1] },
            Step::Packet { packet: Packet { data: vec![0x45, 0], inbound: false } },
            Step::Disconnect {},
        ];
        let registry = vec![
            (RegistryKey::Parameters, "Number".to_owned(), RegistryValue::Dword(1)),
            (RegistryKey::Path(r"\Registry\Machine\Key".into()), "Text".to_owned(), RegistryValue::Text("a".into())),
            (RegistryKey::Device, "Bytes".to_owned(), RegistryValue::Binary(vec![1])),
        ];
        let input = Input { environment: Environment { below: vec![below], registry }, steps };
        let driver = Path::new("../../../target/driver/x64/driver_sample.sys");
        let head = "//! Written by the fuzzer's test of its own tests; `UPDATE_DOCS=1 cargo test -p nt-host every_step` writes it again.\n\n";
        let text = head.to_owned() + &input.test("every_step", driver);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(FILE, &text).expect("the file");
        }
        assert_eq!(fs::read_to_string(FILE).expect("the file"), text, "run it with UPDATE_DOCS=1");
    }
}
