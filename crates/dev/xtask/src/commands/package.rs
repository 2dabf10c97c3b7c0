//! `cargo xtask package`: makes a test-signed package of the sample driver, or of another driver.

use std::env;
use std::path::Path;

use driver_build::{Error, PackageOptions, prepare};

use super::build::{SETUP, TOOLS, options};
use super::etwctl;
use crate::command::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};

pub(super) const COMMAND: Command = Command {
    name: "package",
    summary: "Makes a test-signed package of the sample driver, or yours",
    details: "\
Builds the driver, then makes target/package/x64 or target/package/arm64: the
signed image, the stamped INF, the signed catalog, the certificate, and scripts
that install it on a test machine. Checks the INF with rules of infverif, and
the image with the rules of the Windows loader. Makes the test certificate
once; its key stays in target/signing. SOURCE_DATE_EPOCH makes packages
reproducible. Scripts in the folder `deploy` beside the driver's Cargo.toml
replace ours.
With --adopt, adds the scripts, a description and a recording profile to a
package that `cargo wdk build` or `cargo make` made on Windows, and builds
nothing. This works on every host.
",
    flags: &[
        Flag { name: "--adopt FOLDER", summary: "completes a package made with the WDK instead" },
        Flag { name: "--replace", summary: "with --adopt: replaces files that differ" },
        Flag { name: "--with-etwctl", summary: "adds etwctl.exe, built for Windows on x64" },
        Flag { name: "--arch x64|arm64", summary: "the processor (default: x64)" },
        Flag { name: "--cert FILE", summary: "PEM file: a code signing certificate and its RSA key" },
        Flag { name: "--catalog v1|v2", summary: "the version of the catalog (default: v2)" },
        Flag { name: "--provider NAME", summary: "the driver's ETW provider, for record.ps1 and WPR" },
        Flag { name: "--debug", summary: "packages the dev profile instead of release" },
        Flag { name: "--manifest-path PATH", summary: "a driver's Cargo.toml (default: driver-sample's)" },
    ],
    only_lists: false,
    run,
};

const SAMPLE_PROVIDER: &str = "WdkEtw.DriverSample";

/// The folder that cargo-wdk and cargo-make create for the sample's package.
const SAMPLE_PACKAGE: &str = "driver_sample_package";

fn run(context: &Context) -> Result<(), Error> {
    // Reject a wrong command line before anything is installed.
    let manifest = options(context)?.manifest;
    if let Some(dir) = context.value("--adopt") {
        let useless = ["--arch", "--cert", "--catalog", "--debug"];
        if let Some(flag) = useless.into_iter().find(|flag| context.has_flag(flag)) {
            let text = format!("`{flag}` cannot be used with `--adopt`: the package is already made and signed");
            return Err(Error::Usage(text));
        }
        let dir = here(dir);
        let package = package_options(context, dir.ends_with(SAMPLE_PACKAGE))?;
        return driver_build::adopt(context, &manifest, &dir, &package, context.has_flag("--replace"));
    }
    if context.has_flag("--replace") {
        return Err(Error::Usage("`--replace` needs `--adopt`; other packages are always replaced".into()));
    }
    let step = Step { name: "package", what: "driver, signatures, catalog and scripts", required: false, run: package };
    run_all(context, &[SETUP, TOOLS, step])
}

fn package(context: &Context) -> Result<Outcome, Error> {
    let options = options(context)?;
    let is_sample = options.manifest.ends_with("driver-sample/Cargo.toml");
    let plan = prepare(context, &options)?;
    driver_build::package(context, &plan, &package_options(context, is_sample)?)?;
    Ok(Outcome::Passed)
}

fn package_options(context: &Context, is_sample: bool) -> Result<PackageOptions, Error> {
    let provider = context.value("--provider").or(is_sample.then_some(SAMPLE_PROVIDER));
    let etwctl = if context.has_flag(etwctl::FLAG) { Some(etwctl::build(context)?) } else { None };
    Ok(PackageOptions {
        out: context.path("target/package"),
        keys: context.path("target/signing"),
        cert: context.value("--cert").map(here),
        catalog: context.value("--catalog").map(str::to_owned),
        provider: provider.map(str::to_owned),
        etwctl,
        is_sample: false,
    })
}

/// Returns a path relative to the user's folder.
fn here(path: impl AsRef<Path>) -> std::path::PathBuf {
    env::current_dir().unwrap_or_default().join(path)
}
