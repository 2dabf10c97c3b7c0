//! A bindgen builder for the kit's headers.

use std::borrow::Borrow;
use std::fmt;

use bindgen::callbacks::{ItemInfo, ItemKind, ParseCallbacks};
use bindgen::{Builder, EnumVariation, Formatter, RustEdition, RustTarget};

use crate::{Config, ConfigError};

/// Extends [`bindgen::Builder`].
pub trait BuilderExt {
    /// A builder with the settings that bindings to driver headers need.
    ///
    /// # Errors
    ///
    /// When the kit lacks a folder of headers.
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError>;
}

impl BuilderExt for Builder {
    fn wdk_default(config: impl Borrow<Config> + fmt::Debug) -> Result<Builder, ConfigError> {
        let config = config.borrow();
        let includes = config.include_paths()?.map(|path| format!("--include-directory={}", path.display()));
        let definitions = config.preprocessor_definitions().map(|(name, value)| match value {
            Some(value) => format!("--define-macro={name}={value}"),
            None => format!("--define-macro={name}"),
        });
        Ok(Self::default()
            .use_core()
            .derive_default(true)
            .generate_cstr(true)
            // The kit is complete in itself; the host's C headers would only be mistaken for Windows' own.
            .detect_include_paths(false)
            // Keeps `size_t` in the declarations of memcpy and the like, which bindgen maps to `usize`.
            .clang_arg("-fno-builtin")
            .clang_args(includes)
            .clang_args(definitions)
            .clang_args(["-fms-compatibility", "-fms-extensions", "-Wno-everything"])
            .must_use_type("NTSTATUS")
            .must_use_type("HRESULT")
            .default_enum_style(EnumVariation::ModuleConsts)
            .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
            .parse_callbacks(Box::new(Names { function_table: config.compute_wdffunctions_symbol_name() }))
            .formatter(Formatter::Prettyplease)
            .rust_target(rust_target()?)
            .rust_edition(RustEdition::Edition2024))
    }
}

/// Gives the versioned function table the name that a C macro gives it.
#[derive(Debug)]
struct Names {
    function_table: Option<String>,
}

impl ParseCallbacks for Names {
    fn generated_name_override(&self, item: ItemInfo<'_>) -> Option<String> {
        let is_table = item.kind == ItemKind::Var && Some(item.name) == self.function_table.as_deref();
        is_table.then(|| String::from("WdfFunctions"))
    }
}

/// The oldest Rust that this crate, and so every driver built with it, is compiled by.
fn rust_target() -> Result<RustTarget, ConfigError> {
    let msrv = env!("CARGO_PKG_RUST_VERSION");
    let minor = msrv.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(85);
    RustTarget::stable(minor, 0)
        .map_err(|error| ConfigError::MsrvNotSupportedByBindgen { msrv: msrv.to_owned(), reason: error.to_string() })
}
