//! Makes a driver package: from an image and an `.inx` to a folder that Windows can install.
//!
//! Everything is created and checked in memory. Then either the complete folder is put in place, or nothing. The same
//! inputs, key and time result in the same bytes. [`Adoption`] completes a package of the WDK with what the WDK does
//! not make. Private keys never become part of a package.

mod adopt;
mod clock;
mod events;
mod extras;
mod image;
mod keys;
mod manifest;
mod profile;
mod provider;
mod requirements;
mod setup;
mod texts;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use adopt::{Adopted, Adoption};
pub use clock::{Clock, ClockError};
use command_line::{Inputs, Outputs};

use der::DateTime;
use events::Events;
use extras::{ETWCTL, File};
use provider::Provider;
use requirements::Requirements;
pub(crate) use setup::{describe, is_plain};
use texts::{Etwctl, Facts};
pub(crate) use write::add;

use crate::catalog::{Catalog, Member, Version, systems};
use crate::inf::{Arch, Inf, parse_date};
use crate::problem::{Problem, Problems};
use crate::sign::{Identity, Signer, SignerError, sign_image};

pub(crate) fn has_extension(name: impl AsRef<Path>, extension: &str) -> bool {
    name.as_ref().extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Returns the name of the catalog that an INF names for one of these architectures.
pub(crate) fn catalog_of(inf: &Inf, processors: &[Arch]) -> Option<String> {
    let decorated = processors.iter().map(|arch| format!("CatalogFile.NT{}", arch.inf_name()));
    let keys = decorated.chain(["CatalogFile.NT".into(), "CatalogFile".into()]);
    keys.into_iter().find_map(|key| texts::version_entry(inf, &key))
}

/// Returns the names and ids of the ETW providers in an image.
pub(crate) fn providers(image: &[u8]) -> Vec<String> {
    Provider::all(image).into_iter().map(|provider| format!("{} {}", provider.name, provider.id)).collect()
}

/// Returns the date in `DriverVer` of an INF.
pub(crate) fn driver_date(inf: &Inf) -> Option<DateTime> {
    let value = texts::version_entry(inf, "DriverVer")?;
    parse_date(value.split(',').next()?.trim())
}

/// Returns the names of the files that an INF installs.
pub(crate) fn files_of(inf: &Inf) -> Vec<String> {
    let all = [Arch::X64, Arch::Arm64].into_iter().flat_map(|arch| setup::sources(inf, arch));
    let mut names: Vec<String> = all.map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    names
}

/// The inputs of a package.
#[derive(Clone, Debug)]
pub struct Request {
    /// The output of the linker, with any extension.
    pub image: PathBuf,
    /// The `.inx`. The package has the same name.
    pub inx: PathBuf,
    /// The architecture; `None` means that of the image.
    pub arch: Option<Arch>,
    /// The version of the framework, such as `1.33`; `None` means that of the image.
    pub kmdf: Option<String>,
    /// The version of the catalog format.
    pub catalog: Version,
    /// Whether the driver is a sample of Microsoft's, which may have the class `Sample`.
    pub is_sample: bool,
    /// PowerShell scripts to include.
    pub scripts: Scripts,
    /// The name of the driver's ETW provider, for the recording scripts and the recording profile; `None` means that of the image.
    pub provider: Option<String>,
    /// `etwctl.exe`, which is signed and included.
    pub etwctl: Option<PathBuf>,
    /// The file name of the certificate, without its extension.
    pub certificate: String,
    /// The time of creation that the package states, since 1970.
    pub time: Duration,
}

/// The PowerShell scripts of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scripts {
    /// None.
    None,
    /// The scripts of this crate, which work with every driver.
    #[default]
    BuiltIn,
    /// All scripts in this folder.
    In(PathBuf),
}

/// A complete package that has not been written yet.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its architecture.
    pub arch: Arch,
    /// Names and bytes of the files, sorted by name.
    files: Vec<File>,
    /// What it was made from, which it never replaces.
    inputs: Inputs,
    /// Problems that did not prevent the package.
    pub warnings: Vec<Problem>,
}

impl Request {
    /// Makes the package.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with the image or with the `.inx`, each with file, line and rule.
    pub fn make(&self, identity: &Identity) -> Result<Package, Problems> {
        for path in [&self.image, &self.inx] {
            name_of(path)?;
        }
        let image::Prepared { bytes, image, arch, mut warnings } = image::prepare(self, identity)?;
        let provider = Provider::choose(self.provider.as_deref(), &bytes, &self.image, &mut warnings);
        let events = Events::find(&bytes, &image);
        let setup = setup::prepare(self, &image, arch, &mut warnings)?;
        let mut files = vec![(self.image_name(), bytes), (self.named("inf"), setup.bytes.clone())];
        files.extend(setup.read_others(self)?);
        let catalog = Catalog {
            version: self.catalog,
            systems: systems(arch).to_owned(),
            hardware_ids: setup.inf.hardware_ids(arch),
            members: files.iter().map(|(name, bytes)| Member::new(name, bytes)).collect(),
            time: self.time,
        };
        let failed = |what: &str| {
            let file = PathBuf::from(self.named(what));
            move |error: der::Error| Problem::error(&file, "encoding", error.to_string())
        };
        files.push((self.named("cat"), catalog.sign(identity).map_err(failed("cat"))?));
        let certificate = identity.to_cer().map_err(failed("cer"))?;
        let wrong =
            |error: SignerError| Problem::error(Path::new(&self.certificate), "certificate-file", error.to_string());
        let signer = Signer::of_file(&certificate).map_err(wrong)?;
        let requirements = Requirements::from_package(&setup.inf, &image, arch);
        warnings.extend(requirements.warning(&self.inx));
        let facts = Facts {
            name: &self.name(),
            inf: &setup.inf,
            catalog: &self.named("cat"),
            image: &self.image_name(),
            certificate: &format!("{}.cer", self.certificate),
            arch,
            signer: &signer,
            trust: signer.trust(),
            version: &setup.version.to_string(),
            provider: provider.as_ref(),
            events: &events,
            requirements: &requirements,
            has_scripts: self.scripts != Scripts::None,
            etwctl: self.etwctl.as_ref().map(|_| Etwctl::Signed),
        };
        files.push((facts.certificate.to_owned(), certificate));
        if let Some(path) = &self.etwctl {
            let program = extras::etwctl(path, arch)?;
            let result = sign_image(&program, identity);
            files.push((ETWCTL.into(), result.map_err(|error| Problem::error(path, error.field(), error.reason()))?));
        }
        files.extend(match &self.scripts {
            Scripts::None => Vec::new(),
            Scripts::BuiltIn => extras::built_in_scripts(),
            Scripts::In(dir) => extras::scripts_in(dir)?,
        });
        let described = facts.files(&files);
        files.extend(described);
        if let Some(problem) = files.iter().find_map(|(name, _)| setup::device_problem(Path::new(name), name)) {
            return Err(problem.into());
        }
        keys::refuse(Path::new(""), &files, Some(identity))?;
        files.sort();
        Ok(Package { arch, files, inputs: self.inputs(&setup.inf), warnings })
    }

    /// Returns what a package is made from.
    fn inputs(&self, inf: &Inf) -> Inputs {
        let inputs = Inputs::new().file(&self.image).file(&self.inx).files(&self.etwctl);
        let scripts = match &self.scripts {
            Scripts::None | Scripts::BuiltIn => None,
            Scripts::In(dir) => Some(dir),
        };
        let inputs = scripts.into_iter().fold(inputs, |all, dir| all.files_in(dir, &[]));
        let places = [&self.inx, &self.image];
        files_of(inf).iter().fold(inputs, |all, name| all.files(places.map(|path| path.with_file_name(name))))
    }

    /// Returns the name of the package.
    fn name(&self) -> String {
        self.inx.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the name of a file that is named like the package.
    fn named(&self, extension: &str) -> String {
        format!("{}.{extension}", self.name())
    }

    /// Returns the name of the image in the package.
    fn image_name(&self) -> String {
        format!("{}.sys", self.image.file_stem().unwrap_or_default().to_string_lossy())
    }
}

impl Package {
    /// Returns name and bytes of every file, sorted by name.
    #[must_use]
    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }

    /// Writes the package to a folder. Replaces a package that is already there.
    ///
    /// # Errors
    ///
    /// Returns the file that could not be written, the files in the folder that no package lists as its own, or the input in
    /// the folder. Nothing is changed then.
    pub fn write(&self, dir: &Path) -> Result<(), Problem> {
        self.write_unless(dir, &|| false)
    }

    /// As [`write`](Self::write), but stops and removes what it wrote as soon as `is_stopped` says so.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), and if it was stopped.
    pub fn write_unless(&self, dir: &Path, is_stopped: &dyn Fn() -> bool) -> Result<(), Problem> {
        let out = Outputs::new(self.inputs.clone()).dir(&dir.to_owned().into());
        write::replace(&out, &self.files, is_stopped)
    }
}

/// Returns the name of a file for the package. INF and catalog contain it as text.
fn name_of(path: &Path) -> Result<&str, Problem> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| {
        Problem::error(
            path,
            "package-file",
            format!("`{}` has no name in valid UTF-8", path.as_os_str().as_encoded_bytes().escape_ascii()),
        )
    })
}

/// Reads a file that must exist.
fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    fs::read(path).map_err(|error| Problem::access(path, "package-file", &error))
}
