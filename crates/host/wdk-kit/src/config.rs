//! The configuration of one build: driver model, processor, and the kit's paths for them.

use std::env;
use std::fmt;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use crate::kit::{self, VERSION};
use crate::metadata::Wdk;
use crate::{ConfigError, DriverConfig, KmdfConfig, manifest};

/// `WDF_FIRST_VERSION_SUPPORTING_CLIENT_VERSION_HIGHER_THAN_FRAMEWORK`
const OLDEST_MINIMUM: u8 = 25;

const CFG: &str = "driver_model__driver_type";

/// A group of headers that bindings are generated from together.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum ApiSubset {
    /// What every driver uses.
    Base,
    /// The frameworks.
    Wdf,
    /// General purpose I/O; not in the kit.
    Gpio,
    /// Human interface devices; not in the kit.
    Hid,
    /// Parallel ports; not in the kit.
    ParallelPorts,
    /// Simple peripheral buses; not in the kit.
    Spb,
    /// Storage; not in the kit.
    Storage,
    /// USB; not in the kit.
    Usb,
}

/// A processor that drivers are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuArchitecture {
    /// x86-64.
    Amd64,
    /// `AArch64`.
    Arm64,
}

impl CpuArchitecture {
    /// As the WDK's folders are named.
    #[must_use]
    pub const fn as_windows_str(&self) -> &str {
        match self {
            Self::Amd64 => "x64",
            Self::Arm64 => "ARM64",
        }
    }

    /// From Cargo's `CARGO_CFG_TARGET_ARCH`.
    #[must_use]
    pub fn try_from_cargo_str<S: AsRef<str>>(cargo_str: S) -> Option<Self> {
        match cargo_str.as_ref() {
            "x86_64" => Some(Self::Amd64),
            "aarch64" => Some(Self::Arm64),
            _ => None,
        }
    }
}

impl FromStr for CpuArchitecture {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name.to_ascii_lowercase().as_str() {
            "amd64" => Ok(Self::Amd64),
            "arm64" => Ok(Self::Arm64),
            _ => Err(format!("`{name}` is neither `amd64` nor `arm64`")),
        }
    }
}

impl fmt::Display for CpuArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        })
    }
}

/// What a build script needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    cpu_architecture: CpuArchitecture,
    /// The kind of driver.
    pub driver_config: DriverConfig,
}

impl Default for Config {
    fn default() -> Self {
        let architecture = env::var("CARGO_CFG_TARGET_ARCH").ok().and_then(CpuArchitecture::try_from_cargo_str);
        Self::for_model(DriverConfig::Wdm, architecture.unwrap_or(CpuArchitecture::Amd64))
    }
}

impl Config {
    /// A WDM driver for the processor that Cargo builds for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Any driver model and processor, for tools and tests.
    #[must_use]
    pub const fn for_model(driver_config: DriverConfig, cpu_architecture: CpuArchitecture) -> Self {
        Self { cpu_architecture, driver_config }
    }

    /// Reads the driver model from the workspace's manifests.
    ///
    /// Only the workspace's own packages are asked, not their dependencies.
    ///
    /// # Errors
    ///
    /// When there is none, more than one, or one that the kit cannot serve.
    pub fn from_env_auto() -> Result<Self, ConfigError> {
        let driver_config = Wdk::try_from(&manifest::workspace()?)?.driver_model;
        match &driver_config {
            DriverConfig::Wdm => {}
            DriverConfig::Kmdf(kmdf) if (kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor) == (1, 33) => {
                check_minimum(*kmdf)?;
            }
            DriverConfig::Kmdf(kmdf) => {
                let version = format!("{}.{}", kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor);
                return Err(ConfigError::KmdfVersionNotInKit { version });
            }
            DriverConfig::Umdf(_) => return Err(ConfigError::UmdfNotInKit),
        }
        kit::require_libraries()?;
        let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
        let cpu_architecture = CpuArchitecture::try_from_cargo_str(architecture)
            .ok_or_else(|| ConfigError::UnsupportedTarget { target: env::var("TARGET").unwrap_or_default() })?;
        Ok(Self { cpu_architecture, driver_config })
    }

    /// The processor.
    pub(crate) const fn cpu_architecture(&self) -> CpuArchitecture {
        self.cpu_architecture
    }

    /// Declares the `cfg`s that crates compile by.
    pub fn emit_check_cfg_settings() {
        println!("cargo::rustc-check-cfg=cfg({CFG}, values(\"WDM\", \"KMDF\", \"UMDF\"))");
    }

    /// Configures the build of a library: its `cfg`s.
    ///
    /// # Errors
    ///
    /// Never; the original can fail.
    pub fn configure_library_build(&self) -> Result<(), ConfigError> {
        Self::emit_check_cfg_settings();
        println!("cargo::rustc-cfg={CFG}=\"{}\"", self.driver_config.cfg_value());
        Ok(())
    }

    /// The folders to look for headers in.
    ///
    /// # Errors
    ///
    /// When the kit lacks one.
    pub fn include_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        let mut folders: Vec<String> =
            ["km/crt", "km", "shared"].map(|folder| format!("Include/{VERSION}/{folder}")).into();
        if let DriverConfig::Kmdf(kmdf) = self.driver_config {
            let version = format!("{}.{}", kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor);
            folders.extend([format!("Include/wdf/kmdf/{version}"), format!("Include/{VERSION}/km/ufx/1.1")]);
        }
        Ok(folders.iter().map(|folder| kit::folder(folder)).collect::<Result<Vec<_>, _>>()?.into_iter())
    }

    /// The folders to look for libraries in.
    ///
    /// # Errors
    ///
    /// When the kit lacks one.
    pub fn library_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        let processor = self.cpu_architecture.as_windows_str();
        let mut folders = Vec::new();
        if let DriverConfig::Kmdf(kmdf) = self.driver_config {
            let version = format!("{}.{}", kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor);
            folders.push(format!("Lib/wdf/kmdf/{processor}/{version}"));
        }
        folders.push(format!("Lib/{VERSION}/km/{processor}"));
        Ok(folders.iter().map(|folder| kit::folder(folder)).collect::<Result<Vec<_>, _>>()?.into_iter())
    }

    /// What C code is compiled with, as name and value.
    pub fn preprocessor_definitions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let processor: &[(&str, Option<u8>)] = match self.cpu_architecture {
            CpuArchitecture::Amd64 => &[("_WIN64", None), ("_AMD64_", None), ("AMD64", None)],
            CpuArchitecture::Arm64 => {
                &[("_ARM64_", None), ("ARM64", None), ("_USE_DECLSPECS_FOR_SAL", Some(1)), ("STD_CALL", None)]
            }
        };
        let mut all = processor.to_vec();
        all.push(("_KERNEL_MODE", None));
        if let DriverConfig::Kmdf(kmdf) = self.driver_config {
            all.push(("KMDF_VERSION_MAJOR", Some(kmdf.kmdf_version_major)));
            all.push(("KMDF_VERSION_MINOR", Some(kmdf.target_kmdf_version_minor)));
            if let Some(minimum) = kmdf.minimum_kmdf_version_minor {
                all.push(("KMDF_MINIMUM_VERSION_REQUIRED", Some(minimum)));
            }
        }
        all.into_iter().map(|(name, value)| (name.to_owned(), value.map(|value| value.to_string())))
    }

    /// The headers of a subset, as they are included.
    ///
    /// # Errors
    ///
    /// [`ConfigError::HeaderNotInKit`].
    pub fn headers(&self, subset: ApiSubset) -> Result<impl Iterator<Item = String>, ConfigError> {
        let is_kmdf = matches!(self.driver_config, DriverConfig::Kmdf(_));
        let headers: &[&str] = match subset {
            ApiSubset::Base => &["ntifs.h", "ntddk.h", "ntstrsafe.h"],
            ApiSubset::Wdf if is_kmdf => &["wdf.h"],
            ApiSubset::Wdf => &[],
            ApiSubset::Gpio => &["gpio.h"],
            ApiSubset::Hid => &["hidclass.h"],
            ApiSubset::ParallelPorts => &["ntddpar.h"],
            ApiSubset::Spb => &["spb.h"],
            ApiSubset::Storage => &["ntddstor.h"],
            ApiSubset::Usb => &["usb.h"],
        };
        let folders: Vec<PathBuf> = self.include_paths()?.collect();
        if let Some(missing) = headers.iter().find(|name| !folders.iter().any(|folder| folder.join(name).is_file())) {
            let subset = format!("{subset:?}");
            return Err(ConfigError::HeaderNotInKit { header: (*missing).to_owned(), subset });
        }
        Ok(headers.iter().map(|&name| name.to_owned()))
    }

    /// A C file that includes the headers of some subsets.
    ///
    /// # Errors
    ///
    /// [`ConfigError::HeaderNotInKit`].
    pub fn bindgen_header_contents(
        &self,
        subsets: impl IntoIterator<Item = ApiSubset> + fmt::Debug,
    ) -> Result<String, ConfigError> {
        let mut text = String::new();
        for subset in subsets {
            for header in self.headers(subset)? {
                let _ = writeln!(text, "#include \"{header}\"");
            }
        }
        Ok(text)
    }

    /// The name of the variable that leads to the framework's function table.
    #[must_use]
    pub fn compute_wdffunctions_symbol_name(&self) -> Option<String> {
        let (major, minor) = match self.driver_config {
            DriverConfig::Wdm => return None,
            DriverConfig::Kmdf(kmdf) => (kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor),
            DriverConfig::Umdf(umdf) => (umdf.umdf_version_major, umdf.target_umdf_version_minor),
        };
        Some(format!("WdfFunctions_{major:02}0{minor:02}"))
    }
}

/// The rule of the WDK's `wdffuncenum.h`, which rejects other minimums with `#error`.
fn check_minimum(kmdf: KmdfConfig) -> Result<(), ConfigError> {
    let target = kmdf.target_kmdf_version_minor;
    match kmdf.minimum_kmdf_version_minor {
        Some(minimum) if !(OLDEST_MINIMUM..=target).contains(&minimum) => {
            Err(ConfigError::KmdfMinimumOutOfRange { minimum, target })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiSubset, Config, CpuArchitecture, check_minimum};
    use crate::{DriverConfig, KmdfConfig};

    fn kmdf() -> Config {
        Config::for_model(DriverConfig::Kmdf(KmdfConfig::default()), CpuArchitecture::Arm64)
    }

    #[test]
    fn a_header_that_the_kit_lacks_is_named() {
        let error = kmdf().headers(ApiSubset::Hid).err().unwrap().to_string();
        assert!(error.contains("`hidclass.h`") && error.contains("Hid") && error.contains("README.md"), "{error}");
    }

    #[test]
    fn a_framework_driver_sees_the_framework_and_a_plain_one_does_not() {
        let all = [ApiSubset::Base, ApiSubset::Wdf];
        assert!(kmdf().bindgen_header_contents(all).unwrap().ends_with("#include \"wdf.h\"\n"));
        let wdm = Config::for_model(DriverConfig::Wdm, CpuArchitecture::Amd64);
        assert!(wdm.bindgen_header_contents(all).unwrap().ends_with("#include \"ntstrsafe.h\"\n"));
        assert_eq!(wdm.compute_wdffunctions_symbol_name(), None);
        assert_eq!(kmdf().compute_wdffunctions_symbol_name().as_deref(), Some("WdfFunctions_01033"));
    }

    #[test]
    fn libraries_are_those_of_the_processor() {
        let folders: Vec<String> = kmdf().library_paths().unwrap().map(|path| path.display().to_string()).collect();
        assert!(folders[0].ends_with("Lib/wdf/kmdf/ARM64/1.33"), "{folders:?}");
        assert!(folders[1].ends_with("km/ARM64"), "{folders:?}");
    }

    #[test]
    fn the_oldest_framework_is_passed_on() {
        let model = KmdfConfig { minimum_kmdf_version_minor: Some(25), ..KmdfConfig::default() };
        let config = Config::for_model(DriverConfig::Kmdf(model), CpuArchitecture::Amd64);
        let minimum = ("KMDF_MINIMUM_VERSION_REQUIRED".to_owned(), Some("25".to_owned()));
        assert!(config.preprocessor_definitions().any(|definition| definition == minimum));
    }

    #[test]
    fn a_minimum_that_the_wdk_rejects_is_rejected() {
        for (minimum, allowed) in
            [(None, true), (Some(24), false), (Some(25), true), (Some(33), true), (Some(34), false)]
        {
            let model = KmdfConfig { minimum_kmdf_version_minor: minimum, ..KmdfConfig::default() };
            assert_eq!(check_minimum(model).is_ok(), allowed, "{minimum:?}");
        }
        let model = KmdfConfig { minimum_kmdf_version_minor: Some(9), ..KmdfConfig::default() };
        let error = check_minimum(model).unwrap_err().to_string();
        assert!(error.contains("minimum-kmdf-version-minor = 9") && error.contains("25 to 33"), "{error}");
    }
}
