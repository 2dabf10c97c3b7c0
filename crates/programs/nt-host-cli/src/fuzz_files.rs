//! The folders of a fuzzing session: the corpus, and the findings with what reproduces them.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use command_line::{Output, OutputDir, Outputs};

use super::args::{Arguments, Command, FuzzOptions};
use super::outputs::FilesError;
use nt_host::Environment;
use nt_host::{Bug, Input, LineCoverage};

/// The extension of an input: the options of `nt-host run`, one in each line.
pub(super) const EXTENSION: &str = "steps";

/// The folders.
pub(super) struct Dirs {
    corpus: OutputDir,
    findings: OutputDir,
    /// The page with the lines that ran.
    page: Output,
    driver: PathBuf,
    /// The command that runs the driver, if it is not `nt-host run`.
    runner: Option<String>,
}

impl Dirs {
    /// Checks the folders of a session, and creates none.
    pub(super) fn new(outputs: &Outputs, options: &FuzzOptions) -> Result<Self, FilesError> {
        let driver = &options.run.path;
        let output = options.output.clone().unwrap_or_else(|| driver.with_extension("fuzz").into());
        let output = outputs.dir(&output);
        let corpus = options.corpus.as_ref().map_or_else(|| output.dir("corpus"), |path| outputs.dir(path));
        let findings = output.dir("findings");
        let page = output.file("coverage.html").map_err(FilesError::Output)?;
        // A test runs in another folder.
        let driver = fs::canonicalize(driver).map_err(|error| FilesError::Path(driver.clone(), error))?;
        Ok(Self { corpus, findings, page, driver, runner: options.runner.clone() })
    }

    /// Creates the folders.
    pub(super) fn create(&self) -> Result<(), FilesError> {
        for dir in [self.corpus.path(), self.findings.path()] {
            create_dir(dir)?;
        }
        Ok(())
    }

    /// Returns the folder with the inputs.
    pub(super) fn corpus(&self) -> &Path {
        self.corpus.path()
    }

    /// Returns the command that reproduces what an input does.
    pub(super) fn command(&self, input: &Input) -> String {
        self.runner.as_ref().map_or_else(|| input.command(&self.driver), |runner| input.command_of(runner))
    }

    /// Returns the folder with the findings.
    pub(super) fn findings(&self) -> &Path {
        self.findings.path()
    }

    /// Writes the page with the lines that ran. Returns its path, or `None` if the lines are not known.
    pub(super) fn add_coverage(&self, lines: &LineCoverage) -> Result<Option<PathBuf>, FilesError> {
        if lines.is_empty() {
            return Ok(None);
        }
        lines.write(&self.page).map_err(FilesError::Write)?;
        Ok(Some(self.page.as_ref().to_owned()))
    }

    /// Reads the inputs of earlier sessions, in the order of their names.
    pub(super) fn inputs(&self) -> Result<Vec<Input>, FilesError> {
        let unreadable = |error: io::Error| FilesError::Path(self.corpus.path().to_owned(), error);
        let entries = fs::read_dir(self.corpus.path()).map_err(unreadable)?;
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>().map_err(unreadable)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
        paths.sort();
        paths.iter().map(|path| read(path)).collect()
    }

    /// Adds an input to the corpus. Its name depends on its contents, so that folders can be merged.
    pub(super) fn add_input(&self, input: &Input) -> Result<(), FilesError> {
        let text = lines(&input.options());
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        write(&self.corpus, &format!("{:016x}.{EXTENSION}", hasher.finish()), &text)
    }

    /// Writes a finding with the command and the test that reproduce it. Returns the folder and the command.
    pub(super) fn add_bug(&self, bug: &Bug) -> Result<(PathBuf, String), FilesError> {
        let name = name(bug);
        let mut dir = self.findings.dir(&name);
        let mut number = 1;
        while dir.path().exists() {
            number += 1;
            dir = self.findings.dir(&format!("{name}-{number}"));
        }
        create_dir(dir.path())?;
        let command = self.command(&bug.input);
        let stack: Vec<String> = bug.finding.stack.iter().map(|place| format!("  called from {place}")).collect();
        let chance =
            if bug.is_reproduced { "" } else { "It was not reproduced: it may depend on the order of threads.\n" };
        let report = format!("{}\n{}{chance}\n{command}\n", bug.finding, lines(&stack));
        write(&dir, "finding.txt", &report)?;
        write(&dir, &format!("input.{EXTENSION}"), &lines(&bug.input.options()))?;
        write(&dir, "test.rs", &bug.input.test(&name.replace('-', "_"), &self.driver))?;
        Ok((dir.path().to_owned(), command))
    }
}

/// Returns a name for the folder of a finding: the rule and the function.
fn name(bug: &Bug) -> String {
    let function = bug.finding.location.as_ref().and_then(|location| location.symbol.clone()).unwrap_or_default();
    let last = function.rsplit("::").next().unwrap_or_default().to_ascii_lowercase();
    let function: String = last.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    let rule = bug.finding.rule.id();
    if function.is_empty() { rule.to_owned() } else { format!("{rule}-in-{function}") }
}

fn lines(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Reads an input.
fn read(path: &Path) -> Result<Input, FilesError> {
    let text = fs::read_to_string(path).map_err(|error| FilesError::Path(path.to_owned(), error))?;
    parse(&text).ok_or_else(|| FilesError::NotAnInput(path.to_owned()))
}

fn parse(text: &str) -> Option<Input> {
    let words = ["nt-host", "run", "driver"].into_iter().chain(text.lines()).map(OsString::from);
    let Command::Run(options) = Arguments::try_parse_from(words).ok()?.command else { return None };
    let options = options.run;
    let below = options.below.into_iter().chain(options.remote).collect();
    Some(Input { environment: Environment { below, registry: options.registry }, steps: options.steps.0 })
}

fn write(dir: &OutputDir, name: &str, text: &str) -> Result<(), FilesError> {
    dir.file(name).and_then(|output| output.write(text)).map_err(FilesError::Output)
}

fn create_dir(dir: &Path) -> Result<(), FilesError> {
    fs::create_dir_all(dir).map_err(|error| FilesError::Path(dir.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use etw_types::NtStatus;
    use nt_machine::{Below, IoRequest, RegistryKey, RegistryValue, RequestKind};

    use super::{lines, parse};
    use nt_host::Environment;
    use nt_host::Input;
    use nt_host::Step;

    #[test]
    fn an_input_comes_back_from_its_file() {
        let code = Some(0x0022_2004);
        let below = Below {
            device: None,
            kind: Some(RequestKind::DEVICE_CONTROL),
            code,
            status: NtStatus::InvalidParameter,
            output: vec![1, 2],
            delay: Duration::from_millis(3),
        };
        let remote = Below { device: Some(r"\Device\Other".into()), kind: None, code: None, ..below.clone() };
        let registry = vec![
            (RegistryKey::Parameters, "Mode".to_owned(), RegistryValue::Dword(7)),
            (RegistryKey::Device, "Name".to_owned(), RegistryValue::Text("a b:c".into())),
            (RegistryKey::Path(r"\Registry\Machine\Key".into()), "Data".to_owned(), RegistryValue::Binary(vec![0xAB])),
        ];
        let request = IoRequest {
            kind: RequestKind::DEVICE_CONTROL,
            code: 0x0022_2004,
            input: vec![9],
            output: 0,
            ..IoRequest::default()
        };
        let direct = IoRequest { code: 0x0022_2005, output: 8, output_data: vec![1, 0xFF], ..request.clone() };
        let steps = vec![
            Step::Open { name: Some(r"\\.\A name".into()) },
            Step::Request { request },
            Step::Begin { request: direct },
        ];
        let input = Input { environment: Environment { below: vec![below, remote], registry }, steps };
        assert_eq!(parse(&lines(&input.options())), Some(input));
        assert_eq!(parse("--ioctl\n"), None);
        assert_eq!(parse("--ioctl=222004/:01\n"), None, "the driver would not get the data");
    }
}
