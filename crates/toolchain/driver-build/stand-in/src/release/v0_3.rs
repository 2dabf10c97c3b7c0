//! The signatures of `wdk-build` 0.3.

use std::borrow::Borrow;
use std::path::PathBuf;

use bindgen::Builder;

use crate::{Config, ConfigError, builder};

/// Whether bindings link the libraries. In this release, the build script of the driver does.
pub(crate) const LINKS_IN_BINDINGS: bool = false;
/// Whether the bindings rename the function table, so that its name is the same in all versions of the framework.
pub(crate) const NAMES_FUNCTION_TABLE: bool = true;

/// Extends [`bindgen::Builder`].
pub trait BuilderExt {
    /// Returns a builder with the settings that bindings to driver headers need.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder of headers.
    fn wdk_default(c_header_files: Vec<&str>, config: impl Borrow<Config>) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(c_header_files: Vec<&str>, config: impl Borrow<Config>) -> Result<Builder, ConfigError> {
        let builder = builder::builder(config.borrow())?;
        Ok(c_header_files.into_iter().fold(builder, Builder::header))
    }
}

impl Config {
    /// Returns the folders with headers.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn get_include_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        self.include_dirs()
    }

    /// Returns the folders with libraries.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn get_library_paths(&self) -> Result<Vec<PathBuf>, ConfigError> {
        self.library_dirs()
    }

    /// Returns the preprocessor definitions for C code, as name and value.
    pub fn get_preprocessor_definitions_iter(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.definitions().into_iter()
    }
}
