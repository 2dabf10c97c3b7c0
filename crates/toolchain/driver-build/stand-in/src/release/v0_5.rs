//! The signatures of `wdk-build` 0.5.

use std::borrow::Borrow;
use std::fmt;
use std::path::PathBuf;

use bindgen::Builder;

use crate::{ApiSubset, Config, ConfigError, builder};

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
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError> {
        builder::builder(config.borrow())
    }
}

impl Config {
    /// Returns the folders with headers.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn include_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        Ok(self.include_dirs()?.into_iter())
    }

    /// Returns the folders with libraries.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks a folder.
    pub fn library_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        Ok(self.library_dirs()?.into_iter())
    }

    /// Returns the preprocessor definitions for C code, as name and value.
    pub fn preprocessor_definitions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.definitions().into_iter()
    }

    /// Returns the headers of a subset, as C code includes them.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks the headers.
    pub fn headers(&self, subset: ApiSubset) -> Result<impl Iterator<Item = String>, ConfigError> {
        Ok(self.header_list(subset)?.into_iter())
    }

    /// Returns C code that includes the headers of some subsets.
    ///
    /// # Errors
    ///
    /// Fails if the kit lacks the headers.
    pub fn bindgen_header_contents(
        &self,
        subsets: impl IntoIterator<Item = ApiSubset> + fmt::Debug,
    ) -> Result<String, ConfigError> {
        self.header_text(subsets)
    }
}
