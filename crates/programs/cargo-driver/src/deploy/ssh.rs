//! Runs `ssh` and `sftp`. What crosses to the other machine is made of plain words, so that it means the same to every shell that an
//! SSH server of Windows may start: cmd.exe, PowerShell or another one.
//!
//! All programs share one connection, which is opened once: the user touches a key, and the machine checks it, once. If the connection
//! breaks, the programs after that open their own.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use command_line::OwnDir;
use driver_build::Error;
use driver_exercise::{Lost, POWERSHELL, Ran};
use tempfile::TempDir;

/// The exit code of `ssh` and `sftp` if the connection failed.
const CONNECTION: i32 = 255;
/// How often to look whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// A password cannot be typed here, and a machine that no longer replies is noticed after a minute.
const OPTIONS: [&str; 4] =
    ["-oBatchMode=yes", "-oConnectTimeout=20", "-oServerAliveInterval=15", "-oServerAliveCountMax=4"];

/// How long the shared connection stays open without a program that uses it, if this program cannot close it.
const IDLE: &str = "-oControlPersist=10m";

/// How to reach a machine.
#[derive(Debug)]
pub(super) struct Ssh {
    host: String,
    config: Option<PathBuf>,
    limit: Duration,
    /// The folder of the socket of the shared connection.
    shared: Option<TempDir>,
}

/// What ended, or was ended.
struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Ssh {
    pub(super) fn new(host: &str, config: Option<&Path>, limit: Duration) -> Result<Self, Error> {
        if host.starts_with('-') || host.is_empty() || host.contains(char::is_whitespace) {
            let text = format!("'{host}' is not a host: expected a name such as user@machine, as for ssh");
            return Err(Error::Usage(text));
        }
        // sftp runs in another folder.
        let config = config.map(absolute).transpose();
        let config = config.map_err(|error| Error::Usage(format!("--ssh-config: {error}")))?;
        Ok(Self { host: host.to_owned(), config, limit, shared: None })
    }

    /// Opens the connection that all programs share. OpenSSH for Windows has no such connections.
    pub(super) fn connect(&mut self, ends: &dyn Fn() -> bool) -> Result<(), Lost> {
        if !cfg!(unix) {
            return Ok(());
        }
        let failed = |error: io::Error| Lost::Connection(error.to_string());
        // The path of a socket is at most about 100 bytes long, so it is not in the folder for results.
        let dir = tempfile::Builder::new().prefix("cargo-driver-").tempdir().map_err(failed)?;
        let errors = OwnDir::new(dir.path()).file("errors");
        self.shared = Some(dir);
        let mut command = self.command("ssh");
        command.args(["-N", "-oControlMaster=yes", IDLE, &self.host]);
        // The program that holds the connection stays in the background with its output, so that is not a pipe.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.create_log()?);
        separate(&mut command);
        let mut child = command.spawn().map_err(|error| Lost::Connection(format!("cannot run ssh: {error}")))?;
        let status = wait(&mut child, self.limit, ends)?;
        if status.success() {
            return Ok(());
        }
        self.shared = None;
        Err(lost(&Ended { status, output: Vec::new(), errors: fs::read(&errors).unwrap_or_default() }))
    }

    /// Closes the shared connection. A connection that has broken is closed already.
    pub(super) fn disconnect(&mut self) {
        if self.shared.is_some() {
            let mut command = self.command("ssh");
            command.args(["-Oexit", &self.host]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.status();
        }
        self.shared = None;
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        command.args(OPTIONS);
        if let Some(dir) = &self.shared {
            command.arg("-o").arg(format!("ControlPath={}", dir.path().join("socket").display()));
        }
        command
    }

    /// Runs a script with PowerShell.
    pub(super) fn script(&self, path: &str, arguments: &[String], ends: &dyn Fn() -> bool) -> Result<Ran, Lost> {
        let words: Vec<&str> =
            POWERSHELL.into_iter().chain([path]).chain(arguments.iter().map(String::as_str)).collect();
        if let Some(word) = words.iter().find(|word| !is_plain(word)) {
            return Err(Lost::Connection(format!("'{word}' is not a plain word, so it is not sent to a shell")));
        }
        let mut command = self.command("ssh");
        command.args(["-T", &self.host, "--"]).args(&words);
        let ended = self.run(command, "", ends)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ended.status.code() {
            Some(CONNECTION) | None => Err(lost(&ended)),
            Some(code) => Ok(Ran { code, output: text(&ended.output), errors: text(&ended.errors) }),
        }
    }

    /// Runs commands of `sftp` in a local folder. Returns whether all succeeded; a command that begins with `-` may fail.
    pub(super) fn files(&self, dir: &Path, commands: &[String], ends: &dyn Fn() -> bool) -> Result<bool, Lost> {
        let mut command = self.command("sftp");
        command.args(["-b", "-", &self.host]).current_dir(dir);
        let ended = self.run(command, &(commands.join("\n") + "\n"), ends)?;
        match ended.status.code() {
            Some(0) => Ok(true),
            Some(CONNECTION) | None => Err(lost(&ended)),
            Some(_) => Ok(false),
        }
    }

    /// Runs a program to its end, or until `ends` or the limit.
    fn run(&self, mut command: Command, input: &str, ends: &dyn Fn() -> bool) -> Result<Ended, Lost> {
        let program = command.get_program().to_owned();
        let failed = |error: io::Error| Lost::Connection(format!("cannot run {}: {error}", program.display()));
        separate(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let output = gather(child.stdout.take());
        let errors = gather(child.stderr.take());
        if let Some(mut stdin) = child.stdin.take() {
            // A program that has ended does not read it. Its exit code says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let status = wait(&mut child, self.limit, ends)?;
        let join = |thread: thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
        Ok(Ended { status, output: join(output), errors: join(errors) })
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.disconnect();
    }
}

/// Ctrl-C of a terminal goes to its foreground group. The program that cleans up must not get it.
fn separate(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

fn gather(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is kept.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the end of a program. Stops it after the limit, or if `ends` says so.
fn wait(child: &mut Child, limit: Duration, ends: &dyn Fn() -> bool) -> Result<ExitStatus, Lost> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(Lost::Connection(error.to_string())),
        }
        let reason = if ends() {
            Lost::Interrupted
        } else if start.elapsed() >= limit {
            Lost::TimedOut
        } else {
            thread::sleep(LOOK);
            continue;
        };
        // It may have ended in the meantime, which is all the same here.
        let _ = child.kill();
        let _ = child.wait();
        return Err(reason);
    }
}

/// What the program said about a connection that failed, in one line.
fn lost(ended: &Ended) -> Lost {
    let text = String::from_utf8_lossy(&ended.errors);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Lost::Connection(if lines.is_empty() { "the program gave no reason".to_owned() } else { lines.join("; ") })
}

/// Whether every shell takes a word as it is.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
}

/// A file's name, if it can be a word of a command.
pub(super) fn plain_name(name: &OsString) -> Option<&str> {
    name.to_str().filter(|name| is_plain(name))
}

#[cfg(all(test, unix))]
mod tests {
    use super::{Ssh, is_plain, wait};
    use driver_exercise::Lost;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn a_program_is_stopped_after_the_limit_and_after_an_interrupt() {
        // It waits for input that never comes.
        let endless = || Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        assert_eq!(wait(&mut endless(), Duration::ZERO, &|| false), Err(Lost::TimedOut));
        assert_eq!(wait(&mut endless(), Duration::MAX, &|| true), Err(Lost::Interrupted));
    }

    #[test]
    fn words_that_a_shell_would_change_are_not_sent() {
        for word in ["", "a b", "a;b", "$x", "`x`", "%x%", "a\\b", "{a}", "a\nb", "'a'"] {
            assert!(!is_plain(word), "{word}");
        }
        assert!(is_plain("cargo-driver-deploy/my_driver/install.ps1"));
        assert!(is_plain("-Start"));
        for host in ["", "-oProxyCommand=x", "a b"] {
            assert!(Ssh::new(host, None, Duration::ZERO).is_err(), "{host}");
        }
    }
}
