//! What this machine has, and the commands that install what it lacks.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::Path;

use super::TARGET;
use super::plan::{Facts, PACKAGES, Rights, Route};
use crate::context::Context;
use crate::error::Error;
use crate::process::Tool;

pub(super) const DEBIAN_CARGO: &str = "/usr/bin/cargo";
pub(super) const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Looks at the machine; changes nothing.
pub(super) fn gather(context: &Context, forced: Option<Route>) -> Facts {
    Facts {
        forced,
        target_installed: has_target(context, TARGET, None),
        rustup: context.tool("rustup").args(["--version"]).succeeds(),
        missing_packages: missing_packages(context),
        rights: rights(context),
    }
}

/// Whether the compiler in use, or that of another toolchain, comes with `core` for the target.
pub(super) fn has_target(context: &Context, target: &str, toolchain: Option<&str>) -> bool {
    let rustc = toolchain.map_or_else(|| rustc(context), |name| context.tool("rustc").hidden_env("RUSTUP_TOOLCHAIN", name));
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

pub(super) fn add_target(context: &Context, target: &str, toolchain: Option<&str>) -> Result<(), Error> {
    let which = toolchain.map(|name| ["--toolchain", name]);
    context.tool("rustup").args(["target", "add", target]).args(which.into_iter().flatten()).capture().map(drop)
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
