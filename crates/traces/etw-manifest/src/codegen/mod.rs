//! Compiles instrumentation manifests for drivers in a build script, without Microsoft's message compiler.
//!
//! [`compile`] reads and checks a `.man` file. It generates
//!
//! - a module with the provider, a typed function for every event, and constants for keywords, channels, tasks,
//!   opcodes, levels and the values of maps;
//! - the resources that Windows and decoders need to interpret the events (`WEVT_TEMPLATE` and a message table for each
//!   language). The linker adds them to the driver's image. Both Microsoft's and LLVM's linker accept the file as it
//!   is.
//!
//! The build script, with `etw-manifest` among the package's build dependencies (`default-features = false` leaves out what
//! only readers of traces need):
//!
//! ```no_run
//! fn main() -> Result<(), etw_manifest::codegen::Error> {
//!     etw_manifest::codegen::compile("my_driver.man")
//! }
//! ```
//!
//! And the driver:
//!
//! ```ignore
//! /// The events of `my_driver.man`.
//! mod events {
//!     include!(concat!(env!("OUT_DIR"), "/my_driver.rs"));
//! }
//!
//! // In DriverEntry; the unload routine unregisters, when nothing writes any more.
//! let status = unsafe { events::PROVIDER.register() };
//! events::device_failed(None, 3, &name);
//! ```
//!
//! On the machine where the driver runs, `wevtutil im my_driver.man /rf:…\my_driver.sys /mf:…\my_driver.sys` registers the
//! manifest; see the packaging guide.

mod common;
mod error;
mod event;
mod generate;
mod names;
mod resource;
mod structure;

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::manifest::Manifest;

pub use error::Error;

/// The result of compiling a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The module's source.
    pub code: String,
    /// The resources, as a `.res` file.
    pub resources: Vec<u8>,
}

/// Compiles a manifest in the build script of a driver.
///
/// Writes `NAME.rs` and `NAME.res` to `OUT_DIR`, where `NAME` is the file name of the manifest without its extension,
/// and makes the linker add the resources to the image. For targets other than Windows, the resources are not linked,
/// so that tests on the host can use the module too.
///
/// # Errors
///
/// Returns every error in the manifest with its line, or the reason that a file could not be read or written.
pub fn compile(manifest: impl AsRef<Path>) -> Result<(), Error> {
    Compiler::new().compile(manifest)
}

/// Compiles the text of a manifest, for a build script that writes the files itself.
///
/// ```
/// let text = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
///   <instrumentation><events>
///     <provider name="My-Driver" guid="{5f0f3f6c-58a2-4c0b-9f43-0d3c1c7a9b10}" symbol="MY_DRIVER"
///               resourceFileName="my.sys" messageFileName="my.sys">
///       <events><event value="1" symbol="Started" level="win:Informational"/></events>
///     </provider>
///   </events></instrumentation>
/// </instrumentationManifest>"#;
/// let etw_manifest::codegen::Compiled { code, resources } = etw_manifest::codegen::compile_bytes(text.as_bytes())?;
/// assert!(code.contains("pub fn started("));
/// assert!(!resources.is_empty());
/// # Ok::<(), etw_manifest::codegen::Error>(())
/// ```
///
/// # Errors
///
/// Returns every error in the manifest with its line.
pub fn compile_bytes(manifest: &[u8]) -> Result<Compiled, Error> {
    Compiler::new().compile_bytes(manifest)
}

/// Compiles manifests for a driver that has `wdk-etw` by another name, or only through a crate of its own.
///
/// ```no_run
/// // In Cargo.toml: etw = { package = "wdk-etw", … }
/// fn main() -> Result<(), etw_manifest::codegen::Error> {
///     etw_manifest::codegen::Compiler::new().with_wdk_etw("::etw").compile("my_driver.man")
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Compiler<'a> {
    wdk_etw: &'a str,
}

impl<'a> Compiler<'a> {
    /// Creates a compiler for a driver that has `wdk-etw` by its own name.
    #[must_use]
    pub const fn new() -> Self {
        Self { wdk_etw: "::wdk_etw" }
    }

    /// Sets the path of `wdk-etw` in the driver, for example `::etw` or `::company::etw`.
    #[must_use]
    pub const fn with_wdk_etw(mut self, path: &'a str) -> Self {
        self.wdk_etw = path;
        self
    }

    /// Does the same as [`compile`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn compile(&self, manifest: impl AsRef<Path>) -> Result<(), Error> {
        let manifest = manifest.as_ref();
        println!("cargo::rerun-if-changed={}", manifest.display());
        let bytes = fs::read(manifest).map_err(Error::read(manifest))?;
        let compiled = self.compile_bytes(&bytes).map_err(|error| error.with_path(manifest))?;
        let dir = PathBuf::from(env::var_os("OUT_DIR").ok_or(Error::NoBuildScript)?);
        let name = manifest.file_stem().unwrap_or_default();
        let code = dir.join(name).with_extension("rs");
        fs::write(&code, &compiled.code).map_err(Error::write(&code))?;
        let resources = dir.join(name).with_extension("res");
        fs::write(&resources, &compiled.resources).map_err(Error::write(&resources))?;
        let target = |key: &str| env::var(key).unwrap_or_default();
        match (target("CARGO_CFG_TARGET_OS").as_str(), target("CARGO_CFG_TARGET_ENV").as_str()) {
            ("windows", "msvc") => println!("cargo::rustc-link-arg={}", resources.display()),
            ("windows", _) => {
                let text = "the linker of this target takes no .res file: the image has no descriptions of its events";
                println!("cargo::warning={}: {text}", manifest.display());
            }
            _ => {}
        }
        Ok(())
    }

    /// Does the same as [`compile_bytes`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn compile_bytes(&self, manifest: &[u8]) -> Result<Compiled, Error> {
        let manifest = Manifest::parse_checked(manifest).map_err(Error::mistakes)?;
        Ok(Compiled { code: generate::module(&manifest, self.wdk_etw)?, resources: resource::file(&manifest)? })
    }
}

impl Default for Compiler<'_> {
    fn default() -> Self {
        Self::new()
    }
}
