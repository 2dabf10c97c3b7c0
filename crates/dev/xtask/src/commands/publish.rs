//! `cargo xtask publish`: uploads all crates to a registry, in the order of their dependencies.

mod packages;
#[cfg(test)]
mod tests;
mod upload;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::command::{Command, Flag};
use crate::context::Context;
use driver_build::{Error, output};
use packages::{Package, obstacles, ordered, packages};
use upload::Uploads;

pub(super) const COMMAND: Command = Command {
    name: "publish",
    summary: "Publishes all crates, in order, and goes on after a failure",
    details: "\
Uploads every crate without `publish = false`, also wdk-kmdf, which is not a
member of the workspace. A crate comes after those that it depends on. A version
that the registry already has is skipped, so after a failure or Ctrl-C the same
command goes on. If the registry limits new crates, waits and tries again:
crates.io takes five at once, then one in ten minutes.
Uploads nothing while a README says that its crate is not published yet or links
to a file outside of its package, or while a crate names no repository. A clean
work tree is needed, and a token (`cargo login`).
",
    flags: &[
        Flag { name: "--dry-run", summary: "prints the order, packages, and uploads nothing" },
        Flag { name: "--registry NAME", summary: "a registry of cargo's configuration (default: crates.io)" },
    ],
    only_lists: false,
    run,
};

const DRY_RUN: &str = "--dry-run";

/// How long to wait if the registry limits new crates. crates.io allows another one after ten minutes.
const BETWEEN_NEW_CRATES: Duration = Duration::from_mins(10);

/// How many new crates crates.io takes before it limits them.
const AT_ONCE: usize = 5;

fn run(context: &Context) -> Result<(), Error> {
    let root = context.path("");
    let packages = ordered(packages(&root, || context.cargo())?)?;
    for (index, package) in packages.iter().enumerate() {
        output::print_line(&format!("{:>3}  {package}", index + 1));
    }
    let waits = u32::try_from(packages.len().saturating_sub(AT_ONCE)).unwrap_or(u32::MAX);
    let minutes = (BETWEEN_NEW_CRATES * waits).as_secs() / 60;
    output::print_line(&format!(
        "\n{} crates. If all are new on crates.io, its limit makes it {} h {} min.\n",
        packages.len(),
        minutes / 60,
        minutes % 60
    ));
    if context.has_flag(DRY_RUN) {
        package_all(context, &packages)?;
    }
    let obstacles = obstacles(&packages);
    for obstacle in &obstacles {
        output::print_line(&obstacle.to_string());
    }
    if !obstacles.is_empty() {
        let text = format!("{} obstacles, listed above: nothing was uploaded", obstacles.len());
        return Err(Error::Failed(text));
    }
    if context.has_flag(DRY_RUN) {
        output::print_line("nothing prevents the upload");
        return Ok(());
    }
    let registry = context.value("--registry");
    Uploads { cargo: &|| context.cargo(), registry, wait: BETWEEN_NEW_CRATES }.all(&packages)
}

/// Packages every crate as cargo would upload it.
fn package_all(context: &Context, packages: &[Package]) -> Result<(), Error> {
    let (members, apart): (Vec<&Package>, Vec<&Package>) = packages.iter().partition(|package| package.is_member);
    let names = members.iter().flat_map(|package| ["--package", &package.name]);
    context.cargo().args(["package", "--no-verify", "--allow-dirty"]).args(names).run()?;
    for package in apart {
        let manifest = manifest_path(&package.manifest);
        // Its dependencies are not in the registry yet, so there is nothing that a lock file could name.
        let words = ["package", "--no-verify", "--allow-dirty", "--exclude-lockfile"];
        context.cargo().args(words).args(manifest).run()?;
    }
    Ok(())
}

/// The option that names a manifest.
fn manifest_path(manifest: &Path) -> [OsString; 2] {
    ["--manifest-path".into(), manifest.into()]
}
