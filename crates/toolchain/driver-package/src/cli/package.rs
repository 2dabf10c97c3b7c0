//! `package`: makes a test-signed driver package.
//!
//! Exit codes: 0 if the package was made, 1 if an input is not valid, 2 if the command line is wrong or a file cannot be
//! read or written.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use command_line::{Activity, Deferred, escaped, exit, print, shown};

use super::Outcome;
use super::failure::Failure;
use crate::catalog::Version;
use crate::inf::Arch;
use crate::package::{Clock, Package, Request, Scripts};
use crate::sign::{Identity, TEST_NAME, test_identity};
use crate::{Problem, Problems};

/// Make a test-signed driver package from an image and an .inx
#[derive(Args)]
#[command(
    after_help = "Environment: SOURCE_DATE_EPOCH, seconds since 1970, is the time in DriverVer and in the catalog; \
                        without it, the current time.\n\nExit codes: 0 the package was made; 1 an input is not valid, with \
                        file, line and rule; 2 wrong usage, or a file that cannot be read or written."
)]
pub(super) struct Arguments {
    /// The image that the linker made: .dll or .sys
    #[arg(long, value_name = "FILE")]
    image: PathBuf,
    /// The .inx file; the package has the same name
    #[arg(long, value_name = "FILE")]
    inx: PathBuf,
    /// The folder for the package; an existing package is replaced
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Refuse an image for another processor
    #[arg(long, value_parser = super::arch())]
    arch: Option<Arch>,
    /// The version of KMDF, for $KMDFVERSION$
    #[arg(long, value_name = "MAJ.MIN")]
    kmdf: Option<String>,
    /// Sign with this PEM file: a code signing certificate and its RSA key. Without it, sign with a test certificate,
    /// which is made once
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// The folder with the test certificate and its key
    #[arg(long, value_name = "FOLDER", default_value = "target/signing")]
    keys: PathBuf,
    /// The version of the catalog format
    #[arg(long, value_name = "VERSION", default_value = "v2", value_parser = PossibleValuesParser::new(["v1", "v2"])
        .map(|name| if name == "v1" { Version::V1 } else { Version::V2 }))]
    catalog: Version,
    /// Accept the class `Sample`, which is Microsoft's, for one of Microsoft's samples
    #[arg(long)]
    sample: bool,
    /// A folder with PowerShell scripts, which are used instead of the built-in ones
    #[arg(long, value_name = "FOLDER")]
    scripts: Option<PathBuf>,
    /// The driver's ETW provider, for the scripts and the profile (default: from the image)
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// etwctl.exe, which is signed and added to the package
    #[arg(long, value_name = "FILE")]
    etwctl: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|value| !value.is_empty());
    let clock = Clock::new(SystemTime::now(), epoch.as_deref()).map_err(Failure::Clock)?;
    let activity = Activity::begin("making the package");
    let (made, was_interrupted) = make(arguments, clock);
    drop(activity);
    Ok(match made {
        Err(_) if was_interrupted => exit::INTERRUPTED,
        Ok(package) => {
            for warning in &package.warnings {
                command_line::info(&warning.to_string());
            }
            print(&summary(&package, &arguments.out));
            exit::SUCCESS
        }
        Err(problems) => super::refused(&problems),
    })
}

/// Makes the package. Also returns whether an interrupt stopped the last step, which removes what it wrote.
fn make(options: &Arguments, clock: Clock) -> (Result<Package, Problems>, bool) {
    let package = match prepare(options, clock) {
        Ok(package) => package,
        Err(problems) => return (Err(problems), false),
    };
    let interrupts = Deferred::begin();
    let written = package.write_unless(&options.out, &|| interrupts.is_interrupted());
    (written.map(|()| package).map_err(Problems::from), interrupts.is_interrupted())
}

fn prepare(options: &Arguments, clock: Clock) -> Result<Package, Problems> {
    let identity: Result<Identity, Problem> = match &options.cert {
        Some(file) => Identity::load(file, clock.now),
        None => test_identity(&options.keys, clock.now),
    };
    request(options, clock).make(&identity?)
}

fn summary(package: &Package, out: &Path) -> String {
    let mut text = format!("{} ({})\n", shown(out), package.arch.name());
    for (name, bytes) in package.files() {
        let _ = writeln!(text, "  {} ({} bytes)", escaped(name), bytes.len());
    }
    text
}

fn request(options: &Arguments, clock: Clock) -> Request {
    let stem = options.cert.as_ref().and_then(|file| file.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    Request {
        image: options.image.clone(),
        inx: options.inx.clone(),
        arch: options.arch,
        kmdf: options.kmdf.clone(),
        catalog: options.catalog,
        is_sample: options.sample,
        scripts: options.scripts.clone().map_or(Scripts::BuiltIn, Scripts::In),
        provider: options.provider.clone(),
        etwctl: options.etwctl.clone(),
        certificate: stem.unwrap_or_else(|| TEST_NAME.into()),
        time: clock.stamp,
    }
}
