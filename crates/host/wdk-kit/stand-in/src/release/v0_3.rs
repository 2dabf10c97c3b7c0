//! What is particular to `wdk-build` 0.3.

use std::borrow::Borrow;
use std::path::PathBuf;

use bindgen::Builder;

use crate::{Config, ConfigError, builder};

/// Libraries are named by the driver's build script.
pub(crate) const LINKS_IN_BINDINGS: bool = false;
/// The function table has the same name in all versions of the framework.
pub(crate) const NAMES_FUNCTION_TABLE: bool = true;

/// Extends [`bindgen::Builder`].
pub trait BuilderExt {
    /// A builder with the settings that bindings to driver headers need.
    ///
    /// # Errors
    ///
    /// If the kit lacks a folder of headers.
    fn wdk_default(c_header_files: Vec<&str>, config: impl Borrow<Config>) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(c_header_files: Vec<&str>, config: impl Borrow<Config>) -> Result<Builder, ConfigError> {
        let builder = builder::builder(config.borrow())?;
        Ok(c_header_files.into_iter().fold(builder, Builder::header))
    }
}

impl Config {
    /// The folders to look for headers in.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn get_include_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        self.include_folders()
    }

    /// The folders to look for libraries in.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn get_library_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        self.library_folders()
    }

    /// What C code is compiled with, as name and value.
    pub fn get_preprocessor_definitions_iter(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.definitions().into_iter()
    }
}
