//! What can go wrong, said so that the reader can put it right.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::metadata::TryFromCargoMetadataError;

/// How to extend the kit, at the end of errors about what it lacks.
pub(crate) const HOW_TO_ADD: &str = "see \"Adding to the kit\" in crates/host/wdk-kit/README.md";

/// Why a build cannot be configured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Reading or writing a file failed.
    #[error(transparent)]
    IoError(#[from] IoError),

    /// A folder of the kit does not exist.
    #[error("the kit has no folder {directory}")]
    DirectoryNotFound {
        /// The folder.
        directory: String,
    },

    /// A header that an API subset consists of is not in the kit.
    #[error("the kit has no header `{header}`, which wdk-sys' {subset} bindings need; {HOW_TO_ADD}")]
    HeaderNotInKit {
        /// Its name, as it is included.
        header: String,
        /// The subset that needs it.
        subset: String,
    },

    /// The kit serves one version of KMDF.
    #[error(
        "the kit has KMDF 1.33, not {version}; set target-kmdf-version-minor = 33 (and, to run on older systems, \
             minimum-kmdf-version-minor = 25 or later)"
    )]
    KmdfVersionNotInKit {
        /// The version asked for.
        version: String,
    },

    /// The framework allows a minimum between 1.25 and the version that the driver is built for.
    #[error(
        "minimum-kmdf-version-minor = {minimum} is out of range: the framework allows 25 to {target}, the target version"
    )]
    KmdfMinimumOutOfRange {
        /// The minimum asked for.
        minimum: u8,
        /// The version that the driver is built for.
        target: u8,
    },

    /// UMDF drivers are user-mode programs, which the kit does not build.
    #[error("the kit builds WDM and KMDF drivers; UMDF needs Windows and the WDK")]
    UmdfNotInKit,

    /// The kit was made without libraries.
    #[error(
        "the driver kit is incomplete without {tools}; on Debian and Ubuntu: apt-get install clang lld llvm \
             libclang-dev"
    )]
    MissingTools {
        /// The programs that were not found, separated by spaces.
        tools: String,
    },

    /// The driver is not built for Windows on a processor that drivers exist for.
    #[error("drivers are built for x86_64-pc-windows-msvc or aarch64-pc-windows-msvc, not for {target}")]
    UnsupportedTarget {
        /// The target.
        target: String,
    },

    /// `cargo metadata` failed.
    #[error(transparent)]
    CargoMetadataError(#[from] cargo_metadata::Error),

    /// The driver model could not be read from the manifests.
    #[error(transparent)]
    TryFromCargoMetadataError(#[from] TryFromCargoMetadataError),

    /// Bindgen does not know the language version of this crate.
    #[error("bindgen does not support Rust {msrv}: {reason}")]
    MsrvNotSupportedByBindgen {
        /// The version.
        msrv: String,
        /// What bindgen says.
        reason: String,
    },

    /// Kernel code cannot use the C runtime's DLL.
    #[error(
        "the C runtime is not linked statically: build with `-C target-feature=+crt-static`, for instance by\n\
             [target.x86_64-pc-windows-msvc]\nrustflags = [\"-C\", \"target-feature=+crt-static\"]\n\
             in .cargo/config.toml"
    )]
    StaticCrtNotEnabled,
}

/// A failed file operation with the paths it was about.
#[derive(Debug, Error)]
#[error("{metadata}")]
pub struct IoError {
    metadata: IoErrorMetadata,
    #[source]
    source: io::Error,
}

impl IoError {
    /// About one path.
    pub fn with_path(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { metadata: IoErrorMetadata::Path { path: path.into() }, source }
    }

    /// About a copy or a move.
    pub fn with_src_dest_paths(from_path: impl Into<PathBuf>, to_path: impl Into<PathBuf>, source: io::Error) -> Self {
        let metadata = IoErrorMetadata::SrcDestPaths { from_path: from_path.into(), to_path: to_path.into() };
        Self { metadata, source }
    }
}

/// The paths of an [`IoError`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoErrorMetadata {
    /// One path.
    #[error("cannot access {}", path.display())]
    Path {
        /// It.
        path: PathBuf,
    },
    /// A copy or a move.
    #[error("cannot copy or move {} to {}", from_path.display(), to_path.display())]
    SrcDestPaths {
        /// The source.
        from_path: PathBuf,
        /// The destination.
        to_path: PathBuf,
    },
}
