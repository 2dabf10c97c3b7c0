//! The lines of a test that does what steps do.

use std::fmt::Write as _;

use nt_machine::{Below, IoRequest, RequestKind};

/// The lines of a test, and the names of its variables.
#[derive(Default)]
pub(crate) struct Code {
    pub(crate) lines: String,
    files: u32,
    requests: u32,
    current: u32,
    /// The number of requests that are still to be sent at the same time, their schedule, and those so far.
    together: u32,
    schedule: u32,
    waiting: Vec<String>,
}

impl Code {
    pub(crate) fn line(&mut self, line: &str) {
        let _ = writeln!(self.lines, "    {line}");
    }

    /// Returns the variable of the current file. Without an open file, each request opens the device.
    fn file(&self) -> String {
        if self.current == 0 { "device".to_owned() } else { format!("file_{}", self.current) }
    }

    pub(super) fn open(&mut self, name: Option<&str>) {
        self.files += 1;
        self.current = self.files;
        let opened = match name {
            Some(name) => format!("host.open({name:?}).ok()"),
            None => "device.as_ref().and_then(|device| device.open().ok())".to_owned(),
        };
        self.line(&format!("let mut file_{} = {opened};", self.files));
    }

    pub(super) const fn handle(&mut self, number: u32) {
        self.current = number;
    }

    pub(super) fn close(&mut self) {
        if self.current != 0 {
            self.line(&format!("let _ = {}.take().map(File::close);", self.file()));
        }
    }

    pub(super) fn request(&mut self, request: &IoRequest) {
        if self.together != 0 {
            return self.add_to_group(request);
        }
        self.line(&format!("let _ = {}.as_ref().map(|file| file.{});", self.file(), call(request, "")));
    }

    pub(super) fn begin(&mut self, request: &IoRequest) {
        self.requests += 1;
        let number = self.requests;
        let file = self.file();
        let call = call(request, "begin_");
        self.line(&format!("let mut request_{number} = {file}.as_ref().and_then(|file| file.{call}.ok());"));
    }

    pub(super) fn cancel(&mut self, number: u32) {
        self.line(&format!("if let Some(request) = request_{number}.take() {{"));
        self.line("    let _ = request.cancel();");
        self.line("    let _ = request.wait();");
        self.line("}");
    }

    pub(super) const fn together(&mut self, count: u32, schedule: u32) {
        self.together = count;
        self.schedule = schedule;
    }

    /// Opens a file of the volume, in place of the one that is open.
    pub(super) fn open_file(&mut self, call: &str) {
        self.line("let _ = file.take().map(VolumeFile::close);");
        self.line(&format!("(file, position) = (host.volume().{call}.ok(), 0);"));
    }

    pub(super) fn use_file(&mut self, call: &str) {
        self.line(&format!("let _ = file.as_ref().map(|file| file.{call});"));
    }

    /// Reads or writes. The next one begins where this one ends.
    pub(super) fn move_in_file(&mut self, call: &str) {
        self.line(&format!("if let Some(Ok(answer)) = file.as_ref().map(|file| file.{call}) {{"));
        self.line("    position += if answer.status.is_success() { answer.information } else { 0 };");
        self.line("}");
    }

    pub(super) fn use_port(&mut self, call: &str) {
        self.line(&format!("let _ = port.as_ref().map(|port| port.{call});"));
    }

    /// Adds a request to those that are sent at the same time.
    fn add_to_group(&mut self, request: &IoRequest) {
        let file = self.file();
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

    pub(crate) fn send_together(&mut self) {
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

/// Returns the expression for how requests complete.
pub(crate) fn below(below: &Below) -> String {
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
