//! Writes an input as the source of a test.

use std::fmt::Write as _;
use std::path::Path;

use nt_machine::{RegistryKey, RegistryValue};

use super::input::{CANCEL_AFTER, Input};
use crate::steps::{Code, Step, below};

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
            step.test(&mut code);
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
        let driver = driver.display().to_string();
        let time = CANCEL_AFTER.as_millis();
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

    use nt_machine::{RegistryKey, RegistryValue};

    use super::Input;
    use crate::fuzz::input::Environment;
    use crate::steps::{FileStep, Step};
    use crate::text::below;

    /// `tests/it` compiles and runs this test.
    const FILE: &str = "tests/it/every_step.rs";

    /// The examples of all declarations, in their order, which has the steps that others need before them.
    fn every_step() -> Vec<Step> {
        let read = |form: &crate::steps::Form<Step>| -> Vec<Step> {
            form.examples.iter().map(|example| form.read(example).expect("a value")).collect()
        };
        let files = FileStep::forms().iter().flat_map(|form| form.examples.iter().map(|example| form.read(example)));
        let files = files.map(|step| Step::File { step: step.expect("a value") });
        Step::forms().iter().flat_map(read).chain(files).collect()
    }

    #[test]
    fn every_step_becomes_a_line_of_a_test() {
        let registry = vec![
            (RegistryKey::Parameters, "Number".to_owned(), RegistryValue::Dword(1)),
            (RegistryKey::Path(r"\Registry\Machine\Key".into()), "Text".to_owned(), RegistryValue::Text("a".into())),
            (RegistryKey::Device, "Bytes".to_owned(), RegistryValue::Binary(vec![1])),
        ];
        let below = vec![below::read("read=C000000D:01@1ms").expect("a script")];
        let input = Input { environment: Environment { below, registry }, steps: every_step() };
        let driver = Path::new("../../../target/driver/x64/driver_sample.sys");
        let head = "//! Written by the fuzzer's test of its own tests; `UPDATE_DOCS=1 cargo test -p nt-host --lib every_step` writes it again.\n\n";
        let text = head.to_owned() + &input.test("every_step", driver);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(FILE, &text).expect("the file");
        }
        assert_eq!(fs::read_to_string(FILE).expect("the file"), text, "run it with UPDATE_DOCS=1");
    }
}
