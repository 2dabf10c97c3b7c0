//! LTTng-UST: a small program with the same event, compiled for the run and traced to a file.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Settings;
use crate::step::program::between_marks;
use crate::tools::run;

/// Size of a buffer in KiB. Size and number are the same for both sides.
pub(crate) const BUFFER_KIB: u32 = 256;
/// Number of buffers for each processor. See [`BUFFER_KIB`].
pub(crate) const BUFFERS: u32 = 128;

const SESSION: &str = "wdk-etw-bench";
const CHANNEL: &str = "channel";
const PATIENCE: Duration = Duration::from_secs(10);

/// The results of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) nanoseconds: f64,
    pub(super) lost: f64,
    pub(super) bytes: f64,
}

/// The program, and a session daemon.
pub(super) struct Lttng {
    program: PathBuf,
    output: PathBuf,
    /// The daemon, if we started it.
    daemon: Option<Child>,
}

impl Lttng {
    /// Compiles the program and finds or starts a daemon.
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let dir = settings.scratch("lttng");
        fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        let program = dir.join("program");
        let sources = settings.root.join("crates/dev/bench/programs");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-I"]).arg(&sources).arg(sources.join("lttng.c")).arg("-o").arg(&program);
        run(compiler.args(["-llttng-ust", "-ldl", "-lpthread"]))
            .map_err(|error| format!("{error} (Debian: liblttng-ust-dev, gcc)"))?;
        let mut this = Self { program, output: dir.join("trace"), daemon: None };
        this.ensure_daemon()?;
        Ok(this)
    }

    fn ensure_daemon(&mut self) -> Result<(), String> {
        if lttng(&["list"]).is_ok() {
            return Ok(());
        }
        let mut daemon = Command::new("lttng-sessiond");
        daemon.arg("--no-kernel").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = daemon.spawn().map_err(|error| format!("lttng-sessiond: {error} (Debian: lttng-tools)"))?;
        self.daemon = Some(daemon);
        let started = Instant::now();
        while let Err(error) = lttng(&["list"]) {
            if started.elapsed() > PATIENCE {
                return Err(error);
            }
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Starts a session that writes to our folder.
    fn start(&self) -> Result<(), String> {
        let _ = lttng(&["destroy", SESSION]);
        let _ = fs::remove_dir_all(&self.output);
        lttng(&["create", SESSION, &format!("--output={}", self.output.display())])?;
        let size = format!("--subbuf-size={BUFFER_KIB}K");
        let count = format!("--num-subbuf={BUFFERS}");
        lttng(&["enable-channel", "--userspace", "--session", SESSION, "--discard", &size, &count, CHANNEL])?;
        lttng(&["enable-event", "--userspace", "--session", SESSION, "--channel", CHANNEL, "wdk_etw_bench:*"])?;
        lttng(&["start", SESSION]).map(drop)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // The program waits until it is registered with the daemon, up to a time limit.
        command.args(words).env("LTTNG_UST_REGISTER_TIMEOUT", "10000");
        command
    }

    /// Writes this many events from each thread.
    pub(super) fn write(&self, events: u64, threads: u64) -> Result<Run, String> {
        self.start()?;
        let output = run(&mut self.command(&[&events.to_string(), &threads.to_string()]))?;
        let nanoseconds = output.trim().parse().map_err(|_| format!("`{}` is not a time", output.trim()))?;
        lttng(&["stop", SESSION])?;
        let lost = discarded(&lttng(&["list", SESSION])?).ok_or("lttng does not report discarded events")?;
        let bytes = size_of(&self.output);
        lttng(&["destroy", SESSION])?;
        let _ = fs::remove_dir_all(&self.output);
        // There is less than one byte per event: the program was never registered with the daemon.
        #[expect(clippy::cast_precision_loss, reason = "a few million")]
        let least = (events * threads) as f64;
        if bytes < least && lost < least {
            return Err(String::from("the session recorded nothing"));
        }
        Ok(Run { nanoseconds, lost, bytes })
    }

    /// Returns the instructions of this many events, including what happens only once.
    pub(super) fn stepped(&self, events: u64) -> Result<u64, String> {
        self.start()?;
        let counted = between_marks(&mut self.command(&[&events.to_string(), "1", "stepped"]));
        let _ = lttng(&["destroy", SESSION]);
        let _ = fs::remove_dir_all(&self.output);
        counted
    }
}

impl Drop for Lttng {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn lttng(words: &[&str]) -> Result<String, String> {
    run(Command::new("lttng").arg("--no-sessiond").args(words))
}

/// Returns the number after `Discarded events:`.
fn discarded(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Discarded events:"))?;
    line.trim().parse().ok()
}

/// Returns the size of all files in a folder and its subfolders.
#[expect(clippy::cast_precision_loss, reason = "traces are far smaller than 2^53 bytes")]
fn size_of(dir: &std::path::Path) -> f64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len() as f64,
        Err(_) => 0.0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::discarded;

    #[test]
    fn lost_events_are_read_from_the_list() {
        assert_eq!(discarded("  Statistics:\n      Discarded events: 1234\n"), Some(1234.0));
        assert_eq!(discarded("nothing"), None);
    }
}
