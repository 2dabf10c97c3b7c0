//! The user's own copies of Microsoft's framework, kept by version.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use etw_etl::NewFile;
use nt_machine::{Guest, RegistryKey, RegistryValue};
use pe_image::framework::Client;
use pe_image::{Image, Imported, Layout, ResourceType, resources};
use windows_constants::image::RT_VERSION;
use windows_releases::Kmdf;

use crate::Error;

/// The files of Microsoft's framework and of its loader, as Windows names them.
const FRAMEWORK: &str = "Wdf01000.sys";
const LOADER: &str = "WdfLdr.sys";
/// Where the loader looks up the service of a framework.
const VERSIONS: &str = r"\Registry\Machine\System\CurrentControlSet\Control\Wdf\Kmdf\KmdfLibrary\Versions\1";
const VERSION: ResourceType = ResourceType::Id(RT_VERSION);
/// The signature of `VS_FIXEDFILEINFO`.
const FIXED_INFO: [u8; 4] = 0xFEEF_04BD_u32.to_le_bytes();
/// The company in the version resource, in UTF-16.
const COMPANY: &str = "Microsoft Corporation";

/// A folder with frameworks, one for each version. `nt-host framework` and [`Builder::framework`](crate::Builder::framework)
/// with a version such as `1.33` use the one in the cache.
///
/// ```no_run
/// use nt_host::{Frameworks, NtHost};
///
/// let frameworks = Frameworks::in_cache().expect("a home folder");
/// let version = frameworks.add("Wdf01000.sys")?;
/// assert!(frameworks.find(&version).is_some());
/// for (version, file) in frameworks.list() {
///     println!("{version}: {}", file.display());
/// }
/// NtHost::builder().driver("my_driver.sys").framework(&version).start()?.unload()?.assert_clean();
/// frameworks.remove(&version)?;
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Frameworks {
    dir: PathBuf,
}

impl Frameworks {
    /// Returns the frameworks in a folder, which need not exist.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the frameworks in the user's cache folder; `None` if the user has none.
    #[must_use]
    pub fn in_cache() -> Option<Self> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))?;
        Some(Self::new(cache.join("wdk-etw").join("frameworks")))
    }

    /// Copies a framework into the folder. Returns its version, such as `1.33`.
    ///
    /// # Errors
    ///
    /// Fails if the file is not Microsoft's framework, or cannot be copied.
    pub fn add(&self, file: impl AsRef<Path>) -> Result<String, Error> {
        let file = file.as_ref();
        let version = version_of(file)?;
        let bytes = fs::read(file).map_err(|error| Error::File(file.to_owned(), error))?;
        let dir = self.dir.join(&version);
        fs::create_dir_all(&dir).map_err(|error| Error::File(dir, error))?;
        // The error names the file.
        write(&self.file(&version), &bytes).map_err(|error| Error::Usage(error.to_string()))?;
        Ok(version)
    }

    /// Returns the versions and files, oldest version first.
    #[must_use]
    pub fn list(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<(String, PathBuf)> = names
            .map(|version| (version.clone(), self.file(&version)))
            .filter(|(version, file)| number(version).is_some() && file.is_file())
            .collect();
        found.sort_by_key(|(version, _)| number(version));
        found
    }

    /// Returns the file of a version.
    #[must_use]
    pub fn find(&self, version: &str) -> Option<PathBuf> {
        number(version).map(|_| self.file(version)).filter(|file| file.is_file())
    }

    /// Returns the file of a version, or says which versions there are.
    fn get(&self, version: &str) -> Result<PathBuf, Error> {
        self.find(version).ok_or_else(|| {
            let known: Vec<String> = self.list().into_iter().map(|(version, _)| version).collect();
            let known =
                if known.is_empty() { "there is none".to_owned() } else { format!("known: {}", known.join(", ")) };
            Error::Usage(format!("there is no framework {version}: {known}"))
        })
    }

    /// Removes a version.
    ///
    /// # Errors
    ///
    /// Fails if there is no such version, or if it cannot be removed.
    pub fn remove(&self, version: &str) -> Result<(), Error> {
        let file = self.get(version)?;
        fs::remove_file(&file).map_err(|error| Error::File(file.clone(), error))?;
        // Another file that the user put there keeps the folder.
        let _ = fs::remove_dir(self.dir.join(version));
        Ok(())
    }

    fn file(&self, version: &str) -> PathBuf {
        self.dir.join(version).join(FRAMEWORK)
    }
}

/// Writes a file of the cache. An earlier one stays until this one is complete.
#[expect(clippy::disallowed_methods, reason = "the cache chooses the name, and the input was read before")]
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Returns the file of the framework: `path` itself, the file with its name in a folder, or the version in the cache.
pub(super) fn framework_file(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        let version = path.to_str().filter(|name| !path.exists() && number(name).is_some());
        return match version.zip(Frameworks::in_cache()) {
            Some((version, cache)) => cache.get(version),
            None => Ok(path.to_owned()),
        };
    }
    if let Some(file) = find_in(path, FRAMEWORK)? {
        return Ok(file);
    }
    let reason = format!(
        "there is no {FRAMEWORK} in {}: copy it from C:\\Windows\\System32\\drivers of a Windows machine",
        path.display()
    );
    Err(Error::Usage(reason))
}

/// Returns the framework's loader, if it is in the folder that was given for the framework.
pub(super) fn loader_file(path: &Path) -> Result<Option<PathBuf>, Error> {
    if path.is_dir() { find_in(path, LOADER) } else { Ok(None) }
}

/// Returns whether an image is a client of the framework's loader.
pub(super) fn is_imported(image: &Layout) -> bool {
    image.imports.iter().any(|import| import.module.eq_ignore_ascii_case(LOADER))
}

/// Returns the registry value from which the loader learns the service of the framework, as its installer sets it.
pub(super) fn service_value(framework: &Guest) -> (RegistryKey, String, RegistryValue) {
    let service = RegistryValue::Text(framework.service().to_owned());
    (RegistryKey::Path(VERSIONS.to_owned()), "Service".to_owned(), service)
}

/// Returns why a framework does not bind a driver, if so. `client` is what the driver's image requires.
/// The loader itself returns only a status.
pub(super) fn refusal(framework: &Path, client: Option<Client>) -> Option<String> {
    let (client, (_, minor)) = (client?, number(&version_of(framework).ok()?)?);
    let version = Kmdf::RELEASED.into_iter().find(|known| known.minor == u32::from(minor))?;
    let refused = version.bind(client).err()?;
    Some(refused.explain_for(client, version, &framework.file_name()?.to_string_lossy()))
}

/// Returns the file with this name, in any case, in a folder.
fn find_in(dir: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let unreadable = |error| Error::File(dir.to_owned(), error);
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().eq_ignore_ascii_case(name) {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Returns the numbers of a version such as `1.33`, or `None` for other text.
fn number(version: &str) -> Option<(u16, u16)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Checks that a file is Microsoft's framework: it registers with `WDFLDR.SYS`, and its version resource names Microsoft.
/// Returns the version.
fn version_of(path: &Path) -> Result<String, Error> {
    let file = fs::read(path).map_err(|error| Error::File(path.to_owned(), error))?;
    let bad = |error| Error::Image(path.to_owned(), error);
    let image = Image::parse(&file).map_err(bad)?;
    let mut imports = image.imports.modules.iter().flat_map(|module| &module.routines);
    let registers = imports.any(|symbol| *symbol == Imported::Name("WdfRegisterLibrary".to_owned()));
    let resources = resources(&file).map_err(bad)?;
    let version = resources.iter().find(|resource| resource.kind == VERSION).map(|resource| resource.data);
    let not = |why: &str| Error::Usage(format!("{} is not Microsoft's framework: {why}", path.display()));
    if !registers {
        return Err(not("it does not import WdfRegisterLibrary"));
    }
    let version = version.ok_or_else(|| not("it has no version resource"))?;
    let company: Vec<u8> = COMPANY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    if !version.windows(company.len()).any(|part| part == company) {
        return Err(not("its version resource does not name Microsoft Corporation"));
    }
    let info = version.windows(4).position(|part| part == FIXED_INFO).and_then(|place| version.get(place..));
    // The file version follows the signature and the version of the structure: minor, then major.
    let words = info.and_then(|info| info.get(8..12)).map(|bytes| bytes.as_chunks::<2>().0);
    match words {
        Some([minor, major]) => Ok(format!("{}.{}", u16::from_le_bytes(*major), u16::from_le_bytes(*minor))),
        _ => Err(not("its version resource has no version")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Frameworks, number};

    #[test]
    fn a_folder_without_frameworks_lists_none_and_says_so() {
        let frameworks = Frameworks::new("/nonexistent");
        assert!(frameworks.list().is_empty());
        assert!(frameworks.find("1.9").is_none());
        let error = frameworks.remove("1.9").expect_err("there is none").to_string();
        assert_eq!(error, "there is no framework 1.9: there is none");
        assert_eq!(number("1.33"), Some((1, 33)));
        assert_eq!(number("1"), None);
        assert_eq!(number("../x.y"), None);
    }
}
