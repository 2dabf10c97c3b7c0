//! Writes an input as the source of a test.

use std::fmt::Write as _;
use std::path::Path;

use nt_machine::{Below, IoRequest, RegistryKey, RegistryValue, RequestKind};

use super::input::Input;
use crate::wire::Step;

/// The start of a test.
const HEAD: &str = r#"use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{Below, GapKind, IoRequest, NtHost, RegistryKey, RegistryValue, RequestKind};

#[test]
#[allow(unused, reason = "generated code")]
"#;

impl Input {
    /// Returns the source of a test that does the same and fails while the driver makes the mistake.
    #[must_use]
    pub fn test(&self, name: &str, driver: &Path) -> String {
        let mut code = Code::default();
        code.line(&self.host(driver));
        code.line("let mut device = Some(host.add_device()?);");
        for step in &self.steps {
            if !matches!(step, Step::Request { .. } | Step::Handle { .. }) {
                code.send_together();
            }
            code.step(step);
        }
        code.send_together();
        code.line("host.advance(Duration::from_millis(2500))?;");
        code.line("device.map(|device| device.remove());");
        code.line("host.unload()?.assert_clean();");
        format!("{HEAD}fn {name}() -> Result<(), nt_host::Error> {{\n{}    Ok(())\n}}\n", code.lines)
    }

    /// Returns the line that starts the host.
    fn host(&self, driver: &Path) -> String {
        let mut line = format!("let host = NtHost::builder().driver({:?})", driver.display().to_string());
        for below in &self.environment.below {
            let _ = write!(line, ".below({})", self::below(below));
        }
        for (key, name, value) in &self.environment.registry {
            let _ = write!(line, ".registry({}, {name:?}, {})", self::key(key), self::value(value));
        }
        // The test is about the driver's mistake, not about requests that did not reach it.
        line + ".allow(GapKind::NotReached).start()?;"
    }
}

/// The lines of a test, and the names of its variables.
#[derive(Default)]
struct Code {
    lines: String,
    files: u32,
    requests: u32,
    current: u32,
    /// The number of requests that are still to be sent at the same time, and those so far.
    together: u32,
    waiting: Vec<String>,
}

impl Code {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.lines, "    {line}");
    }

    fn step(&mut self, step: &Step) {
        let file = format!("file_{}", self.current);
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
            Step::Close {} => self.line(&format!("{file}.take().map(nt_host::File::close);")),
            Step::Request { request } if self.together != 0 => self.add_to_group(&file, request),
            Step::Request { request } => {
                let call = call(request, "");
                self.line(&format!("{file}.as_ref().map(|file| file.{call}).transpose()?;"));
            }
            Step::Begin { request } => {
                self.requests += 1;
                let (number, call) = (self.requests, call(request, "begin_"));
                self.line(&format!("let mut request_{number} = {file}.as_ref().map(|file| file.{call}).transpose()?;"));
            }
            Step::Cancel { number } => {
                let name = format!("request_{number}");
                self.line(&format!(
                    "if let Some(request) = {name}.take() {{ request.cancel()?; request.wait()?; }}"
                ));
            }
            Step::Together { count } => self.together = *count,
            Step::FailNext { call } => self.line(&format!("host.fail_next({call})?;")),
            Step::Change { offset, value } => self.line(&format!("host.change_next({offset}, {value:#X})?;")),
            Step::Wait { time } => {
                self.line(&format!("host.advance(Duration::from_nanos({}))?;", time.saturating_mul(100)));
            }
            Step::Interrupt { number } => {
                self.line(&format!("device.as_ref().map(|device| device.interrupt({number}));"));
            }
            Step::Sleep {} => self.line("device.as_ref().map(|device| device.sleep());"),
            Step::Wake {} => self.line("device.as_ref().map(|device| device.wake());"),
            Step::Rebalance {} => self.line("device.as_ref().map(|device| device.rebalance());"),
            Step::Remove {} => self.line("device = device.filter(|device| device.clone().remove().is_err());"),
            Step::SurpriseRemove {} => {
                self.line("device = device.filter(|device| device.clone().surprise_remove().is_err());");
            }
            Step::AddDevice {} => self.line("device = device.or_else(|| host.add_device().ok());"),
        }
    }

    /// Adds a request to those that are sent at the same time.
    fn add_to_group(&mut self, file: &str, request: &IoRequest) {
        let IoRequest { kind, code, input, output } = request;
        let kind = match *kind {
            RequestKind::READ => "READ",
            RequestKind::WRITE => "WRITE",
            RequestKind::INTERNAL_DEVICE_CONTROL => "INTERNAL_DEVICE_CONTROL",
            _ => "DEVICE_CONTROL",
        };
        let request = format!(
            "IoRequest {{ kind: RequestKind::{kind}, code: {code:#X}, input: vec!{input:?}, output: {output} }}"
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
            self.line(&format!("host.together(&[{requests}].into_iter().flatten().collect::<Vec<_>>())?;"));
        }
    }
}

/// Returns the call of a method of a file. `prefix` is that of the method.
fn call(request: &IoRequest, prefix: &str) -> String {
    let IoRequest { kind, code, input, output } = request;
    match *kind {
        RequestKind::READ => format!("{prefix}read({output})"),
        RequestKind::WRITE => format!("{prefix}write(&{input:?})"),
        RequestKind::INTERNAL_DEVICE_CONTROL if prefix.is_empty() => {
            format!("internal_ioctl({code:#X}, &{input:?}, {output})")
        }
        _ => format!("{prefix}ioctl({code:#X}, &{input:?}, {output})"),
    }
}

fn below(below: &Below) -> String {
    let kind = match below.kind {
        None => "None".to_owned(),
        Some(kind) => format!("Some(RequestKind::from_int({}))", kind.as_int()),
    };
    format!(
        "Below {{ device: {:?}.map(String::from), kind: {kind}, code: {:?}, status: NtStatus::from_int({:#X}), output: vec!{:?}, delay: Duration::from_nanos({}) }}",
        below.device,
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
