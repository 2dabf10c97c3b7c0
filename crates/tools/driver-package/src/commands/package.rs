//! `package`: a test-signed driver package.
//!
//! Exit codes: 0 when the package was made, 1 when its inputs are not right, 2 when the command line is wrong.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use driver_package::catalog::Version;
use driver_package::inf::Arch;
use driver_package::package::{Clock, Package, Request};
use driver_package::sign::{Identity, TEST_NAME, test_identity};
use driver_package::{Problem, Problems};

use super::{Command, Outcome, print};

pub(crate) const COMMAND: Command = Command { name: "package", help: || HELP.into(), run };

const HELP: &str = "\
Makes a test-signed driver package of an image and an .inx

Usage: driver-package package --image FILE --inx FILE --out FOLDER [flags]

Flags:
  --image FILE       what the linker made: .dll or .sys
  --inx FILE         how it is installed; the package has its name
  --out FOLDER       where the package goes; one that is there is replaced
  --arch x64|arm64   refuses an image for another processor
  --kmdf MAJ.MIN     the framework's version, for $KMDFVERSION$
  --cert FILE        signs with this PEM: a code signing certificate and its
                     RSA key; without, with a test certificate, made once
  --keys FOLDER      where the test certificate and its key are kept
                     (target/signing)
  --catalog v1|v2    the catalog's generation (v2)
  --scripts FOLDER   PowerShell scripts that go into the package
  --provider NAME    the driver's ETW provider, for scripts and the profile
  --etwctl FILE      etwctl.exe, which is signed and goes into the package
  --help             prints this text (also -h)

Environment: SOURCE_DATE_EPOCH, seconds since 1970, is the time that DriverVer
and the catalog say; without, it is now.

Exit codes: 0 the package was made; 1 an input is not right, with file, line and
rule; 2 wrong usage.
";

struct Options {
    request: Request,
    out: PathBuf,
    cert: Option<PathBuf>,
    keys: PathBuf,
}

fn run(words: &[OsString]) -> Outcome {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|value| !value.is_empty());
    let clock = Clock::new(SystemTime::now(), epoch.as_deref())?;
    let options = parse(words, clock)?;
    Ok(match make(&options, clock) {
        Ok(package) => {
            for warning in &package.warnings {
                eprintln!("{warning}");
            }
            print(&summary(&package, &options.out))
        }
        Err(problems) => {
            eprintln!("{problems}");
            1
        }
    })
}

fn make(options: &Options, clock: Clock) -> Result<Package, Problems> {
    let identity: Result<Identity, Problem> = match &options.cert {
        Some(file) => Identity::load(file, clock.now),
        None => test_identity(&options.keys, clock.now),
    };
    let package = options.request.make(&identity?)?;
    package.write(&options.out)?;
    Ok(package)
}

fn summary(package: &Package, out: &Path) -> String {
    let mut text = format!("{} ({})\n", out.display(), package.arch.name());
    for (name, bytes) in package.files() {
        let _ = writeln!(text, "  {name} ({} bytes)", bytes.len());
    }
    text
}

fn parse(words: &[OsString], clock: Clock) -> Result<Options, String> {
    let (mut image, mut inx, mut out, mut cert, mut scripts, mut etwctl) = (None, None, None, None, None, None);
    let (mut arch_asked, mut kmdf, mut provider, mut keys) = (None, None, None, PathBuf::from("target/signing"));
    let mut catalog = Version::V2;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let flag = word.to_string_lossy();
        let mut value = || words.next().ok_or_else(|| format!("`{flag}` needs a value"));
        let text = |value: &OsString| {
            value
                .to_str()
                .map(String::from)
                .ok_or_else(|| format!("`{flag}`: `{}` is not valid UTF-8", value.as_encoded_bytes().escape_ascii()))
        };
        match flag.as_ref() {
            "--image" => image = Some(PathBuf::from(value()?)),
            "--inx" => inx = Some(PathBuf::from(value()?)),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--cert" => cert = Some(PathBuf::from(value()?)),
            "--scripts" => scripts = Some(PathBuf::from(value()?)),
            "--etwctl" => etwctl = Some(PathBuf::from(value()?)),
            "--keys" => keys = PathBuf::from(value()?),
            "--arch" => arch_asked = Some(arch(words.next())?),
            "--kmdf" => kmdf = Some(text(value()?)?),
            "--provider" => provider = Some(text(value()?)?),
            "--catalog" => {
                catalog = match text(value()?)?.as_str() {
                    "v1" => Version::V1,
                    "v2" => Version::V2,
                    other => return Err(format!("`--catalog {other}` is neither `v1` nor `v2`")),
                }
            }
            other if other.starts_with('-') => return Err(format!("unknown flag `{other}`")),
            other => return Err(format!("unexpected argument `{other}`")),
        }
    }
    let needed = |name: &str| format!("`{name}` is needed");
    let stem = cert.as_ref().and_then(|file| file.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    Ok(Options {
        request: Request {
            image: image.ok_or_else(|| needed("--image FILE"))?,
            inx: inx.ok_or_else(|| needed("--inx FILE"))?,
            arch: arch_asked,
            kmdf,
            catalog,
            scripts,
            provider,
            etwctl,
            certificate: stem.unwrap_or_else(|| TEST_NAME.into()),
            time: clock.stamp,
        },
        out: out.ok_or_else(|| needed("--out FOLDER"))?,
        cert,
        keys,
    })
}

/// The value of `--arch`.
pub(super) fn arch(word: Option<&OsString>) -> Result<Arch, String> {
    let name = word.ok_or("`--arch` needs a value")?.to_string_lossy();
    Arch::parse(&name).ok_or_else(|| format!("`--arch {name}` is neither `x64` nor `arm64`"))
}
