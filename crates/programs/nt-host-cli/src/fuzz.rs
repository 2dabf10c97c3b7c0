//! `nt-host fuzz`: sends generated requests, and reports the driver's mistakes.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use command_line::exit::{FAILED, FINDINGS, INCOMPLETE, INTERRUPTED, SUCCESS, USAGE};
use command_line::{Inputs, error, escaped, is_quiet, print, shown};
use serde_json::{Value, json};

use super::args::FuzzOptions;
use super::fuzz_files::{Dirs, EXTENSION};
use super::outputs::{FilesError, outputs, with_coverage};
use super::run::builder;
use super::{grammar, interrupt, json};
use nt_host::Watcher;
use nt_host::text::percent;
use nt_host::{Bug, Error, Finding, Fuzz, Grammar, Harvest, Input, Progress, Rule};

/// The version of the report. It is incremented when members or their meaning change.
const SCHEMA: u32 = 1;
/// How often the progress line changes.
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn fuzz(options: &FuzzOptions) -> u8 {
    match session(options) {
        Ok(code) => code,
        Err((code, reason)) => {
            error(&reason);
            code
        }
    }
}

fn session(options: &FuzzOptions) -> Result<u8, (u8, String)> {
    let usage = |reason: FilesError| (USAGE, reason.to_string());
    let driver = &options.run.path;
    let grammar = options.grammar.as_deref().map_or_else(|| Ok(Grammar::default()), grammar::read);
    let grammar = grammar.map_err(|error| (USAGE, error.to_string()))?;
    let builder = builder(&options.run, false);
    // The driver is read before a folder is created.
    let outputs = outputs(&builder, &options.run, options.grammar.as_slice()).map_err(usage)?;
    let dirs = Dirs::new(&outputs, options).map_err(usage)?;
    // Only the session itself may add to its corpus.
    let mut others = outputs.and(&Inputs::new().file_or_folder(dirs.corpus(), &[EXTENSION]));
    let builder = with_coverage(builder, &options.coverage, &mut others).map_err(usage)?;
    let fuzz = Fuzz::new(builder).grammar(grammar).jobs(options.jobs);
    dirs.create().map_err(usage)?;
    let mut inputs = dirs.inputs().map_err(usage)?;
    if !options.run.steps.0.is_empty() {
        inputs.push(Input { steps: options.run.steps.0.clone(), ..Input::default() });
    }
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..));
    let fuzz = match options.executions {
        Some(executions) => fuzz.executions(executions),
        None => fuzz.time(options.time),
    };
    interrupt::install();
    let mut screen = Screen::new(dirs, options.run.json);
    let harvest = fuzz.seed(seed).inputs(inputs).run_with(&mut screen).map_err(|error| failed(&error))?;
    screen.clear();
    let page = screen.dirs.add_coverage(&harvest.lines).map_err(usage)?;
    if options.run.json {
        print(&(summary(&harvest, seed, &screen, page.as_deref()).to_string() + "\n"));
    } else {
        if let Some(page) = page {
            let (hit, all) = harvest.lines.total();
            print(&format!("coverage: {} of the lines, {}\n", percent(hit, all), shown(&page)));
        }
        print(&format!("{}: {}; seed {seed}\n", shown(driver), harvest.summary()));
    }
    if let Some(reason) = screen.failure {
        return Err(usage(reason));
    }
    Ok(if interrupt::was_interrupted() {
        INTERRUPTED
    } else {
        exit_code(harvest.bugs.iter().map(|bug| bug.finding.rule))
    })
}

/// Returns the exit code for mistakes with these rules. A defect of the host says nothing about the driver.
fn exit_code(rules: impl Iterator<Item = Rule>) -> u8 {
    let code = |rule| if rule == Rule::Host { INCOMPLETE } else { FINDINGS };
    let codes: Vec<u8> = rules.map(code).collect();
    if codes.contains(&FINDINGS) { FINDINGS } else { codes.first().copied().unwrap_or(SUCCESS) }
}

/// Returns what is printed about a mistake, with the command that reproduces it and its folder.
fn described(finding: &Finding, is_reproduced: bool, command: &str, dir: &Path) -> String {
    let whose = if finding.rule == Rule::Host { "a defect of nt-host: " } else { "" };
    let chance = if is_reproduced { "" } else { " (not reproduced)" };
    let finding = finding.to_string();
    format!("{whose}{}{chance}\n  {}\n  {}\n", escaped(&finding), escaped(command), shown(dir))
}

/// Returns the exit code and the reason of a session that did not begin.
fn failed(error: &Error) -> (u8, String) {
    let code = match error {
        Error::NotLoaded(..) | Error::DriverEntry(..) => FAILED,
        Error::Stopped(_) => FINDINGS,
        Error::Process(_) | Error::Host(_) => INCOMPLETE,
        Error::Status(_) => {
            return (INCOMPLETE, format!("there is no device to send requests to: {error}; a run says why"));
        }
        _ => USAGE,
    };
    (code, error.to_string())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn summary(harvest: &Harvest, seed: u64, screen: &Screen, page: Option<&Path>) -> Value {
    let Progress { executions, requests, processes, elapsed, .. } = harvest.progress;
    let (blocks, hits) = harvest.blocks;
    let bug = |bug: &Bug| {
        json!({
            "finding": json::finding(&bug.finding),
            "reproduced": bug.is_reproduced,
            "found_after_ms": milliseconds(bug.found_after),
            "executions": bug.executions,
            "command": screen.dirs.command(&bug.input),
            "options": bug.input.options(),
        })
    };
    json!({
        "schema_version": SCHEMA,
        "seed": seed,
        "executions": executions,
        "requests": requests,
        "requests_per_second": harvest.progress.rate(),
        "processes": processes,
        "elapsed_ms": milliseconds(elapsed),
        "blocks": blocks,
        "blocks_reached": hits,
        "lines": harvest.lines.total().1,
        "lines_reached": harvest.lines.total().0,
        "coverage": page.map(|page| page.display().to_string()),
        "inputs": harvest.corpus.len(),
        "folder": screen.dirs.findings().display().to_string(),
        "findings": harvest.bugs.iter().map(bug).collect::<Vec<_>>(),
    })
}

/// Writes what a session finds to its folders, and shows it.
struct Screen {
    dirs: Dirs,
    json: bool,
    line: bool,
    shown: Instant,
    /// Why a file could not be written.
    failure: Option<FilesError>,
}

impl Screen {
    fn new(dirs: Dirs, json: bool) -> Self {
        let line = std::io::stderr().is_terminal() && !is_quiet();
        Self { dirs, json, line, shown: Instant::now(), failure: None }
    }

    fn clear(&self) {
        if self.line {
            eprint!("\r\x1b[K");
        }
    }
}

impl Watcher for Screen {
    fn input(&mut self, input: &Input) {
        if let Err(reason) = self.dirs.add_input(input) {
            self.failure.get_or_insert(reason);
        }
    }

    fn bug(&mut self, bug: &Bug) {
        self.clear();
        match self.dirs.add_bug(bug) {
            Ok((dir, command)) if !self.json => {
                print(&described(&bug.finding, bug.is_reproduced, &command, &dir));
            }
            Ok(_) => {}
            Err(reason) => drop(self.failure.get_or_insert(reason)),
        }
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        if self.line && self.shown.elapsed() >= INTERVAL {
            self.shown = Instant::now();
            let Progress { requests, corpus, bugs, elapsed, .. } = progress;
            let rate = progress.rate();
            let time = elapsed.as_secs();
            eprint!("\r\x1b[K{time} s: {requests} requests, {rate} per second, {corpus} inputs, {bugs} findings …");
            let _ = std::io::stderr().flush();
        }
        self.failure.is_none() && !interrupt::was_interrupted()
    }
}

#[cfg(test)]
mod tests {
    use command_line::exit::{FINDINGS, INCOMPLETE, SUCCESS};
    use nt_host::{Finding, Rule};

    use super::{described, exit_code};

    fn finding(rule: Rule) -> Finding {
        Finding {
            rule,
            microsoft: Vec::new(),
            image: None,
            routine: None,
            location: None,
            inner: Vec::new(),
            stack: Vec::new(),
            irql: 0,
            detail: "what happened".to_owned(),
        }
    }

    #[test]
    fn a_finding_has_its_command_and_its_folder() {
        let text = |rule, is_reproduced| {
            described(&finding(rule), is_reproduced, "COMMAND x.sys", "x.fuzz/findings/host".as_ref())
        };
        let rest = "what happened\n  COMMAND x.sys\n  x.fuzz/findings/host\n";
        assert_eq!(text(Rule::Host, true), format!("a defect of nt-host: host: {rest}"));
        assert_eq!(text(Rule::PoolLeak, true), format!("pool-leak: {rest}"));
        let by_chance = text(Rule::PoolLeak, false);
        assert!(by_chance.starts_with("pool-leak: what happened (not reproduced)\n"), "{by_chance}");
    }

    #[test]
    fn a_defect_of_the_host_is_no_finding_about_the_driver() {
        assert_eq!(exit_code([].into_iter()), SUCCESS);
        assert_eq!(exit_code([Rule::Host].into_iter()), INCOMPLETE);
        assert_eq!(exit_code([Rule::Host, Rule::PoolLeak].into_iter()), FINDINGS);
    }
}
