//! A target that was built for libFuzzer: it is started, its lines become our progress, and its artifacts our findings.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::progress::{Progress, clock, rate};
use super::{Ending, Finding, MOST_MEMORY, MOST_TIME, Options, interrupt};

/// Runs `program` until time is up, Ctrl-C is pressed or something is found.
///
/// What it learns is kept in `target/fuzz/<target>/corpus` for the next run.
///
/// # Errors
///
/// Where the program cannot be started, or says nothing that libFuzzer would.
pub fn run(options: &Options, program: &Path) -> io::Result<Ending> {
    interrupt::watch();
    let Options { target, time, seed } = options;
    let learned = options.folder().join("corpus");
    fs::create_dir_all(&learned)?;
    eprintln!("fuzzing {}: {}", target.name, target.summary);
    eprintln!("  libFuzzer, {}, random seed {seed} (--seed {seed})", clock(*time));
    let mut child = Command::new(program)
        .args([
            format!("-max_total_time={}", time.as_secs().max(1)),
            format!("-max_len={}", target.max_len),
            format!("-timeout={}", MOST_TIME.as_secs()),
            format!("-rss_limit_mb={MOST_MEMORY}"),
            // It takes 32 bits, and chooses by itself for 0.
            format!("-seed={}", (seed & 0xFFFF_FFFF).max(1)),
            format!("-artifact_prefix={}/", options.folder().display()),
            String::from("-print_final_stats=1"),
        ])
        .arg(&learned)
        .args(target.folders())
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut progress = Progress::new();
    let mut log = Log::default();
    if let Some(stream) = child.stderr.take() {
        for line in BufReader::new(stream).split(b'\n') {
            log.take(&String::from_utf8_lossy(&line?));
            if progress.is_due() {
                let left = clock(time.saturating_sub(progress.elapsed()));
                let rate = rate(log.executions, progress.elapsed());
                let covered = log.coverage;
                progress
                    .write(&format!("  {} inputs, {rate} in a second, {covered} edges, {left} left", log.executions));
            }
        }
    }
    let status = child.wait()?;
    progress.clear();
    let ending = if let Some(artifact) = &log.artifact {
        let finding = Finding { target, what: log.reason(), origin: format!("libFuzzer, seed {seed}") };
        eprint!("\n{}", finding.describe(artifact)?);
        Ending::Found
    } else if status.success() || interrupt::asked() {
        Ending::Clean
    } else {
        return Err(io::Error::other(format!(
            "{} ended without an input ({status})\n{}",
            program.display(),
            log.reason()
        )));
    };
    let how = if interrupt::asked() { "stopped" } else { "done" };
    let found = if ending == Ending::Found { "one finding" } else { "no finding" };
    let took = progress.elapsed();
    let per_second = rate(log.executions, took);
    eprintln!("{how}: {} inputs in {}, {per_second} in a second, {found}", log.executions, clock(took));
    Ok(ending)
}

/// What libFuzzer's lines say.
#[derive(Debug, Default)]
struct Log {
    executions: u64,
    coverage: u64,
    artifact: Option<PathBuf>,
    /// The panic's two lines, or libFuzzer's own word.
    reason: Vec<String>,
    /// A panic's message follows.
    message_follows: bool,
}

impl Log {
    fn take(&mut self, line: &str) {
        if self.message_follows {
            self.message_follows = false;
            self.reason.push(line.to_owned());
        }
        if let Some(rest) = line.strip_prefix('#') {
            let mut words = rest.split_whitespace();
            self.executions = words.next().and_then(|word| word.parse().ok()).unwrap_or(self.executions);
            let coverage = words.skip_while(|word| *word != "cov:").nth(1);
            self.coverage = coverage.and_then(|word| word.parse().ok()).unwrap_or(self.coverage);
        } else if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = count.trim().parse().unwrap_or(self.executions);
        } else if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.artifact = Some(PathBuf::from(path.trim()));
        } else if line.contains(" panicked at ") {
            self.reason.push(line.to_owned());
            self.message_follows = true;
        } else if line.contains("ERROR: ") && self.reason.is_empty() {
            self.reason.push(line.to_owned());
        }
    }

    fn reason(&self) -> String {
        self.reason.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::Log;
    use std::path::Path;

    fn log(lines: &str) -> Log {
        let mut log = Log::default();
        lines.lines().for_each(|line| log.take(line));
        log
    }

    #[test]
    fn counts_and_coverage_are_read() {
        let log = log("INFO: Seed: 1\n#2\tINITED cov: 5 ft: 5 corp: 1/1b\n#4096\tpulse  cov: 77 ft: 9 exec/s: 2048\n");
        assert_eq!((log.executions, log.coverage), (4096, 77));
        assert_eq!(log.artifact, None);
    }

    #[test]
    fn a_panic_is_a_finding_with_its_message() {
        let log =
            log("thread '<unnamed>' (1) panicked at a.rs:1:2:\nout of order\n==7== ERROR: libFuzzer: deadly signal\n\
             artifact_prefix='x/'; Test unit written to x/crash-12\nstat::number_of_executed_units: 99\n");
        assert_eq!(log.artifact.as_deref(), Some(Path::new("x/crash-12")));
        assert_eq!(log.reason(), "thread '<unnamed>' (1) panicked at a.rs:1:2:\nout of order");
        assert_eq!(log.executions, 99);
    }

    #[test]
    fn a_timeout_is_a_finding_with_libfuzzers_word() {
        let log = log("==7== ERROR: libFuzzer: timeout after 11 seconds\nTest unit written to t/timeout-1\n");
        assert!(log.reason().contains("timeout after 11 seconds"));
    }
}
