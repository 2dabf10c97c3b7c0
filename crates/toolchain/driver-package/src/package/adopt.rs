//! Completes a package that the WDK made: adds scripts, their data file and a recording profile.
//!
//! `cargo wdk build` and `cargo make` create `NAME_package` with `.sys`, `.inf`, `.cat`, `.pdb`, `.map` and the test
//! certificate. None of these files is changed. Either all of our files are added or none. A file of ours that already
//! exists and differs is replaced only if the caller requests it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use command_line::{Inputs, Outputs};

use super::events::Events;
use super::extras::{self, ETWCTL, File};
use super::provider::Provider;
use super::requirements::Requirements;
use super::setup::{describe, sources};
use super::texts::{Etwctl, Facts, version_entry};
use super::{catalog_of, has_extension, keys, read, write};
use crate::inf::{Arch, Inf, Text};
use crate::pe::Image;
use crate::problem::{Problem, Problems};
use crate::rules;
use crate::rules::Target;
use crate::sign::{Signer, Trust};
use crate::verify::{self, Context, Members, Verdict};

/// What to add to which folder.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// The package, or the folder of a Cargo profile that contains one `NAME_package`.
    pub dir: PathBuf,
    /// A folder with PowerShell scripts; `None` means the scripts of this repository.
    pub scripts: Option<PathBuf>,
    /// The name of the driver's ETW provider; `None` means that of the image.
    pub provider: Option<String>,
    /// `etwctl.exe`, which is included as it is: there is no key to sign it.
    pub etwctl: Option<PathBuf>,
    /// Whether to replace files of ours that already exist and differ.
    pub replace: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The package.
    pub dir: PathBuf,
    /// Its architecture.
    pub arch: Arch,
    /// Names of new files.
    pub added: Vec<String>,
    /// Names of replaced files.
    pub replaced: Vec<String>,
    /// Problems that did not prevent the adoption.
    pub warnings: Vec<Problem>,
}

/// The files of a WDK package, by name.
struct Found {
    dir: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
}

impl Adoption {
    /// Checks the package and adds the files.
    ///
    /// # Errors
    ///
    /// Returns the file that is missing, damaged or does not match the others. Nothing is changed then.
    pub fn adopt(&self) -> Result<Adopted, Problems> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        self.adopt_with(&Context::new(now))
    }

    /// As [`adopt`](Self::adopt), with other roots and another time.
    ///
    /// # Errors
    ///
    /// As [`adopt`](Self::adopt).
    pub fn adopt_with(&self, context: &Context) -> Result<Adopted, Problems> {
        let found = Found::in_dir(&locate(&self.dir)?)?;
        let mut warnings = Vec::new();
        let (inf_name, inf) = found.inf()?;
        let name = inf_name.get(..inf_name.len() - ".inf".len()).unwrap_or_default();
        let (image_name, image, arch) = found.image(&inf, name, &mut warnings)?;
        let catalog = found.catalog(&inf, &inf_name, arch)?;
        let (signer, certificate) = found.certificate(&catalog, name)?;
        found.check_digests(&catalog, &[&inf_name, &image_name])?;
        let trust = found.trust(&catalog, &signer, context, &mut warnings)?;
        if let (Trust::Issued, Some(issuer)) = (trust, signer.issuer()) {
            let text = format!(
                "the certificate of `{}` is issued by `{issuer}`, which the machine must already trust",
                signer.subject()
            );
            warnings.push(found.warning(&certificate, "certificate-issuer", text));
        }
        let requirements = Requirements::from_package(&inf, &image, arch);
        warnings.extend(requirements.warning(&found.dir.join(&inf_name)));
        let version = version_entry(&inf, "DriverVer").ok_or_else(|| {
            found.problem(&inf_name, "driver-version", "[Version] has no DriverVer: the INF was not stamped")
        })?;
        let bytes = found.files.get(&image_name).map_or(&[][..], Vec::as_slice);
        let provider = Provider::choose(self.provider.as_deref(), bytes, &found.dir.join(&image_name), &mut warnings);
        let facts = Facts {
            name,
            inf: &inf,
            catalog: &catalog,
            image: &image_name,
            certificate: &certificate,
            arch,
            signer: &signer,
            trust,
            version: &version,
            provider: provider.as_ref(),
            events: &Events::find(bytes, &image),
            requirements: &requirements,
            has_scripts: true,
            etwctl: self.etwctl.as_ref().map(|_| Etwctl::Unsigned),
        };
        let mut files = Vec::new();
        if !found.files.contains_key(&certificate) && !trust.stores().is_empty() {
            files.push((certificate.clone(), signer.to_cer().to_vec()));
        }
        files.extend(match &self.scripts {
            Some(dir) => extras::scripts_in(dir)?,
            None => extras::built_in_scripts(),
        });
        if let Some(path) = &self.etwctl {
            files.push((ETWCTL.into(), extras::etwctl(path, arch)?));
        }
        let described = facts.files(&files);
        files.extend(described);
        let (added, replaced) = found.sort_out(&mut files, self.replace)?;
        keys::refuse(&found.dir, &files, None)?;
        let scripts = self.scripts.iter().fold(Inputs::new(), |all, dir| all.file_or_folder(dir, &["ps1"]));
        // None of the files replaces one that it was made from.
        let outputs = Outputs::new(scripts.files(&self.etwctl));
        write::add(&outputs.dir(&found.dir.clone().into()), &files)?;
        Ok(Adopted { dir: found.dir, arch, added, replaced, warnings })
    }
}

/// Finds the folder of the package.
fn locate(dir: &Path) -> Result<PathBuf, Problem> {
    let problem = |text: String| Problem::error(dir, "package-folder", text);
    let mut packages = Vec::new();
    let unreadable = |error: std::io::Error| Problem::access(dir, "package-folder", &error);
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if has_extension(&path, "inf") {
            return Ok(dir.to_path_buf());
        }
        if path.is_dir() && path.to_string_lossy().ends_with("_package") {
            packages.push(path);
        }
    }
    packages.sort();
    match packages.as_slice() {
        [package] => Ok(package.clone()),
        [] => Err(problem(
            "it has no .inf and no folder NAME_package: pass the folder that `cargo wdk build` or `cargo make` made, \
             target/<triple>/<profile>/NAME_package"
                .into(),
        )),
        several => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            Err(problem(format!("it has several packages, pass one of them: {}", names.join(", "))))
        }
    }
}

impl Found {
    fn in_dir(dir: &Path) -> Result<Self, Problem> {
        let problem = |error: std::io::Error| Problem::access(dir, "package-folder", &error);
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(dir).map_err(problem)? {
            let path = entry.map_err(problem)?.path();
            // Debug information is large and is not needed.
            if path.is_file() && !has_extension(&path, "pdb") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.insert(name, read(&path)?);
            }
        }
        keys::refuse_in(dir)?;
        Ok(Self { dir: dir.to_path_buf(), files })
    }

    fn problem(&self, name: &str, rule: &str, text: impl Into<String>) -> Problem {
        Problem::error(&self.dir.join(name), rule, text)
    }

    fn warning(&self, name: &str, rule: &str, text: impl Into<String>) -> Problem {
        Problem::warning(&self.dir.join(name), rule, text)
    }

    fn bytes(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns a file's name as it is in the folder. Windows ignores the case.
    fn name_of(&self, wanted: &str) -> Option<&String> {
        self.files.keys().find(|name| name.eq_ignore_ascii_case(wanted))
    }

    fn inf(&self) -> Result<(String, Inf), Problem> {
        let names: Vec<&String> = self.files.keys().filter(|name| has_extension(name, "inf")).collect();
        let [name] = names.as_slice() else {
            return Err(self.problem(
                "",
                "package-file",
                format!("a package has one .inf, this folder has {}", names.len()),
            ));
        };
        let parsed = Text::decode(self.bytes(name)).and_then(|text| Inf::parse(&text.text));
        let inf = parsed.map_err(|fault| describe(&self.dir.join(name), &fault))?;
        Ok(((*name).clone(), inf))
    }

    /// Returns the driver's image: a `.sys` that the INF lists and that is in the folder. Violations of the loader's
    /// rules are only warnings here.
    fn image(&self, inf: &Inf, stem: &str, warnings: &mut Vec<Problem>) -> Result<(String, Image, Arch), Problem> {
        let listed = [Arch::X64, Arch::Arm64].into_iter().flat_map(|arch| sources(inf, arch));
        let mut images: Vec<&String> =
            listed.filter(|(name, _)| has_extension(name, "sys")).filter_map(|(name, _)| self.name_of(&name)).collect();
        images.sort();
        images.dedup();
        let own = images.iter().find(|name| name.eq_ignore_ascii_case(&format!("{stem}.sys")));
        let name = own.or(images.first()).copied().ok_or_else(|| {
            let text =
                "[SourceDisksFiles] lists no .sys that is in the folder; only packages of kernel drivers are adopted";
            self.problem(&format!("{stem}.inf"), "package-file", text)
        })?;
        let damaged = |error: crate::Error| self.problem(name, error.field(), error.reason());
        let image = Image::parse(self.bytes(name)).map_err(damaged)?;
        let machine = image.header.machine;
        let arch = Arch::from_machine(machine.0).ok_or_else(|| {
            self.problem(name, "machine", format!("it is for {machine}; packages are for x64 and arm64"))
        })?;
        let verdict = rules::Verdict::judge(&image, Target::default());
        warnings.extend(verdict.findings().iter().map(|finding| self.warning(name, finding.rule.id, &finding.found)));
        Ok((name.clone(), image, arch))
    }

    fn catalog(&self, inf: &Inf, inf_name: &str, arch: Arch) -> Result<String, Problem> {
        let named = catalog_of(inf, &[arch]);
        let named = named.ok_or_else(|| self.problem(inf_name, "package-file", "[Version] names no CatalogFile"))?;
        let text = "the catalog that the .inf names is not in the folder";
        self.name_of(&named).cloned().ok_or_else(|| self.problem(&named, "package-file", text))
    }

    /// Checks that the catalog contains the digest of each file. This finds a file that was changed later, before the
    /// target machine does.
    fn check_digests(&self, catalog: &str, names: &[&str]) -> Result<(), Problem> {
        let members = Members::from_catalog(self.bytes(catalog))
            .map_err(|refusal| self.problem(catalog, "catalog-list", refusal.text()))?;
        for name in names {
            if !members.contains(self.bytes(name)) {
                let text = format!(
                    "{catalog} does not have its digest: it was changed after the catalog was made; build the package again"
                );
                return Err(self.problem(name, "catalog-digest", text));
            }
        }
        Ok(())
    }

    /// Verifies the catalog. Returns why a machine trusts its signer: the keys of the chain decide, not the names.
    fn trust(
        &self,
        catalog: &str,
        signer: &Signer,
        context: &Context,
        warnings: &mut Vec<Problem>,
    ) -> Result<Trust, Problem> {
        let account = verify::file(&self.dir.join(catalog), self.bytes(catalog), None, context);
        let reason = account.objection().map(|check| check.text.clone()).unwrap_or_default();
        match account.verdict() {
            Verdict::Valid if account.trust() == verify::Trust::Kernel => return Ok(Trust::Microsoft),
            Verdict::Valid => {}
            Verdict::NotValid => {
                let text = format!("its signature is not valid: {reason}; build and sign the package again");
                return Err(self.problem(catalog, "catalog-signature", text));
            }
            Verdict::Unjudged => {
                let text = format!("its signature cannot be judged: {reason}; the scripts require test mode");
                warnings.push(self.warning(catalog, "catalog-signature", text));
            }
        }
        Ok(signer.trust())
    }

    /// Returns the signer of the catalog, and the name of the file with its certificate: an existing file or a new one.
    fn certificate(&self, catalog: &str, stem: &str) -> Result<(Signer, String), Problem> {
        let signer = Signer::from_envelope(self.bytes(catalog)).map_err(|error| {
            self.problem(catalog, "catalog-signature", format!("{error}; build the package with a signature"))
        })?;
        let mut others = Vec::new();
        for name in self.files.keys().filter(|name| has_extension(name, "cer") || has_extension(name, "crt")) {
            let own = Signer::of_file(self.bytes(name));
            let own = own.map_err(|error| self.problem(name, "certificate-file", error.to_string()))?;
            if own == signer {
                // Windows computes the thumbprint from the bytes of this file.
                return Ok((own, name.clone()));
            }
            others.push(name.as_str());
        }
        if others.is_empty() {
            return Ok((signer, format!("{stem}.cer")));
        }
        let text = format!(
            "{catalog} is signed by `{}` with another certificate; build the package again, or delete this file",
            signer.subject()
        );
        Err(self.problem(others.first().copied().unwrap_or_default(), "certificate-mismatch", text))
    }

    /// Returns the names of new files and of replaced files. Identical files are skipped.
    fn sort_out(&self, files: &mut Vec<File>, replace: bool) -> Result<(Vec<String>, Vec<String>), Problems> {
        files.sort();
        files.retain(|(name, bytes)| self.files.get(name) != Some(bytes));
        let (replaced, added): (Vec<String>, Vec<String>) =
            files.iter().map(|(name, _)| name.clone()).partition(|name| self.files.contains_key(name));
        if replace || replaced.is_empty() {
            return Ok((added, replaced));
        }
        let text = "it already exists and differs, so it was not changed; pass --replace to replace it";
        Err(Problems(replaced.iter().map(|name| self.problem(name, "package-file", text)).collect()))
    }
}
