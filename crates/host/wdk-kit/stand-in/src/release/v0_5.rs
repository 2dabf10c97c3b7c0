//! What is particular to `wdk-build` 0.5.

use std::borrow::Borrow;
use std::fmt;
use std::path::PathBuf;

use bindgen::Builder;

use crate::{ApiSubset, Config, ConfigError, builder};

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
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError> {
        builder::builder(config.borrow())
    }
}

impl Config {
    /// The folders to look for headers in.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn include_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        Ok(self.include_folders()?.into_iter())
    }

    /// The folders to look for libraries in.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn library_paths(&self) -> Result<impl Iterator<Item = PathBuf>, ConfigError> {
        Ok(self.library_folders()?.into_iter())
    }

    /// What C code is compiled with, as name and value.
    pub fn preprocessor_definitions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.definitions().into_iter()
    }

    /// The headers of a subset, as they are included.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn headers(&self, subset: ApiSubset) -> Result<impl Iterator<Item = String>, ConfigError> {
        Ok(self.header_list(subset)?.into_iter())
    }

    /// A C file that includes the headers of some subsets.
    ///
    /// # Errors
    ///
    /// If the kit lacks one.
    pub fn bindgen_header_contents(
        &self,
        subsets: impl IntoIterator<Item = ApiSubset> + fmt::Debug,
    ) -> Result<String, ConfigError> {
        self.header_text(subsets)
    }
}
