//! Makes a test-signed package of a driver, or adds files to a package that the WDK made.
//!
//! The program `driver-package` does the work.

use std::path::{Path, PathBuf};

use crate::build::{Image, images};
use crate::driver_settings::DriverSettings;
use crate::error::Error;
use crate::host::Host;
use crate::output::note;
use crate::prepare::Plan;
use crate::process::Tool;

/// The options of a package besides the driver.
#[derive(Clone, Debug, Default)]
pub struct PackageOptions {
    /// The folder for packages; a package is a folder in it that is named after the processor.
    pub out: PathBuf,
    /// The folder that keeps the test certificate and its key.
    pub keys: PathBuf,
    /// A PEM file with a certificate and its key, to sign with instead of the test certificate.
    pub cert: Option<PathBuf>,
    /// The version of the catalog format, `v1` or `v2`.
    pub catalog: Option<String>,
    /// Whether the driver is a sample of Microsoft's, which may have the class `Sample`.
    pub is_sample: bool,
    /// The name of the driver's ETW provider.
    pub provider: Option<String>,
    /// The `etwctl.exe` to add to the package.
    pub etwctl: Option<PathBuf>,
}

impl PackageOptions {
    /// These options, and those of the driver's settings where these say nothing.
    fn or(&self, settings: &DriverSettings) -> Self {
        Self {
            cert: self.cert.clone().or_else(|| settings.cert.clone()),
            catalog: self.catalog.clone().or_else(|| settings.catalog.clone()),
            provider: self.provider.clone().or_else(|| settings.provider.clone()),
            etwctl: self.etwctl.clone().or_else(|| settings.etwctl.clone()),
            ..self.clone()
        }
    }
}

/// Builds the drivers and makes a package of each one that has an `.inx`. If there is a folder `deploy` beside the manifest, its
/// scripts go into the package instead of the built-in ones.
///
/// # Errors
///
/// If a driver cannot be built, no driver has an `.inx`, or `driver-package` refuses an input.
pub fn package(host: &Host, plan: &Plan, package: &PackageOptions) -> Result<(), Error> {
    let mut pairs = Vec::new();
    for image in images(host, plan)? {
        match setup_file(&image.path, &plan.options.manifest) {
            Some(inx) => pairs.push((image, inx)),
            None => note(&format!("no package of {}: it has no .inx file with its name", image.path.display())),
        }
    }
    if pairs.is_empty() {
        return Err(Error::Failed("the driver cannot be packaged: it has no .inx file beside its Cargo.toml".into()));
    }
    for (image, inx) in &pairs {
        let arch = plan.options.arch.name();
        let name = image.path.file_stem().unwrap_or_default().to_string_lossy();
        let dir = if pairs.len() == 1 { arch.to_owned() } else { format!("{arch}-{name}") };
        make(host, plan, package, image, inx, &package.out.join(dir))?;
    }
    Ok(())
}

/// Adds the scripts and other files to a package that the WDK made.
///
/// # Errors
///
/// If `driver-package` refuses the folder.
pub fn adopt(host: &Host, manifest: &Path, dir: &Path, package: &PackageOptions, replace: bool) -> Result<(), Error> {
    let tool = with_common(host.program("driver-package").args(["adopt"]), manifest, package);
    let tool = if replace { tool.args(["--replace"]) } else { tool };
    tool.args([dir]).run_ours()
}

/// The driver's `.inx`: the one beside the manifest, or the copy that the build made.
fn setup_file(image: &Path, manifest: &Path) -> Option<PathBuf> {
    let copy = image.with_extension("inx");
    let own = manifest.with_file_name(copy.file_name()?);
    [own, copy].into_iter().find(|path| path.is_file())
}

fn make(
    host: &Host,
    plan: &Plan,
    package: &PackageOptions,
    image: &Image,
    inx: &Path,
    out: &Path,
) -> Result<(), Error> {
    let mut tool = host
        .program("driver-package")
        .args(["package"])
        .args(["--image".as_ref(), image.path.as_os_str()])
        .args(["--inx".as_ref(), inx.as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .args(["--arch", plan.options.arch.name()])
        .args(["--keys".as_ref(), package.keys.as_os_str()]);
    if let Some(version) = image.model.framework_version() {
        tool = tool.args(["--kmdf", &version]);
    }
    let package = package.or(&image.settings);
    if let Some(file) = &package.cert {
        tool = tool.args(["--cert".as_ref(), file.as_os_str()]);
    }
    if package.is_sample {
        tool = tool.args(["--sample"]);
    }
    if let Some(version) = &package.catalog {
        tool = tool.args(["--catalog", version]);
    }
    with_common(tool, &plan.options.manifest, &package).run_ours()
}

/// Adds the flags that `package` and `adopt` share.
fn with_common(mut tool: Tool, manifest: &Path, package: &PackageOptions) -> Tool {
    let own = manifest.with_file_name("deploy");
    if own.is_dir() {
        tool = tool.args(["--scripts".as_ref(), own.as_os_str()]);
    }
    if let Some(name) = &package.provider {
        tool = tool.args(["--provider", name]);
    }
    if let Some(file) = &package.etwctl {
        tool = tool.args(["--etwctl".as_ref(), file.as_os_str()]);
    }
    tool
}
