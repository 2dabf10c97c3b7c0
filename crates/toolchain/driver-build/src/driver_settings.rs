//! The table `[package.metadata.driver]` of a driver's manifest: what its commands do unless the command line says otherwise.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The settings of a driver.
///
/// ```toml
/// [package.metadata.driver]
/// windows = "win10-1809"                 # the release that nt-host imitates and images are checked against
/// framework = "1.33"                     # Microsoft's framework: a version, or a folder
/// run = ["--ioctl", "222000:05000000"]   # options of run, matrix and trace
/// provider = "MyCompany.MyDriver"        # the provider that packages record
/// catalog = "v1"                         # the format of the catalog
/// cert = "signer.pem"                    # signs packages
/// etwctl = "etwctl.exe"                  # goes into packages
/// headers = ["include/more.h"]           # declarations that the kit lacks
/// exports = ["more.def"]                 # routines of other modules to link with
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverSettings {
    /// The release of Windows.
    pub windows: Option<String>,
    /// The framework that replaces the imitated one: a version such as `1.33`, or a path.
    pub framework: Option<PathBuf>,
    /// Options of `nt-host` for a run.
    pub run: Vec<String>,
    /// The name of the driver's ETW provider.
    pub provider: Option<String>,
    /// The version of the catalog format.
    pub catalog: Option<String>,
    /// A PEM file that signs packages.
    pub cert: Option<PathBuf>,
    /// The `etwctl.exe` for packages.
    pub etwctl: Option<PathBuf>,
    /// Headers that the bindings have in addition to those of the kit.
    pub(crate) headers: Vec<PathBuf>,
    /// Module definition files; the driver can link with the routines that they list.
    pub(crate) exports: Vec<PathBuf>,
}

/// What is wrong with the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// It is not a table.
    NotATable,
    /// There is no such key.
    UnknownKey(String),
    /// A value has another type.
    Type {
        /// Its key.
        key: String,
        /// The type that it should have.
        expected: &'static str,
    },
}

/// The keys, in the order of the documentation.
const KEYS: [&str; 9] = ["windows", "framework", "run", "provider", "catalog", "cert", "etwctl", "headers", "exports"];

impl DriverSettings {
    /// Reads the table. Paths in it are relative to `dir`, the folder of the manifest.
    pub(crate) fn parse(table: &Value, dir: &Path) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for (key, value) in table.as_object().ok_or(SettingsError::NotATable)? {
            let wrong = |expected| SettingsError::Type { key: key.clone(), expected };
            let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("a string"));
            let list = || {
                let words = value.as_array().into_iter().flatten().map(|word| word.as_str().map(str::to_owned));
                let words: Option<Vec<String>> = words.collect();
                words.filter(|_| value.is_array()).ok_or_else(|| wrong("a list of strings"))
            };
            let paths = || Ok::<_, SettingsError>(list()?.into_iter().map(|path| dir.join(path)).collect());
            match key.as_str() {
                "windows" => settings.windows = Some(text()?),
                "framework" => settings.framework = Some(version_or_path(text()?, dir)),
                "run" => settings.run = list()?,
                "provider" => settings.provider = Some(text()?),
                "catalog" => settings.catalog = Some(text()?),
                "cert" => settings.cert = Some(dir.join(text()?)),
                "etwctl" => settings.etwctl = Some(dir.join(text()?)),
                "headers" => settings.headers = paths()?,
                "exports" => settings.exports = paths()?,
                _ => return Err(SettingsError::UnknownKey(key.clone())),
            }
        }
        Ok(settings)
    }
}

/// Returns a version such as `1.33` as it is, and makes any other text a path.
fn version_or_path(text: String, dir: &Path) -> PathBuf {
    let is_version = text.split('.').all(|number| number.parse::<u16>().is_ok());
    if is_version { text.into() } else { dir.join(text) }
}

/// Completes a sentence that begins with `[package.metadata.driver] of the package NAME`.
impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATable => f.write_str("is not a table"),
            Self::UnknownKey(key) => {
                write!(f, "has the key `{key}`, which has no meaning")?;
                let nearest = KEYS.into_iter().map(|known| (strsim::damerau_levenshtein(key, known), known)).min();
                match nearest {
                    Some((distance, known)) if distance <= 2 => write!(f, "; did you mean `{known}`?"),
                    _ => write!(f, "; the keys are {}", KEYS.join(", ")),
                }
            }
            Self::Type { key, expected } => write!(f, "has a `{key}` that is not {expected}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::{DriverSettings, KEYS, SettingsError};

    fn parse(table: &Value) -> Result<DriverSettings, SettingsError> {
        DriverSettings::parse(table, Path::new("/d"))
    }

    #[test]
    fn every_key_has_one_type() {
        for key in KEYS {
            let is_list = parse(&json!({ key: ["a"] })).is_ok();
            assert_eq!(parse(&json!({ key: "a" })).is_ok(), !is_list, "{key}");
            for wrong in [json!(1), json!([1]), json!({})] {
                assert!(matches!(parse(&json!({ key: wrong })), Err(SettingsError::Type { .. })), "{key}");
            }
        }
        let settings = parse(&json!({ "run": ["--read", "16"], "cert": "keys/a.pem" })).unwrap();
        let framework = |text: &str| parse(&json!({ "framework": text })).unwrap().framework.unwrap();
        assert_eq!(framework("1.33"), Path::new("1.33"));
        assert_eq!(framework("../kmdf"), Path::new("/d/../kmdf"));
        assert_eq!(settings.run.len(), 2);
        assert_eq!(settings.cert.as_deref(), Some(Path::new("/d/keys/a.pem")));
    }

    #[test]
    fn an_unknown_key_gets_a_suggestion() {
        let error = |key: &str| parse(&json!({ key: "a" })).unwrap_err().to_string();
        assert!(error("widows").ends_with("did you mean `windows`?"));
        assert!(error("colour").contains("the keys are windows, framework"));
        assert_eq!(parse(&json!("text")), Err(SettingsError::NotATable));
    }
}
