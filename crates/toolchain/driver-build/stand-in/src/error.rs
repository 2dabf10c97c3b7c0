//! The errors of build scripts.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a build cannot be configured. Variants that build scripts match on have the names of the original.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// The path of the kit is not set.
    NoKit,
    /// A folder of the kit is missing.
    DirectoryNotFound {
        /// The folder.
        directory: String,
    },
    /// A header is neither in the kit nor in the WDK.
    HeaderNotInKit {
        /// The header, as C code includes it.
        header: String,
        /// The subset that needs it.
        subset: String,
    },
    /// Bindgen finds no fields in structures that libclang reads.
    Libclang {
        /// The version of libclang.
        version: String,
    },
    /// UMDF drivers are user-mode programs, which the kit does not build.
    UmdfNotInKit,
    /// The target is not Windows on x64 or ARM64.
    UnsupportedTarget {
        /// The target.
        target: String,
    },
    /// The driver model is missing or invalid.
    TryFromCargoMetadataError(TryFromCargoMetadataError),
    /// The C runtime is not linked statically. Kernel code cannot use the DLL of the C runtime.
    StaticCrtNotEnabled,
    /// A failed file operation.
    IoError(IoError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKit => f.write_str(
                "there is no driver kit: build with `cargo xtask build`, or set WDK_KIT_ROOT to the folder of a kit or WDK",
            ),
            Self::DirectoryNotFound { directory } => write!(f, "the folder {directory} does not exist"),
            Self::HeaderNotInKit { header, subset } => {
                write!(f, "the kit has no header `{header}`, which wdk-sys' {subset} bindings need")
            }
            Self::Libclang { version } => write!(
                f,
                "this release of wdk-sys cannot read structures with libclang {version} (windows-drivers-rs issues 659 and 736): use wdk-sys \
                 0.5.2 or later, or set LIBCLANG_PATH to a folder with libclang 21 or older"
            ),
            Self::UmdfNotInKit => {
                f.write_str("UMDF drivers run in user mode; the kit builds only WDM and KMDF drivers")
            }
            Self::UnsupportedTarget { target } => {
                write!(f, "drivers are built for x86_64-pc-windows-msvc or aarch64-pc-windows-msvc, not for {target}")
            }
            Self::TryFromCargoMetadataError(error) => error.fmt(f),
            Self::StaticCrtNotEnabled => f.write_str(
                "the C runtime is not linked statically: build with `-C target-feature=+crt-static`, for example with\n\
                 [target.x86_64-pc-windows-msvc]\nrustflags = [\"-C\", \"target-feature=+crt-static\"]\n\
                 in .cargo/config.toml",
            ),
            Self::IoError(error) => error.fmt(f),
        }
    }
}

impl Error for ConfigError {}

impl From<TryFromCargoMetadataError> for ConfigError {
    fn from(error: TryFromCargoMetadataError) -> Self {
        Self::TryFromCargoMetadataError(error)
    }
}

impl From<IoError> for ConfigError {
    fn from(error: IoError) -> Self {
        Self::IoError(error)
    }
}

impl From<io::Error> for ConfigError {
    fn from(error: io::Error) -> Self {
        Self::IoError(IoError::with_path("a file of the build", error))
    }
}

/// Why there is no driver model.
#[derive(Debug)]
#[non_exhaustive]
pub enum TryFromCargoMetadataError {
    /// No manifest of the workspace has a driver model.
    NoWdkConfigurationsDetected,
    /// The table is invalid.
    WdkMetadataDeserialization {
        /// What is wrong with the table.
        reason: String,
    },
}

impl fmt::Display for TryFromCargoMetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWdkConfigurationsDetected => {
                f.write_str("no manifest of this workspace has a [package.metadata.wdk.driver-model]")
            }
            Self::WdkMetadataDeserialization { reason } => {
                write!(f, "[package.metadata.wdk.driver-model] is invalid: {reason}")
            }
        }
    }
}

impl Error for TryFromCargoMetadataError {}

/// A failed file operation with its paths.
#[derive(Debug)]
pub struct IoError {
    metadata: IoErrorMetadata,
    source: io::Error,
}

impl IoError {
    /// Creates an error about one path.
    pub fn with_path(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { metadata: IoErrorMetadata::Path { path: path.into() }, source }
    }

    /// Creates an error about a copy or a move.
    pub fn with_src_dest_paths(from_path: impl Into<PathBuf>, to_path: impl Into<PathBuf>, source: io::Error) -> Self {
        let metadata = IoErrorMetadata::SrcDestPaths { from_path: from_path.into(), to_path: to_path.into() };
        Self { metadata, source }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.metadata {
            IoErrorMetadata::Path { path } => write!(f, "{}: {}", path.display(), self.source),
            IoErrorMetadata::SrcDestPaths { from_path, to_path } => {
                write!(f, "{} to {}: {}", from_path.display(), to_path.display(), self.source)
            }
        }
    }
}

impl Error for IoError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// The paths of an [`IoError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum IoErrorMetadata {
    /// One path.
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A copy or a move.
    SrcDestPaths {
        /// The source.
        from_path: PathBuf,
        /// The destination.
        to_path: PathBuf,
    },
}
