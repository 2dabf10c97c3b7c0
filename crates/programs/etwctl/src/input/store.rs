//! The store of manifests that every command uses: a folder with the files of each provider, named by its GUID. A file is read
//! when an event of its provider is first decoded, so a store of thousands of manifests costs nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, io};

use etw_manifest::{EventKey, EventSchema, Schema, SchemaFiles, files};
use etw_types::Guid;

/// Names the folder of the store.
const VARIABLE: &str = "ETWCTL_SCHEMAS";

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    /// What was read so far; `None` if the store has nothing about a provider.
    read: Mutex<HashMap<Guid, Option<Arc<SchemaFiles>>>>,
}

impl Store {
    /// The folder of the store: `ETWCTL_SCHEMAS`, or one in the user's folder for data.
    pub(crate) fn dir() -> Option<PathBuf> {
        if let Some(dir) = env::var_os(VARIABLE) {
            return Some(dir.into());
        }
        let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".local/share"));
        let data = env::var_os("LOCALAPPDATA").or_else(|| env::var_os("XDG_DATA_HOME")).map(PathBuf::from);
        data.or_else(home).map(|data| data.join("etwctl").join("schemas"))
    }

    /// The store, if there is one.
    pub(crate) fn open() -> Option<Self> {
        let dir = Self::dir().filter(|dir| dir.is_dir())?;
        Some(Self { dir, read: Mutex::default() })
    }

    /// Adds a file for each provider that it describes. Returns the names of the providers, or nothing if the file describes no
    /// events. A file replaces one with the same name of the same provider.
    pub(crate) fn add(dir: &Path, file: &Path) -> Result<Vec<String>, String> {
        let manifest = files::read(file).map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("cannot add {} to {}: {error}", file.display(), dir.display());
        let mut names = Vec::new();
        for provider in manifest.providers.iter().filter(|provider| !provider.events.is_empty()) {
            let dir = dir.join(provider.guid.to_string());
            fs::create_dir_all(&dir).map_err(failed)?;
            copy(file, &dir).map_err(failed)?;
            names.push(provider.name.clone());
        }
        Ok(names)
    }

    /// The GUIDs of the providers in the store.
    pub(crate) fn providers(&self) -> io::Result<Vec<Guid>> {
        let mut providers = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            providers.extend(entry?.file_name().to_str().and_then(|name| Guid::parse(name).ok()));
        }
        providers.sort_unstable();
        Ok(providers)
    }

    /// The schemas of a provider. A file that cannot be read is skipped.
    pub(crate) fn provider(&self, provider: Guid) -> Option<Arc<SchemaFiles>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read.entry(provider).or_insert_with(|| {
            let dir = self.dir.join(provider.to_string());
            let mut files = SchemaFiles::default();
            (dir.is_dir() && files.add(&dir).is_ok()).then(|| Arc::new(files))
        });
        found.clone()
    }
}

/// Copies a file to a folder. A file with the same name is replaced when the copy is complete.
#[expect(
    clippy::disallowed_methods,
    reason = "the store chooses the name, and the copy is complete before it replaces a file"
)]
fn copy(file: &Path, dir: &Path) -> io::Result<()> {
    let target = dir.join(file.file_name().unwrap_or_default());
    let mut beside = target.clone().into_os_string();
    beside.push(format!(".{}.partial", std::process::id()));
    let copied = fs::copy(file, &beside).and_then(|_| fs::rename(&beside, target));
    if copied.is_err() {
        let _ = fs::remove_file(beside);
    }
    copied
}

impl Schema for Store {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        if key.is_classic { None } else { self.provider(key.provider)?.event(key) }
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.provider(*provider)?.provider_name(provider)
    }
}
