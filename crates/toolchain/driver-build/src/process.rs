//! Runs other programs. Errors show the command as one would type it.
//!
//! Children stay in the process group of this program, so Ctrl-C ends them together with it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::thread;

use crate::error::Error;
use crate::output;

/// A program with its arguments and environment.
pub struct Tool {
    command: Command,
    shown_env: Vec<(String, String)>,
    /// The number of arguments at the end that are not shown.
    hidden_args: usize,
}

/// A program that runs in the background. It is ended when this value is dropped.
pub struct Started {
    tool: Tool,
    child: Child,
}

impl Started {
    /// Waits until the program ends.
    ///
    /// # Errors
    ///
    /// If the program fails.
    pub fn wait(mut self) -> Result<(), Error> {
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.tool.failure(status, "")),
            Err(error) => Err(Error::Failed(format!("`{}`: {error}", self.tool))),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It fails only if the program has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Tool {
    /// A program by its name or path.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self { command: Command::new(program.into()), shown_env: Vec::new(), hidden_args: 0 }
    }

    /// Runs in this folder.
    #[must_use]
    pub fn current_dir(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Adds the last arguments, which are too many to be shown.
    #[must_use]
    pub fn hidden_args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        let before = self.command.get_args().len();
        self.command.args(args);
        self.hidden_args = self.command.get_args().len() - before;
        self
    }

    /// Sets an environment variable that is shown as part of the command.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self.shown_env.push((key.into(), value.into()));
        self
    }

    /// Sets an environment variable that is not shown.
    #[must_use]
    pub fn hidden_env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Removes a variable of this process from the program's environment.
    #[must_use]
    pub fn env_remove(mut self, key: &str) -> Self {
        self.command.env_remove(key);
        self
    }

    /// Runs with a lower priority than other programs, if the system has the command `nice`.
    #[must_use]
    pub fn low_priority(self) -> Self {
        if !Self::new("nice").succeeds() {
            return self;
        }
        let mut command = Command::new("nice");
        command.args(["-n", "10"]).arg(self.command.get_program()).args(self.command.get_args());
        if let Some(dir) = self.command.get_current_dir() {
            command.current_dir(dir);
        }
        for (key, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        Self { command, ..self }
    }

    /// Runs with the standard streams of this process.
    ///
    /// # Errors
    ///
    /// If the program cannot be started or fails.
    pub fn run(mut self) -> Result<(), Error> {
        let result = self.status();
        match result {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.failure(status, "")),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    /// Runs a program of this project, which uses the same exit codes and prints its errors, with the standard streams of this
    /// process.
    ///
    /// # Errors
    ///
    /// [`Error::Reported`] with the program's exit code if it fails; another error if it cannot be started or is killed.
    pub fn run_ours(mut self) -> Result<(), Error> {
        let result = self.status();
        self.ended(result)
    }

    /// How a program of this project ended.
    fn ended(&self, result: io::Result<ExitStatus>) -> Result<(), Error> {
        match result.as_ref().map(ExitStatus::code) {
            Ok(Some(0)) => Ok(()),
            Ok(Some(code @ (1..=5 | 130))) => Err(Error::Reported(u8::try_from(code).unwrap_or(1))),
            _ => match result {
                Ok(status) => Err(self.failure(status, "")),
                Err(error) => Err(self.not_started(&error)),
            },
        }
    }

    /// As [`run_ours`](Self::run_ours), but standard output and standard error go to `reader`, in the order in which they are written.
    ///
    /// # Errors
    ///
    /// As [`run_ours`](Self::run_ours).
    pub fn run_ours_reading(mut self, reader: impl FnOnce(PipeReader)) -> Result<(), Error> {
        let joined = io::pipe().and_then(|(stream, end)| Ok((stream, end.try_clone()?, end)));
        let (stream, out, messages) = joined.map_err(|error| Error::Failed(format!("`{self}`: {error}")))?;
        output::starts(&self);
        self.command.stdout(out).stderr(messages);
        let child = self.command.spawn();
        // Without this, the command would keep the pipe open for writing, and the reader would wait for ever.
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        self.ended(child.and_then(|mut child| {
            reader(stream);
            child.wait()
        }))
    }

    /// Replaces this process with the program if the system can do that, so that Ctrl-C and the exit code are handled by the
    /// program. Otherwise as [`run_ours`](Self::run_ours).
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn replace_ourselves(self) -> Result<(), Error> {
        #[cfg(unix)]
        {
            let mut this = self;
            output::starts(&this);
            let error = std::os::unix::process::CommandExt::exec(&mut this.command);
            Err(this.not_started(&error))
        }
        #[cfg(not(unix))]
        self.run_ours()
    }

    /// Runs the program and returns its standard output, also if it fails. `reader` gets standard error and must read it to its
    /// end; otherwise the program can block.
    pub(crate) fn run_reading(mut self, reader: impl FnOnce(&mut ChildStderr)) -> (String, Result<(), Error>) {
        output::starts(&self);
        let mut child = match self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => return (String::new(), Err(self.not_started(&error))),
        };
        let stdout = child.stdout.take();
        let stdout = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut bytes)).map(|_| bytes)
        });
        if let Some(stream) = &mut child.stderr {
            reader(stream);
        }
        let result = match (child.wait(), stdout.join()) {
            (Ok(status), Ok(Ok(bytes))) => Ok((status, String::from_utf8_lossy(&bytes).into_owned())),
            (Err(error), _) | (_, Ok(Err(error))) => Err(error),
            (_, Err(_)) => Err(io::Error::other("its output could not be read")),
        };
        match result {
            Ok((status, text)) if status.success() => (text, Ok(())),
            Ok((status, text)) => (text, Err(self.failure(status, ""))),
            Err(error) => (String::new(), Err(Error::Failed(format!("`{self}`: {error}")))),
        }
    }

    /// Runs silently and returns standard output and standard error, also if the program fails.
    pub fn run_silently(self) -> (String, String, Result<(), Error>) {
        let mut output = Vec::new();
        let (account, result) = self.run_reading(|stream| {
            // If reading fails, the messages are incomplete; the exit code still decides.
            let _ = stream.read_to_end(&mut output);
        });
        (account, String::from_utf8_lossy(&output).into_owned(), result)
    }

    /// Returns whether the program can be started. It is ended at once.
    #[must_use]
    pub fn starts(self) -> bool {
        self.start().is_ok()
    }

    /// Starts the program without input and output, and returns at once.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn start(self) -> Result<Started, Error> {
        self.start_with(Stdio::null(), Stdio::null())
    }

    /// Starts the program without input, and returns at once. Its output and its messages go to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the program cannot be started.
    pub fn start_into(self, file: &File) -> Result<Started, Error> {
        let copy = || file.try_clone().map(Stdio::from).map_err(|error| Error::Failed(format!("`{self}`: {error}")));
        let output = copy()?;
        let messages = copy()?;
        self.start_with(output, messages)
    }

    fn start_with(mut self, output: Stdio, messages: Stdio) -> Result<Started, Error> {
        output::starts(&self);
        match self.command.stdin(Stdio::null()).stdout(output).stderr(messages).spawn() {
            Ok(child) => Ok(Started { tool: self, child }),
            Err(error) => Err(self.not_started(&error)),
        }
    }

    /// Runs silently and returns standard output. If the program fails, the error contains what it wrote to standard error.
    ///
    /// # Errors
    ///
    /// If the program cannot be started or fails.
    pub fn capture(mut self) -> Result<String, Error> {
        // The messages become part of an error for the user, who has no use for a backtrace.
        self.command.env("RUST_BACKTRACE", "0");
        let output = self.output().map_err(|error| self.not_started(&error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(self.failure(output.status, messages.trim_end()))
    }

    /// Runs the program and returns whether it succeeded; its output is dropped.
    #[must_use]
    pub fn succeeds(mut self) -> bool {
        self.output().is_ok_and(|output| output.status.success())
    }

    /// Runs with the standard streams of this process. If standard output is closed, the program's output is dropped, so that
    /// it does not fail.
    fn status(&mut self) -> io::Result<ExitStatus> {
        if command_line::is_unread() {
            self.command.stdout(Stdio::null());
        }
        output::starts(self);
        self.command.status()
    }

    fn output(&mut self) -> io::Result<Output> {
        output::starts(self);
        self.command.stdin(Stdio::null()).output()
    }

    fn failure(&self, status: ExitStatus, messages: &str) -> Error {
        let how = match status.code() {
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        };
        let separator = if messages.is_empty() { "" } else { "\n" };
        Error::Failed(format!("`{self}` failed ({how}){separator}{messages}"))
    }

    fn not_started(&self, error: &io::Error) -> Error {
        let program = self.command.get_program().to_string_lossy();
        if error.kind() == ErrorKind::NotFound {
            Error::Missing(format!("`{program}` is not installed (needed for `{self}`)"))
        } else {
            Error::Failed(format!("`{self}` could not be started: {error}"))
        }
    }
}

/// The command as one would type it, without the folder of the program.
impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.shown_env {
            write!(f, "{key}={} ", quoted(value))?;
        }
        let program = Path::new(self.command.get_program());
        let name = program.file_name().unwrap_or(program.as_os_str());
        f.write_str(&quoted(&name.to_string_lossy()))?;
        let arguments = self.command.get_args();
        let shown = arguments.len() - self.hidden_args;
        for argument in arguments.take(shown) {
            write!(f, " {}", quoted(&argument.to_string_lossy()))?;
        }
        if self.hidden_args > 0 { f.write_str(" …") } else { Ok(()) }
    }
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%\\".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
