//! What this machine has, and the commands that install what it lacks.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::Path;

use super::plan::{Facts, PACKAGES, Rights, Route};
use super::{TARGET, note};
use crate::context::Context;
use crate::error::Error;
use crate::process::Tool;

pub(super) const DEBIAN_CARGO: &str = "/usr/bin/cargo";
pub(super) const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Looks at the machine; changes nothing.
pub(super) fn gather(context: &Context, forced: Option<Route>) -> Facts {
    Facts {
        forced,
        target_installed: has_target(context, &[], TARGET),
        rustup: context.tool("rustup").args(["--version"]).succeeds(),
        missing_packages: missing_packages(context),
        rights: rights(context),
    }
}

/// Whether the compiler in use, with these variables, comes with `core` for the target.
pub(super) fn has_target(context: &Context, env: &[(String, String)], target: &str) -> bool {
    let rustc = with(rustc(context), env);
    let answer = rustc.args(["--print", "target-libdir", "--target", target]).capture();
    let Ok(entries) = answer.map(|path| fs::read_dir(path.trim())) else {
        return false;
    };
    entries
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-")))
}

/// The linker beside the compiler where it has one, else LLVM's.
pub(super) fn linker(context: &Context) -> &'static str {
    let Ok(target_libdir) = rustc(context).args(["--print", "target-libdir"]).capture() else {
        return "lld-link";
    };
    let own = Path::new(target_libdir.trim()).with_file_name("bin");
    if own.join(format!("rust-lld{EXE_SUFFIX}")).exists() { "rust-lld" } else { "lld-link" }
}

fn rustc(context: &Context) -> Tool {
    context.tool(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

pub(super) fn add_target(context: &Context, env: &[(String, String)], target: &str) -> Result<(), Error> {
    let add = with(context.tool("rustup"), env).args(["target", "add", target]);
    add.capture().map(drop).map_err(|error| Error::Missing(first_line(&error, "error: ")))
}

fn with(tool: Tool, env: &[(String, String)]) -> Tool {
    env.iter().fold(tool, |tool, (key, value)| tool.hidden_env(key, value))
}

/// Installs a toolchain of rustup's unless it is there; returns its cargo.
pub(super) fn ensure_toolchain(context: &Context, name: &str) -> Result<String, Error> {
    let which = || context.tool("rustup").args(["which", "cargo", "--toolchain", name]).capture();
    let cargo = which().or_else(|_| {
        note(&format!("installing Rust {name} with rustup"));
        let install = ["toolchain", "install", name, "--profile", "minimal", "--no-self-update"];
        context.tool("rustup").args(install).capture()?;
        which()
    });
    cargo.map(|path| path.trim().to_owned()).map_err(|error| {
        Error::Missing(format!("Rust {name} could not be installed: {}", first_line(&error, "error: ")))
    })
}

/// The line of a program's messages that starts like this, else the last one.
fn first_line(error: &Error, start: &str) -> String {
    let text = error.to_string();
    let line = text.lines().find_map(|line| line.strip_prefix(start)).or(text.lines().last());
    line.unwrap_or_default().to_owned()
}

/// The packages that are not installed; `None` where the system has no apt-get.
pub(super) fn missing_packages(context: &Context) -> Option<Vec<&'static str>> {
    let is_missing = |package: &&str| {
        let query = ["--show", "--showformat=${db:Status-Status}", *package];
        context.tool("dpkg-query").args(query).capture() != Ok(String::from("installed"))
    };
    has_apt(context).then(|| PACKAGES.into_iter().filter(is_missing).collect())
}

pub(super) fn has_apt(context: &Context) -> bool {
    context.tool("apt-get").args(["--version"]).succeeds()
}

pub(super) fn rights(context: &Context) -> Rights {
    let user = context.tool("id").args(["-u"]).capture();
    if user.is_ok_and(|id| id.trim() == "0") {
        Rights::Root
    } else if context.tool("sudo").args(["-n", "true"]).succeeds() {
        Rights::Sudo
    } else {
        Rights::None
    }
}

/// Refreshes the package lists and installs.
pub(super) fn apt_install(context: &Context, packages: &[&str], rights: Rights) -> Result<(), Error> {
    let apt_get = || {
        let tool = match rights {
            Rights::Sudo => context.tool("sudo").args(["-n", "apt-get"]),
            Rights::Root | Rights::None => context.tool("apt-get"),
        };
        tool.hidden_env("DEBIAN_FRONTEND", "noninteractive")
    };
    apt_get().args(["--quiet", "update"]).capture()?;
    apt_get().args(["--quiet", "install", "--yes", "--no-install-recommends"]).args(packages).capture().map(drop)
}
