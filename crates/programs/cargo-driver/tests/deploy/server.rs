//! An SSH server on the loopback interface, with keys and a port of its own. Its sessions see a stand-in for a Windows machine.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use test_support::windows::Machine;

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// The settings of clients.
    pub(crate) config: PathBuf,
    /// How many clients have connected.
    connections: Arc<AtomicUsize>,
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The server and the folder of its libraries: the one that `cargo xtask test` unpacked, or that of the system.
fn program() -> Option<(PathBuf, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let unpacked = root.join("target/verifiers/sshd");
    let places = [unpacked, PathBuf::from("/")];
    let found = places.into_iter().find(|place| place.join("usr/sbin/sshd").is_file());
    if found.is_none() {
        eprintln!("skipped: there is no SSH server; `cargo xtask test` unpacks one if there is apt-get");
    }
    found.map(|place| (place.join("usr/sbin/sshd"), place))
}

impl Server {
    /// Starts a server for a machine. Returns `None` if there is no program for it.
    pub(crate) fn start(machine: &Machine) -> Option<Self> {
        let (sshd, place) = program()?;
        let dir = machine.path("ssh");
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir_all(machine.path("home")).unwrap();
        // The server refuses to run as root without this folder. It stays empty.
        let _ = fs::create_dir_all("/run/sshd");
        let at = |name: &str| dir.join(name).display().to_string();
        for key in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f"];
            assert!(Command::new("ssh-keygen").args(words).arg(dir.join(key)).status().unwrap().success());
        }
        fs::copy(dir.join("user.pub"), dir.join("authorized")).unwrap();
        // Each session runs here instead of in the user's home. A full disk is a limit of the size of files. The next session after
        // a file `cut` appears loses its connection.
        let session = format!(
            "#!/bin/sh\ncd '{home}' || exit 1\nif [ -e '{full}' ]; then trap '' XFSZ; ulimit -f 1; fi\n\
             if [ -e '{cut}' ]; then rm '{cut}'; kill -9 $PPID; exit 1; fi\n\
             PATH='{bin}':\"$PATH\"; export PATH\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
            home = machine.path("home").display(),
            full = machine.path("full").display(),
            cut = machine.path("cut").display(),
            bin = machine.path("").display(),
        );
        write(&dir.join("session"), &session, 0o755);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let newer = place.join("usr/lib/openssh/sshd-session");
        let newer = if newer.is_file() { format!("SshdSessionPath {}\n", newer.display()) } else { String::new() };
        let settings = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nSubsystem sftp {}\nForceCommand {}\n{newer}",
            at("host"),
            at("authorized"),
            place.join("usr/lib/openssh/sftp-server").display(),
            at("session"),
        );
        write(&dir.join("sshd_config"), &settings, 0o600);
        let config = format!(
            "Host vm\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n\
             \x20 StrictHostKeyChecking accept-new\n  LogLevel ERROR\n",
            at("user"),
            at("known"),
        );
        write(&dir.join("config"), &config, 0o600);
        let mut command = Command::new(&sshd);
        let libraries = place.join("usr/lib/x86_64-linux-gnu");
        command.args(["-D", "-e", "-f"]).arg(dir.join("sshd_config")).env("LD_LIBRARY_PATH", &libraries);
        // The server needs an account for its child, which its package would make.
        let wrapper = libraries.join("libnss_wrapper.so");
        if wrapper.is_file() {
            let accounts =
                fs::read_to_string("/etc/passwd").unwrap() + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n";
            write(&dir.join("passwd"), &accounts, 0o644);
            command.env("LD_PRELOAD", wrapper);
            command.env("NSS_WRAPPER_PASSWD", dir.join("passwd")).env("NSS_WRAPPER_GROUP", "/etc/group");
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // It says so when it listens. Later lines are read, too, so that it never waits for a reader.
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("Server listening") {
            line.clear();
            assert!(log.read_line(&mut line).unwrap() > 0, "the SSH server ended: {}", sshd.display());
        }
        let connections = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                counted.fetch_add(line.contains("Accepted publickey").into(), Ordering::SeqCst);
            }
        });
        Some(Self { child, config: dir.join("config"), connections })
    }

    /// How many clients have connected.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
