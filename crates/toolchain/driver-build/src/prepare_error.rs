//! Why a build cannot be prepared.

use std::fmt;
use std::path::PathBuf;

use crate::driver_settings::SettingsError;
use crate::error::Error;
use crate::files::FileError;
use crate::model::ModelError;

/// Why a build cannot be prepared. Nothing has been compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrepareError {
    /// There is no such manifest. The error has the path and the system's message.
    Manifest(FileError),
    /// Cargo accepts only paths in UTF-8.
    NotUtf8(PathBuf),
    /// The toolchain that compiles the driver is missing.
    Toolchain(Error),
    /// Cargo's configuration has flags that the compiler rejects.
    RejectedFlags {
        /// The folder in or above which the configuration is.
        dir: PathBuf,
        /// The compiler's message.
        reason: String,
    },
    /// Cargo could not download a dependency.
    Download {
        /// The address of the dependency.
        source: String,
        /// What went wrong.
        cause: String,
    },
    /// A package that the driver depends on by its path does not exist.
    MissingDependency {
        /// The manifest that cargo looked for.
        manifest: PathBuf,
    },
    /// Cargo rejects the manifest for another reason.
    Rejected {
        /// The manifest.
        manifest: PathBuf,
        /// Cargo's message.
        reason: String,
        /// Whether a nightly toolchain would accept it.
        needs_nightly: bool,
    },
    /// The output of `cargo metadata` is not as expected.
    Metadata {
        /// What is wrong with it.
        reason: String,
    },
    /// The workspace has no package of the requested name.
    UnknownPackage {
        /// The name.
        name: String,
        /// The names of the packages that the workspace has.
        members: Vec<String>,
    },
    /// No package of the workspace is a driver.
    NoDriver {
        /// The folder of the workspace.
        workspace: PathBuf,
        /// The names of the workspace's packages that could be drivers.
        others: Vec<String>,
    },
    /// A package is not a driver.
    NotADriver {
        /// Its name.
        package: String,
        /// Its manifest.
        manifest: PathBuf,
        /// Whether it is a static library.
        is_static: bool,
        /// The names of the workspace's packages that could be drivers.
        others: Vec<String>,
    },
    /// A package that uses Microsoft's crates has no driver model.
    NoModel {
        /// Its name.
        package: String,
        /// Its manifest.
        manifest: PathBuf,
    },
    /// A package has no driver model, and the packages of its workspace have several.
    SeveralModels {
        /// Its name.
        package: String,
        /// The models as JSON.
        models: Vec<String>,
    },
    /// The kit does not build drivers of this model.
    Model {
        /// The package's name.
        package: String,
        /// What is wrong with its model.
        error: ModelError,
    },
    /// The settings of a driver are wrong.
    Settings {
        /// The package's name.
        package: String,
        /// What is wrong.
        error: SettingsError,
    },
    /// A package that uses Microsoft's crates has no build script, so it would not be linked as a driver.
    NoBuildScript {
        /// Its name.
        package: String,
        /// Its manifest.
        manifest: PathBuf,
        /// What the build script must call.
        call: &'static str,
    },
    /// The kit does not support this release of `wdk-build`.
    Release {
        /// Its version.
        version: String,
    },
    /// No library can be made of a module definition file.
    Exports {
        /// The file.
        definition: PathBuf,
        /// The message of `llvm-dlltool`.
        reason: String,
    },
    /// A folder is not a WDK.
    NotAWdk {
        /// The folder.
        dir: PathBuf,
        /// The folder that is missing, `Include` or `Lib`.
        missing: &'static str,
    },
    /// The kit cannot be made.
    Kit(wdk_kit::Error),
    /// A file cannot be read or written.
    File(FileError),
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(error) => write!(
                f,
                "{error}; run the command in the folder of a driver or below it, name a Cargo.toml with --manifest-path, or make a \
                 driver with `cargo driver new NAME`"
            ),
            Self::NotUtf8(path) => write!(
                f,
                "the path `{}` is not valid UTF-8, which cargo needs",
                path.as_os_str().as_encoded_bytes().escape_ascii()
            ),
            Self::Toolchain(error) => error.fmt(f),
            Self::RejectedFlags { dir, reason } => write!(
                f,
                "rustc rejects the `rustflags` in a .cargo/config.toml in or above {}: {reason}; correct the flags in that file",
                dir.display()
            ),
            Self::Download { source, cause } => {
                write!(f, "cargo could not download {source}, which the driver depends on: {cause}")
            }
            Self::MissingDependency { manifest } => write!(
                f,
                "the driver depends on a package that is missing: {} does not exist; add the package, or depend on a published \
                 release of it",
                manifest.display()
            ),
            Self::Rejected { manifest, reason, needs_nightly } => {
                write!(f, "cargo rejects {}: {reason}", manifest.display())?;
                let advice = "\nadd a rust-toolchain.toml with channel = \"nightly\" in the same folder";
                if *needs_nightly { f.write_str(advice) } else { Ok(()) }
            }
            Self::Metadata { reason } => write!(f, "cargo metadata: {reason}"),
            Self::UnknownPackage { name, members } => {
                write!(f, "the workspace has no package `{name}`; it has {}", members.join(", "))
            }
            Self::NoDriver { workspace, others } => {
                write!(
                    f,
                    "no package of {} is a driver: add crate-type = [\"cdylib\"] to [lib] in the driver's Cargo.toml",
                    workspace.display()
                )?;
                list(f, others)
            }
            Self::NotADriver { package, manifest, is_static, others } => {
                let reason = if *is_static { "is a static library and not a driver" } else { "has no driver" };
                let manifest = manifest.display();
                write!(f, "the package {package} {reason}: add crate-type = [\"cdylib\"] to [lib] in {manifest}")?;
                list(f, others)
            }
            Self::NoModel { package, manifest } => write!(
                f,
                "the package {package} does not say what kind of driver it is: add [package.metadata.wdk.driver-model] with \
                 driver-type = \"KMDF\" or \"WDM\" to {}",
                manifest.display()
            ),
            Self::SeveralModels { package, models } => write!(
                f,
                "the package {package} has no [package.metadata.wdk.driver-model], and its workspace has several models: {}",
                models.join(" and ")
            ),
            Self::Model { package, error } => write!(f, "the package {package} {error}"),
            Self::Settings { package, error } => {
                write!(f, "[package.metadata.driver] of the package {package} {error}")
            }
            Self::NoBuildScript { package, manifest, call } => write!(
                f,
                "the package {package} has no build script, so it would be linked as a user-mode DLL and not as a driver: add \
                 wdk-build to [build-dependencies] in {}, and a build.rs whose main() calls wdk_build::{call}",
                manifest.display()
            ),
            Self::Release { version } => write!(f, "the kit does not support wdk-build {version}; use 0.1 to 0.6"),
            Self::NotAWdk { dir, missing } => write!(
                f,
                "{} is not a WDK: found no {missing}/km and no {missing}/10.0.N.0/km in it, in c, sdk, Windows Kits/10 or in \
                 packages",
                dir.display()
            ),
            Self::Exports { definition, reason } => {
                write!(f, "{}, in `exports` of [package.metadata.driver]: {reason}", definition.display())
            }
            Self::Kit(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, others: &[String]) -> fmt::Result {
    if others.is_empty() {
        return Ok(());
    }
    write!(f, "\nthe workspace has these drivers; choose one with --package: {}", others.join(", "))
}

impl std::error::Error for PrepareError {}

impl From<wdk_kit::Error> for PrepareError {
    fn from(error: wdk_kit::Error) -> Self {
        Self::Kit(error)
    }
}

impl From<FileError> for PrepareError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<PrepareError> for Error {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Toolchain(error) => error,
            PrepareError::Manifest(_) | PrepareError::NotUtf8(_) | PrepareError::File(_) => {
                Self::Usage(error.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PrepareError;
    use crate::error::Error;
    use crate::files::FileError;

    #[test]
    fn exit_codes_tell_what_the_user_has_to_change_first() {
        let file = FileError { path: "/d/Cargo.toml".into(), reason: "no such file".into() };
        assert_eq!(Error::from(PrepareError::File(file.clone())).exit_code(), 2);
        let error = Error::from(PrepareError::Manifest(file));
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("no such file; run the command"), "{text}");
        assert!(text.contains("cargo driver new"), "{text}");
        let missing = Error::Missing("no toolchain".into());
        assert_eq!(Error::from(PrepareError::Toolchain(missing.clone())), missing);
        assert_eq!(Error::from(PrepareError::Metadata { reason: String::new() }).exit_code(), 1);
    }

    #[test]
    fn an_error_about_a_missing_driver_lists_those_of_the_workspace() {
        let error = |others: &[&str]| {
            let others = others.iter().map(|name| (*name).to_owned()).collect();
            PrepareError::NoDriver { workspace: "/d".into(), others }.to_string()
        };
        assert!(error(&["one", "two"]).ends_with("choose one with --package: one, two"));
        assert!(!error(&[]).contains("--package"));
    }
}
