//! Gathers facts about this machine, and runs the commands that install what is missing.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::Path;

use super::plan::{Facts, MANAGERS, PACKAGES, Rights, Route};
use crate::error::Error;
use crate::host::Host;
use crate::output::note;
use crate::process::Tool;
use crate::toolchain::TARGET;

/// Gathers the facts; changes nothing. If the target is installed, the other facts are not needed and not gathered,
/// because that takes longer than a build without changes.
pub(super) fn gather(host: &Host, forced: Option<Route>) -> Facts {
    let target_installed = has_target(host, &[], TARGET);
    if target_installed && forced != Some(Route::Debian) {
        return Facts { forced, target_installed, rustup: false, missing_packages: None, rights: Rights::None };
    }
    Facts {
        forced,
        target_installed,
        rustup: host.tool("rustup").args(["--version"]).succeeds(),
        missing_packages: missing_packages(host),
        rights: rights(host),
    }
}

/// Whether the compiler that runs with these variables has `core` for the target.
pub(super) fn has_target(host: &Host, env: &[(String, String)], target: &str) -> bool {
    let rustc = with(rustc(host), env);
    let output = rustc.args(["--print", "target-libdir", "--target", target]).capture();
    let Ok(entries) = output.map(|path| fs::read_dir(path.trim())) else {
        return false;
    };
    entries
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-")))
}

/// The compiler's own linker `rust-lld` if it has one, otherwise LLVM's `lld-link`.
pub(super) fn linker(host: &Host) -> &'static str {
    let Ok(target_libdir) = rustc(host).args(["--print", "target-libdir"]).capture() else {
        return "lld-link";
    };
    let own = Path::new(target_libdir.trim()).with_file_name("bin");
    if own.join(format!("rust-lld{EXE_SUFFIX}")).exists() { "rust-lld" } else { "lld-link" }
}

fn rustc(host: &Host) -> Tool {
    host.tool(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

pub(super) fn add_target(host: &Host, env: &[(String, String)], target: &str) -> Result<(), Error> {
    let add = with(host.tool("rustup"), env).args(["target", "add", target]);
    add.capture().map(drop).map_err(|error| Error::Missing(first_line(&error, "error: ")))
}

/// The program with these variables, which are not shown.
pub(super) fn with(tool: Tool, env: &[(String, String)]) -> Tool {
    env.iter().fold(tool, |tool, (key, value)| tool.hidden_env(key, value))
}

/// Installs a rustup toolchain if it is missing; returns the path of its cargo.
pub(super) fn ensure_toolchain(host: &Host, name: &str) -> Result<String, Error> {
    let which = || host.tool("rustup").args(["which", "cargo", "--toolchain", name]).capture();
    let cargo = which().or_else(|_| {
        host.permit_for_driver(&format!("Rust {name}"), &format!("rustup toolchain install {name} --profile minimal"))?;
        note(&format!("installing Rust {name} with rustup"));
        let install = ["toolchain", "install", name, "--profile", "minimal", "--no-self-update"];
        host.tool("rustup").args(install).capture()?;
        which()
    });
    cargo.map(|path| path.trim().to_owned()).map_err(|error| {
        Error::Missing(format!("Rust {name} could not be installed: {}", first_line(&error, "error: ")))
    })
}

/// The first line of a program's messages that starts with `start`, without that start; otherwise the last line.
fn first_line(error: &Error, start: &str) -> String {
    let text = error.to_string();
    let line = text.lines().find_map(|line| line.strip_prefix(start)).or(text.lines().last());
    line.unwrap_or_default().to_owned()
}

/// The packages that are not installed; `None` if the system has no apt-get.
pub(super) fn missing_packages(host: &Host) -> Option<Vec<&'static str>> {
    let is_missing = |package: &&str| {
        let query = ["--show", "--showformat=${db:Status-Status}", *package];
        host.tool("dpkg-query").args(query).capture() != Ok(String::from("installed"))
    };
    has_apt(host).then(|| PACKAGES.into_iter().filter(is_missing).collect())
}

/// The system's program that installs packages.
pub(super) fn manager(host: &Host) -> Option<&'static str> {
    MANAGERS.into_iter().map(|(program, ..)| program).find(|program| host.tool(*program).args(["--version"]).starts())
}

/// Whether the system has apt-get.
pub fn has_apt(host: &Host) -> bool {
    host.tool("apt-get").args(["--version"]).succeeds()
}

/// How this user can install packages.
pub fn rights(host: &Host) -> Rights {
    let user = host.tool("id").args(["-u"]).capture();
    if user.is_ok_and(|id| id.trim() == "0") {
        Rights::Root
    } else if host.tool("sudo").args(["-n", "true"]).succeeds() {
        Rights::Sudo
    } else {
        Rights::None
    }
}

/// Updates the package lists and installs the packages.
///
/// # Errors
///
/// If apt-get fails.
pub fn apt_install(host: &Host, packages: &[&str], rights: Rights) -> Result<(), Error> {
    let apt_get = || {
        let tool = match rights {
            Rights::Sudo => host.tool("sudo").args(["-n", "apt-get"]),
            Rights::Root | Rights::None => host.tool("apt-get"),
        };
        tool.hidden_env("DEBIAN_FRONTEND", "noninteractive")
    };
    apt_get().args(["--quiet", "update"]).capture()?;
    apt_get().args(["--quiet", "install", "--yes", "--no-install-recommends"]).args(packages).capture().map(drop)
}
