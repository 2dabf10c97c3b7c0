//! `cargo xtask package`: a test-signed package of the sample driver, or of yours.
//!
//! The driver is built as `build` does; the package is the work of `driver-package`. `--adopt` builds nothing: it
//! completes a package that the WDK made.

mod etwctl;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::build::{SETUP, TOOLS, options};
use crate::cli::{Command, Flag};
use crate::context::Context;
use crate::driver::{self, Options};
use crate::error::Error;
use crate::process::Tool;
use crate::setup::note;
use crate::steps::{Outcome, Step, run_all};

pub(super) const COMMAND: Command = Command {
    name: "package",
    summary: "Makes a test-signed package of the sample driver, or yours",
    details: "\
Builds the driver, then makes target/package/x64 or target/package/arm64: the
signed image, the stamped INF, the signed catalog, the certificate, and scripts
that install it on a test machine. The INF is held against rules of infverif,
the image against those of the loader. The test certificate is made once; its
key stays in target/signing. SOURCE_DATE_EPOCH makes packages reproducible.
A driver's own scripts are those in the folder `deploy` beside its Cargo.toml.
With --adopt, the scripts, a description and a recording profile are added to a
package that `cargo wdk build` or `cargo make` made on Windows, and nothing is
built. It works on every host.
",
    flags: &[
        Flag { name: "--adopt FOLDER", summary: "completes a package of the WDK instead" },
        Flag { name: "--replace", summary: "with --adopt: replaces files that differ" },
        Flag { name: "--with-etwctl", summary: "adds etwctl.exe, built for Windows on x64" },
        Flag { name: "--arch x64|arm64", summary: "the processor (x64)" },
        Flag { name: "--cert FILE", summary: "PEM: a code signing certificate and its RSA key" },
        Flag { name: "--catalog v1|v2", summary: "the catalog's generation (v2)" },
        Flag { name: "--provider NAME", summary: "the driver's ETW provider, for record.ps1 and WPR" },
        Flag { name: "--debug", summary: "packages the dev profile instead of release" },
        Flag { name: "--manifest-path PATH", summary: "a driver's Cargo.toml (driver-sample's)" },
    ],
    run,
};

const SAMPLE_PROVIDER: &str = "WdkEtw.DriverSample";
const SCRIPTS: &str = "driver-sample/deploy";

/// What the sample's package is called by either pipeline of the WDK.
const SAMPLE_PACKAGE: &str = "driver_sample_package";

fn run(context: &Context) -> Result<(), Error> {
    // A wrong word is an error before anything is installed.
    options(context)?;
    if let Some(folder) = value(context, "--adopt") {
        return adopt(context, Path::new(folder));
    }
    if context.has_flag("--replace") {
        return Err(Error::Usage("`--replace` goes with `--adopt`; a package of ours is always replaced".into()));
    }
    let step = Step { name: "package", what: "driver, signatures, catalog and scripts", required: false, run: package };
    run_all(context, &[SETUP, TOOLS, step])
}

fn package(context: &Context) -> Result<Outcome, Error> {
    let Some(toolchain) = context.windows.get() else {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    };
    let options = options(context)?;
    let images = driver::build(context, toolchain, &options)?;
    let mut pairs = Vec::new();
    for image in &images {
        match setup_file(image, &options.manifest) {
            Some(inx) => pairs.push((image, inx)),
            None => note(&format!("{} has no .inx of its name, so there is no package of it", image.display())),
        }
    }
    if pairs.is_empty() {
        return Err(Error::Failed("the driver has no .inx beside its Cargo.toml to say how it is installed".into()));
    }
    for (image, inx) in &pairs {
        let arch = options.arch.name();
        let name = image.file_stem().unwrap_or_default().to_string_lossy();
        let folder = if pairs.len() == 1 { arch.to_owned() } else { format!("{arch}-{name}") };
        make(context, &options, image, inx, &context.path("target/package").join(folder))?;
    }
    Ok(Outcome::Passed)
}

/// Adds our files to a package of the WDK.
fn adopt(context: &Context, folder: &Path) -> Result<(), Error> {
    let useless = ["--arch", "--cert", "--catalog", "--debug"];
    if let Some(flag) = useless.into_iter().find(|flag| context.has_flag(flag)) {
        let text = format!("`{flag}` does not go with `--adopt`: the package is made and signed already");
        return Err(Error::Usage(text));
    }
    let here = |path: &Path| env::current_dir().unwrap_or_default().join(path);
    let mut tool = tool(context, "adopt");
    // A driver of the user's has its scripts beside its manifest; the sample's are built in.
    let own = options(context)?.manifest.with_file_name("deploy");
    if own.is_dir() {
        tool = tool.args(["--scripts".into(), own]);
    }
    match value(context, "--provider") {
        Some(name) => tool = tool.args(["--provider", name]),
        None if folder.ends_with(SAMPLE_PACKAGE) => tool = tool.args(["--provider", SAMPLE_PROVIDER]),
        None => {}
    }
    if context.has_flag("--replace") {
        tool = tool.args(["--replace"]);
    }
    if context.has_flag(etwctl::FLAG) {
        tool = tool.args(["--etwctl".into(), etwctl::build(context)?]);
    }
    tool.args([here(folder)]).run_ours()
}

/// `driver-package COMMAND`, built when needed.
fn tool(context: &Context, command: &str) -> Tool {
    context.cargo().args(["run", "--quiet", "--package", "driver-package", "--", command])
}

/// The driver's `.inx`: where the user edits it, or where the build put it.
fn setup_file(image: &Path, manifest: &Path) -> Option<PathBuf> {
    let copy = image.with_extension("inx");
    let own = manifest.with_file_name(copy.file_name()?);
    [own, copy].into_iter().find(|path| path.is_file())
}

fn make(context: &Context, options: &Options, image: &Path, inx: &Path, out: &Path) -> Result<(), Error> {
    let beside = options.manifest.parent().unwrap_or(&options.manifest);
    let is_sample = beside.ends_with("driver-sample");
    let own = beside.join("deploy");
    let mut tool = tool(context, "package")
        .args(["--image".as_ref(), image.as_os_str()])
        .args(["--inx".as_ref(), inx.as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .args(["--arch", options.arch.name()])
        .args(["--keys".as_ref(), context.path("target/signing").as_os_str()])
        .args(["--scripts".into(), if own.is_dir() { own } else { context.path(SCRIPTS) }]);
    if let Some(version) = framework_version(context, &options.manifest) {
        tool = tool.args(["--kmdf", &version]);
    }
    if let Some(file) = value(context, "--cert") {
        // Relative to where the user is.
        tool = tool.args([PathBuf::from("--cert"), env::current_dir().unwrap_or_default().join(file)]);
    }
    if let Some(version) = value(context, "--catalog") {
        tool = tool.args(["--catalog", version]);
    }
    match value(context, "--provider") {
        Some(name) => tool = tool.args(["--provider", name]),
        None if is_sample => tool = tool.args(["--provider", SAMPLE_PROVIDER]),
        None => {}
    }
    if context.has_flag(etwctl::FLAG) {
        tool = tool.args(["--etwctl".into(), etwctl::build(context)?]);
    }
    tool.run_ours()
}

/// The word behind a flag; its shape has been checked.
fn value<'a>(context: &'a Context, flag: &str) -> Option<&'a str> {
    let words = context.words();
    let place = words.iter().position(|word| word == flag)?;
    words.get(place + 1).map(String::as_str)
}

/// The version of KMDF that the driver's manifest names, or its workspace's.
fn framework_version(context: &Context, manifest: &Path) -> Option<String> {
    let own = fs::read_to_string(manifest).ok().and_then(|text| version_in(&text));
    own.or_else(|| {
        let locate = ["locate-project", "--workspace", "--message-format", "plain", "--manifest-path"];
        let root = context.cargo().args(locate).args([manifest]).capture().ok()?;
        version_in(&fs::read_to_string(root.trim()).ok()?)
    })
}

/// From the lines of `[….metadata.wdk.driver-model]`.
fn version_in(manifest: &str) -> Option<String> {
    let number = |key: &str| {
        let lines = manifest.lines().filter_map(|line| line.split('#').next()?.split_once('='));
        let (_, value) = lines.into_iter().find(|(name, _)| name.trim() == key)?;
        value.trim().parse::<u8>().ok()
    };
    Some(format!("{}.{}", number("kmdf-version-major")?, number("target-kmdf-version-minor")?))
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn the_frameworks_version_is_read_from_the_manifest() {
        let manifest = "[package.metadata.wdk.driver-model]\ndriver-type = \"KMDF\"\nkmdf-version-major = 1 # one\n\
                        target-kmdf-version-minor = 33\n";
        assert_eq!(version_in(manifest), Some("1.33".into()));
        assert_eq!(version_in("[package]\nname = \"wdm\"\n"), None);
    }
}
