//! Files and folders of schemas that the user names.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use etw_types::Guid;

use crate::error::Error;
use crate::manifest::{Manifest, ManifestSchemas};
use crate::schema::{EventKey, EventSchema, Schema, Source};
use crate::wevt;

/// Maximum size of a file in bytes.
const MAX_FILE: u64 = 512 * 1024 * 1024;

/// The schemas from files.
#[derive(Debug, Default)]
pub struct SchemaFiles {
    schemas: ManifestSchemas,
    skipped: Vec<Error>,
    notes: Vec<String>,
}

impl SchemaFiles {
    /// Adds a manifest, a binary with a `WEVT_TEMPLATE` resource, or all such files in a folder and its subfolders.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or describes no events. In a folder, such files are skipped instead: see
    /// [`skipped`](Self::skipped).
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        if !path.is_dir() {
            self.add_manifest(path, &read(path)?);
            return Ok(());
        }
        for file in files(path)? {
            match read(&file) {
                Ok(manifest) => self.add_manifest(&file, &manifest),
                // Most binaries in a folder describe no events, which is not worth reporting.
                Err(Error::Content { .. }) if is_binary(&file) => {}
                Err(error) => self.skipped.push(error),
            }
        }
        Ok(())
    }

    fn add_manifest(&mut self, path: &Path, manifest: &Manifest) {
        self.schemas.add(manifest, Source::File);
        self.notes.extend(manifest.notes.iter().map(|note| format!("{}: {note}", path.display())));
    }

    /// Returns what the files describe in a way that this crate does not understand, such as fields of an unknown type.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns why files in folders could not be read.
    #[must_use]
    pub fn skipped(&self) -> &[Error] {
        &self.skipped
    }

    /// Returns the number of known events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.schemas.len()
    }

    /// Returns whether no event is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }
}

impl Schema for SchemaFiles {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        self.schemas.event(key)
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.schemas.provider_name(provider)
    }
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}

fn is_binary(path: &Path) -> bool {
    has_extension(path, &["sys", "dll", "exe", "mui"])
}

/// Returns the manifests and binaries below a folder, sorted by path. Symbolic links to folders are not followed.
fn files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).map_err(Error::io(&dir))? {
            let entry = entry.map_err(Error::io(&dir))?;
            let path = entry.path();
            if entry.file_type().map_err(Error::io(&path))?.is_dir() {
                dirs.push(path);
            } else if is_binary(&path) || has_extension(&path, &["man", "xml", "manifest"]) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a manifest, or the manifest in a binary.
///
/// # Errors
///
/// Fails if the file cannot be read or describes no events.
pub fn read(path: &Path) -> Result<Manifest, Error> {
    let size = fs::metadata(path).map_err(Error::io(path))?.len();
    if size > MAX_FILE {
        return Err(Error::io(path)(io::Error::other("the file has more than 512 MiB")));
    }
    let bytes = fs::read(path).map_err(Error::io(path))?;
    if !bytes.starts_with(b"MZ") {
        return Manifest::parse(&bytes).map_err(|error| Error::content(path, error.to_string()));
    }
    let resources = wevt::resources(&bytes).map_err(|reason| Error::content(path, reason))?;
    let Some(templates) = resources.templates else {
        return Err(Error::content(
            path,
            "the binary has no WEVT_TEMPLATE resource, so it describes no manifest events",
        ));
    };
    wevt::parse(&templates, &resources.messages).map_err(|reason| Error::content(path, reason))
}
