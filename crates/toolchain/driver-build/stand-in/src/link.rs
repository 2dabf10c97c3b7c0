//! How a driver is linked: libraries, and arguments to the linker.
//!
//! The arguments are those of a WDK project that LLVM's linkers support, from version 14 on. There is no argument for the
//! checksum that Windows requires of a driver: `cargo xtask build` writes the checksum.

use std::env;
use std::fmt::Write as _;
use std::path::Path;

use crate::config::{ApiSubset, Config, CpuArchitecture};
use crate::driver_config::DriverConfig;
use crate::error::ConfigError;
use crate::release::LINKS_IN_BINDINGS;

const ARGUMENTS: [&str; 9] = [
    "/DRIVER",
    "/NODEFAULTLIB",
    "/SUBSYSTEM:NATIVE",
    "/NXCOMPAT",
    "/DYNAMICBASE",
    "/INTEGRITYCHECK",
    "/OPT:REF,ICF",
    "/MANIFEST:NO",
    // Reproducible builds: the image does not contain the time of the build.
    "/Brepro",
];

/// The linker's map, in the `OUT_DIR` of the driver's build script, where `cargo xtask build` looks for it.
const MAP: &str = "driver.map";

impl Config {
    /// Returns the `#[link]` attributes for generated bindings.
    #[must_use]
    pub fn bindgen_library_link_raw_lines(&self, subset: ApiSubset) -> Option<String> {
        let libraries = match subset {
            ApiSubset::Base => self.libraries(),
            ApiSubset::Hid => vec!["VhfKm"],
            _ => return None,
        };
        let mut text = String::new();
        for name in libraries {
            let _ = writeln!(
                text,
                "#[cfg(not(any(test, feature = \"suppress-wdk-linking\")))]\n\
                 #[link(name = \"{name}\", kind = \"static\", modifiers = \"-bundle\")]\n\
                 unsafe extern \"C\" {{}}"
            );
        }
        Some(text)
    }

    /// Returns the libraries that a driver is linked with.
    fn libraries(&self) -> Vec<&'static str> {
        let mut libraries = vec!["BufferOverflowFastFailK", "ntoskrnl", "hal", "wmilib"];
        if matches!(self.driver_config, DriverConfig::Kmdf(_)) {
            libraries.extend(["WdfLdr", "WdfDriverEntry"]);
        }
        if self.cpu_architecture() == CpuArchitecture::Arm64 {
            libraries.push("arm64rt");
        }
        libraries
    }

    /// Configures the build of a driver: the folders of its libraries, and the arguments to the linker.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder, or if the C runtime is not linked statically.
    pub fn configure_binary_build(&self) -> Result<(), ConfigError> {
        let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
        if !features.split(',').any(|feature| feature == "crt-static") {
            return Err(ConfigError::StaticCrtNotEnabled);
        }
        if LINKS_IN_BINDINGS {
            self.search_libraries()?;
        } else {
            self.link_libraries("static=")?;
        }
        self.link_arguments();
        self.configure_library_build()
    }

    /// Prints the folders of libraries for cargo.
    fn search_libraries(&self) -> Result<(), ConfigError> {
        for path in self.library_dirs()? {
            println!("cargo:rustc-link-search={}", path.display());
        }
        Ok(())
    }

    /// Prints the folders and the names of libraries for cargo. `kind` is put before the names.
    pub(crate) fn link_libraries(&self, kind: &str) -> Result<(), ConfigError> {
        self.search_libraries()?;
        for name in self.libraries() {
            println!("cargo:rustc-link-lib={kind}{name}");
        }
        Ok(())
    }

    /// Prints the arguments to the linker for cargo.
    pub(crate) fn link_arguments(&self) {
        let entry = match self.driver_config {
            DriverConfig::Kmdf(_) => "/ENTRY:FxDriverEntry",
            DriverConfig::Wdm | DriverConfig::Umdf(_) => "/ENTRY:DriverEntry",
        };
        if let Some(dir) = env::var_os("OUT_DIR") {
            println!("cargo:rustc-cdylib-link-arg=/MAP:{}", Path::new(&dir).join(MAP).display());
        }
        for argument in ARGUMENTS.iter().chain([&entry]) {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
