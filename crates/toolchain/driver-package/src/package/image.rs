//! Prepares the image: checks its architecture, signs it, and checks the signed file against the loader's rules.

use super::{Request, read};
use crate::inf::Arch;
use crate::pe::Image;
use crate::problem::{Level, Problem, Problems};
use crate::rules::{Severity, Target, Verdict};
use crate::sign::{Identity, sign_image};

/// An image that is ready for the package.
pub(super) struct Prepared {
    /// The signed file.
    pub(super) bytes: Vec<u8>,
    /// The parsed image.
    pub(super) image: Image,
    /// Its architecture.
    pub(super) arch: Arch,
    /// Problems that do not prevent the package.
    pub(super) warnings: Vec<Problem>,
}

pub(super) fn prepare(request: &Request, identity: &Identity) -> Result<Prepared, Problems> {
    let file = &request.image;
    let damaged = |error: crate::Error| Problem::error(file, error.field(), error.reason());
    let bytes = read(file)?;
    let machine = Image::parse(&bytes).map_err(damaged)?.header.machine;
    let Some(arch) = Arch::from_machine(machine.0) else {
        let text = format!("it is for {machine}; packages are made for x64 and arm64");
        return Err(Problem::error(file, "machine", text).into());
    };
    if let Some(asked) = request.arch.filter(|asked| *asked != arch) {
        let text = format!("it is for {}, but a package for {} was requested", arch.name(), asked.name());
        return Err(Problem::error(file, "machine", text).into());
    }
    let signed = sign_image(&bytes, identity).map_err(damaged)?;
    let image = Image::parse(&signed).map_err(damaged)?;
    let built_for = image.framework.map(windows_releases::Client::version);
    if let (Some(asked), Some(built_for)) = (&request.kmdf, built_for)
        && *asked != built_for
    {
        let text = format!("it was built for KMDF {built_for}, but a package for KMDF {asked} was requested");
        return Err(Problem::error(file, "kmdf-version", text).into());
    }
    let verdict = Verdict::judge(&image, Target::default());
    let problem = |finding: &crate::Finding| {
        let level = match finding.rule.severity {
            Severity::Refused => Level::Error,
            Severity::MemoryIntegrity | Severity::Warning => Level::Warning,
        };
        Problem { level, ..Problem::error(file, finding.rule.id, &finding.found) }
    };
    let warnings: Vec<Problem> = verdict.findings().iter().map(problem).collect();
    if !verdict.is_loadable() {
        return Err(Problems(warnings));
    }
    Ok(Prepared { bytes: signed, image, arch, warnings })
}
