//! The command built for Windows, run under Wine: it starts, prints its help, decodes a file, and reports that the rest is not
//! supported. The results of Wine's ETW stubs prove nothing about sessions on Windows.
//!
//! If Wine, the cross linker or Rust's library for the target is missing, the test prints that and is skipped.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common;
use crate::common::{Run, demo_trace};

const TARGET: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc";
const WINES: [&str; 5] = ["wine64", "wine", "wine64-stable", "wine-stable", "/usr/lib/wine/wine64"];

/// Source of a library for random bytes that Rust's standard library imports and that Wine before version 9 does not have.
const RANDOM: &str = "#include <windows.h>\n\
    BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);\n\
    __declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)\n\
    { return SystemFunction036(data, (ULONG)length); }\n";

/// A Wine prefix with the command.
struct Wine {
    wine: &'static str,
    folder: PathBuf,
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

impl Wine {
    /// Builds the command and finds Wine. The error says what is missing.
    fn new() -> Result<Self, String> {
        // Asking for the version does not create a prefix.
        let wine = WINES.into_iter().find(|wine| succeeds(Command::new(wine).arg("--version")));
        let wine = wine.ok_or("Wine is not installed (Debian: wine64)")?;
        if !succeeds(Command::new(LINKER).arg("--version")) {
            return Err(format!("{LINKER} is not installed (Debian: gcc-mingw-w64-x86-64)"));
        }
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let library = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
        let library = library.map_err(|error| error.to_string())?.stdout;
        if !Path::new(String::from_utf8_lossy(&library).trim()).is_dir() {
            return Err(format!("Rust's library for {TARGET} is not installed (rustup target add {TARGET})"));
        }
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wine");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // With the same settings as in the test of `cargo xtask package`, so that it is compiled for Windows once.
        let settings = [("OPT_LEVEL", "0"), ("LTO", "off"), ("CODEGEN_UNITS", "16")];
        build
            .args(["build", "--quiet", "--release", "--no-default-features", "--package", "etwctl", "--target", TARGET])
            .envs(settings.map(|(setting, value)| (format!("CARGO_PROFILE_RELEASE_{setting}"), value)))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let files = test_support::images::built(&mut build)
            .unwrap_or_else(|said| panic!("the build for Windows failed: {said}"));
        fs::copy(test_support::images::named(&files, "etwctl.exe")?, folder.join("etwctl.exe"))
            .map_err(|error| error.to_string())?;
        let source = folder.join("random.c");
        fs::write(&source, RANDOM).map_err(|error| error.to_string())?;
        let mut linker = Command::new(LINKER);
        linker.arg("-shared").arg("-o").arg(folder.join("bcryptprimitives.dll")).arg(source).arg("-ladvapi32");
        assert!(succeeds(&mut linker), "the library for random bytes was not built");
        Ok(Self { wine, folder })
    }

    /// Runs the command. Wine's server ends when it has been idle for a while; a command that connects at that moment fails
    /// before it starts, and is run again.
    fn etwctl(&self, line: &str) -> Run {
        const LOST_SERVER: [&str; 2] = ["wine client error", "wine server seems to be running"];
        let attempts = (0..10).map(|_| self.once(line));
        let mut attempts = attempts.skip_while(|run| LOST_SERVER.iter().any(|lost| run.err.contains(lost)));
        attempts.next().expect("Wine's server stays for one of ten attempts")
    }

    fn once(&self, line: &str) -> Run {
        // Files instead of pipes: Wine's services inherit them, and a pipe ends only seconds later, when the services do.
        let [out, err] = ["out", "err"].map(|name| self.folder.join(name));
        let status = Command::new(self.wine)
            .arg(self.folder.join("etwctl.exe"))
            .args(line.split_whitespace())
            .env("WINEPREFIX", self.folder.join("prefix"))
            .env("WINEDEBUG", "-all")
            .env_remove("DISPLAY")
            .stdin(Stdio::null())
            .stdout(File::create(&out).expect("a file"))
            .stderr(File::create(&err).expect("a file"))
            .status();
        let [stdout, stderr] = [out, err].map(|path| fs::read(path).expect("what it printed"));
        Output { status: status.expect("Wine starts"), stdout, stderr }.into()
    }
}

#[test]
fn the_command_for_windows_does_what_wine_supports() {
    let wine = match Wine::new() {
        Ok(wine) => wine,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let help = wine.etwctl("--help");
    assert_eq!(help.code, 0, "{}{}", help.out, help.err);
    assert!(help.out.contains("Usage: etwctl"), "{}", help.out);
    assert!(help.out.contains("This is Wine"), "{}", help.out);

    // The command under Wine decodes a file to the same events as the command of this system.
    let path = demo_trace("wine.etl");
    let there = wine.etwctl(&format!("decode Z:{} --json", path.display()));
    assert_eq!(there.code, 0, "{}", there.err);
    let here = common::etwctl(&format!("decode {} --json", path.display()));
    assert_eq!(there.out.replace("\r\n", "\n"), here.out);
    fs::remove_file(path).expect("the trace was written");

    // Functions for which Wine returns 120, that Wine does not have, or in which it would abort.
    for line in ["info set 18 on --session x", "info get 19", "info get 7", "providers", "info get 4 --session x"] {
        let run = wine.etwctl(line);
        assert_eq!(run.code, 5, "{line}: {}{}", run.out, run.err);
        assert!(run.err.contains("120 CALL_NOT_IMPLEMENTED: not supported here"), "{line}: {}", run.err);
    }

    // Wine's stubs return success, so the commands succeed. A warning says that this proves nothing.
    for line in ["sessions", "start x --real-time", "enable x P --pid 4 --event-id 1", "flush x", "stop x"] {
        assert_eq!(wine.etwctl(line).code, 0, "{line}");
    }
    assert!(wine.etwctl("start x --real-time").err.contains("This is Wine"));
    let live = wine.etwctl("record P --for 1s");
    assert_eq!(live.code, 1, "{}", live.err);
    assert!(live.err.contains("the system has no consumers (Wine)"), "{}", live.err);
    assert_eq!(wine.etwctl("record --demo").code, 5);
    let driver = wine.etwctl("record P --driver x.sys");
    assert_eq!(driver.code, 5, "{}", driver.err);
    assert!(driver.err.contains("--driver is for Linux on x86-64"), "{}", driver.err);
}
