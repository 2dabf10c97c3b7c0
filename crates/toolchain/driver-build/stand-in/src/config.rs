//! The configuration of one build: driver model, processor, and the kit's paths for them.

use std::env;
use std::fmt;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use crate::driver_config::DriverConfig;
use crate::error::{ConfigError, TryFromCargoMetadataError};
use crate::kit;

const CFG: &str = "driver_model__driver_type";
/// The variable with the driver model, as JSON.
const MODEL: &str = "WDK_KIT_MODEL";
/// The variable with the headers that the driver adds, one in each line.
const HEADERS: &str = "WDK_KIT_HEADERS";

/// Returns the headers that the driver adds.
pub(crate) fn own_headers() -> Vec<String> {
    env::var(HEADERS).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A group of headers that bindings are generated from together.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum ApiSubset {
    /// What every driver uses.
    Base,
    /// The frameworks.
    Wdf,
    /// General purpose I/O.
    Gpio,
    /// Human interface devices.
    Hid,
    /// Parallel ports.
    ParallelPorts,
    /// Simple peripheral buses.
    Spb,
    /// Storage.
    Storage,
    /// USB.
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
    /// Returns the name of the WDK's folder for the processor.
    #[must_use]
    pub const fn as_windows_str(&self) -> &str {
        match self {
            Self::Amd64 => "x64",
            Self::Arm64 => "ARM64",
        }
    }

    /// Parses a value of Cargo's `CARGO_CFG_TARGET_ARCH`.
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

/// The configuration of a build.
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
    /// Returns the configuration of a WDM driver for the processor that Cargo builds for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the configuration for any driver model and processor, for tools and tests.
    #[must_use]
    pub const fn for_model(driver_config: DriverConfig, cpu_architecture: CpuArchitecture) -> Self {
        Self { cpu_architecture, driver_config }
    }

    /// Reads the driver model from the environment.
    ///
    /// # Errors
    ///
    /// Fails if there is no driver model, or if the kit does not support it.
    pub fn from_env_auto() -> Result<Self, ConfigError> {
        for name in [MODEL, HEADERS, kit::ROOT] {
            println!("cargo:rerun-if-env-changed={name}");
        }
        let model = env::var(MODEL).map_err(|_| TryFromCargoMetadataError::NoWdkConfigurationsDetected)?;
        let driver_config = DriverConfig::parse(&model)?;
        if matches!(driver_config, DriverConfig::Umdf(_)) {
            return Err(ConfigError::UmdfNotInKit);
        }
        let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
        let cpu_architecture = CpuArchitecture::try_from_cargo_str(architecture)
            .ok_or_else(|| ConfigError::UnsupportedTarget { target: env::var("TARGET").unwrap_or_default() })?;
        Ok(Self { cpu_architecture, driver_config })
    }

    /// The processor.
    pub(crate) const fn cpu_architecture(&self) -> CpuArchitecture {
        self.cpu_architecture
    }

    /// Declares the `cfg`s that crates use for conditional compilation.
    pub fn emit_check_cfg_settings() {
        println!("cargo:rustc-check-cfg=cfg({CFG}, values(\"WDM\", \"KMDF\", \"UMDF\"))");
    }

    /// Configures the build of a library: sets its `cfg`s.
    ///
    /// # Errors
    ///
    /// Never fails. The original can fail.
    pub fn configure_library_build(&self) -> Result<(), ConfigError> {
        Self::emit_check_cfg_settings();
        println!("cargo:rustc-cfg={CFG}=\"{}\"", self.driver_config.cfg_value());
        Ok(())
    }

    /// Returns the folders with headers.
    pub(crate) fn include_dirs(&self) -> Result<Vec<PathBuf>, ConfigError> {
        let version = kit::version()?;
        let mut dirs: Vec<String> = ["km/crt", "km", "shared"].map(|name| format!("Include/{version}/{name}")).into();
        if let DriverConfig::Kmdf(kmdf) = self.driver_config {
            let framework = format!("{}.{}", kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor);
            dirs.extend([format!("Include/wdf/kmdf/{framework}"), format!("Include/{version}/km/ufx/1.1")]);
        }
        dirs.iter().map(|dir| kit::dir(dir)).collect()
    }

    /// Returns the folders with libraries.
    pub(crate) fn library_dirs(&self) -> Result<Vec<PathBuf>, ConfigError> {
        let processor = self.cpu_architecture.as_windows_str();
        let mut dirs = Vec::new();
        if let DriverConfig::Kmdf(kmdf) = self.driver_config {
            let framework = format!("{}.{}", kmdf.kmdf_version_major, kmdf.target_kmdf_version_minor);
            dirs.push(format!("Lib/wdf/kmdf/{processor}/{framework}"));
        }
        dirs.push(format!("Lib/{}/km/{processor}", kit::version()?));
        dirs.iter().map(|dir| kit::dir(dir)).collect()
    }

    /// Returns arguments that make clang ignore the case of header names. A WDK needs them, the kit does not.
    #[expect(clippy::unused_self, reason = "part of the configuration, like its neighbours")]
    pub(crate) fn overlay(&self) -> Vec<String> {
        let overlay = kit::root().map(|root| root.join("overlay.yaml")).ok().filter(|path| path.is_file());
        overlay.map(|path| vec![format!("-ivfsoverlay{}", path.display())]).unwrap_or_default()
    }

    /// Returns the preprocessor definitions for C code, as name and value.
    pub(crate) fn definitions(&self) -> Vec<(String, Option<String>)> {
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
        all.into_iter().map(|(name, value)| (name.to_owned(), value.map(|value| value.to_string()))).collect()
    }

    /// Returns the headers of a subset, as C code includes them.
    pub(crate) fn header_list(&self, subset: ApiSubset) -> Result<Vec<String>, ConfigError> {
        let is_kmdf = matches!(self.driver_config, DriverConfig::Kmdf(_));
        let (always, framework): (&[&str], &[&str]) = match subset {
            ApiSubset::Base => (&["ntifs.h", "ntddk.h", "ntstrsafe.h"], &[]),
            ApiSubset::Wdf => (&[], &["wdf.h"]),
            ApiSubset::Gpio => (&["gpio.h"], &["gpioclx.h"]),
            ApiSubset::Hid => (
                &["hidclass.h", "hidsdi.h", "hidpi.h", "vhf.h", "hidpddi.h", "hidport.h", "kbdmou.h", "ntdd8042.h"],
                &["HidSpiCx/1.0/hidspicx.h"],
            ),
            ApiSubset::ParallelPorts => (&["ntddpar.h", "ntddser.h", "parallel.h"], &[]),
            ApiSubset::Spb => (&["spb.h", "reshub.h", "pwmutil.h"], &["spb/1.1/spbcx.h"]),
            ApiSubset::Storage => (
                &[
                    "ehstorioctl.h",
                    "ntddcdrm.h",
                    "ntddcdvd.h",
                    "ntdddisk.h",
                    "ntddmmc.h",
                    "ntddscsi.h",
                    "ntddstor.h",
                    "ntddtape.h",
                    "ntddvol.h",
                    "ufs.h",
                    "mountdev.h",
                    "mountmgr.h",
                    "ntddchgr.h",
                    "ntdddump.h",
                    "storduid.h",
                    "storport.h",
                ],
                &["ehstorbandmgmt.h"],
            ),
            ApiSubset::Usb => (
                &[
                    "usb.h",
                    "usbfnbase.h",
                    "usbioctl.h",
                    "usbspec.h",
                    "Usbpmapi.h",
                    "usbbusif.h",
                    "usbdlib.h",
                    "usbfnattach.h",
                    "usbfnioctl.h",
                ],
                &["wdfusb.h"],
            ),
        };
        let framework = framework.iter().filter(|_| is_kmdf);
        let dirs = self.include_dirs()?;
        // In the folder that is made from a WDK, all names are in lower case.
        let exists = |name: &str| {
            let lower = name.to_ascii_lowercase();
            dirs.iter().any(|dir| dir.join(name).is_file() || dir.join(&lower).is_file())
        };
        let mut headers = Vec::new();
        for name in always.iter().chain(framework) {
            // The kit has one header with all declarations of a subset, and a WDK can lack some headers.
            if exists(name) {
                headers.push((*name).to_owned());
            }
        }
        if let Some(first) = always.first().filter(|_| headers.is_empty()) {
            let subset = format!("{subset:?}");
            return Err(ConfigError::HeaderNotInKit { header: (*first).to_owned(), subset });
        }
        if subset == ApiSubset::Base {
            headers.extend(own_headers());
        }
        Ok(headers)
    }

    /// Returns C code that includes the headers of some subsets.
    pub(crate) fn header_text(&self, subsets: impl IntoIterator<Item = ApiSubset>) -> Result<String, ConfigError> {
        let mut text = String::new();
        for subset in subsets {
            for header in self.header_list(subset)? {
                let _ = writeln!(text, "#include \"{header}\"");
            }
        }
        Ok(text)
    }

    /// Returns the name of the variable that points to the framework's function table.
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
