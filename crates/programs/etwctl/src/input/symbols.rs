//! The PDBs of `--pdb` and `--symbols`: functions and lines for the stacks of a trace. Those of `--pdb` also have the formats of its
//! WPP messages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::{fs, io};

use etw_etl::{FrameNames, Images, Methods, Place};
use etw_manifest::wpp::Messages;
use etw_manifest::{EventKey, EventSchema, Schema};
use etw_types::Guid;
use pe_image::pdb::{Msf, Table};

use super::symbol_store::SymbolStores;
use crate::failure::Failure;

/// The maximum size of a PDB that is read, in bytes.
const MAX_PDB: u64 = 2 << 30;

/// A PDB. It is read when it is first needed.
#[derive(Debug)]
struct Pdb {
    path: PathBuf,
    table: OnceLock<Option<(Option<Guid>, Table)>>,
}

impl Pdb {
    const fn new(path: PathBuf) -> Self {
        Self { path, table: OnceLock::new() }
    }
}

/// The PDBs, by their file names in lower case without extension.
#[derive(Debug, Default)]
pub(crate) struct Pdbs {
    by_stem: HashMap<String, Vec<Arc<Pdb>>>,
    stores: SymbolStores,
    /// What the stores have for an id.
    stored: Mutex<HashMap<Guid, Vec<Arc<Pdb>>>>,
    messages: OnceLock<Messages>,
    /// Notes that were already printed, so that each is printed once.
    notes: Mutex<Vec<String>>,
}

impl Pdbs {
    /// Takes files, and all PDBs in folders and the folders below them. Looks up the PDBs of other images in `stores`. A file that is
    /// named must be a PDB, even if the trace needs none with its name.
    pub(crate) fn open(paths: &[PathBuf], stores: SymbolStores) -> Result<Self, Failure> {
        let mut pdbs = Self { stores, ..Self::default() };
        for path in paths {
            let cannot = |error: io::Error| io::Error::new(error.kind(), format!("--pdb {}: {error}", path.display()));
            if !path.is_dir() {
                let bytes = read_file(path).map_err(cannot)?;
                Msf::parse(&bytes).map_err(|error| Failure::Usage(format!("--pdb {}: {error}", path.display())))?;
                pdbs.add(path.clone());
                continue;
            }
            let mut dirs = vec![path.clone()];
            while let Some(dir) = dirs.pop() {
                for entry in fs::read_dir(&dir).map_err(cannot)? {
                    let path = entry.map_err(cannot)?.path();
                    if path.is_dir() && !path.is_symlink() {
                        dirs.push(path);
                    } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdb")) {
                        pdbs.add(path);
                    }
                }
            }
        }
        if !paths.is_empty() && pdbs.by_stem.is_empty() {
            let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Failure::Usage(format!("--pdb: there is no .pdb file in {}", paths.join(", "))));
        }
        Ok(pdbs)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_stem.is_empty()
    }

    fn add(&mut self, path: PathBuf) {
        self.by_stem.entry(stem(&path.to_string_lossy())).or_default().push(Arc::new(Pdb::new(path)));
    }

    fn note_once(&self, note: String) {
        if let Ok(mut notes) = self.notes.lock()
            && !notes.contains(&note)
        {
            command_line::note(&note);
            notes.push(note);
        }
    }

    /// The PDBs of the stores for an id.
    fn stored(&self, id: Guid, name: &str) -> Vec<Arc<Pdb>> {
        let Ok(mut stored) = self.stored.lock() else { return Vec::new() };
        let find = || self.stores.find(name, id).into_iter().map(|path| Arc::new(Pdb::new(path))).collect();
        stored.entry(id).or_insert_with(find).clone()
    }

    /// Calls `use_table` with the PDB of an image: the one with the id in the trace, or, if the trace has no id, the one of `--pdb`
    /// with the image's name.
    fn with<T>(&self, place: &Place<'_>, use_table: impl FnOnce(&Table) -> T) -> Option<T> {
        if self.by_stem.is_empty() && self.stores.is_empty() {
            return None;
        }
        let names = [place.pdb.map(|(_, name)| stem(name)), Some(stem(place.image))];
        let given = names.into_iter().flatten().filter_map(|name| self.by_stem.get(&name)).flatten().cloned();
        let stored = place.pdb.map(|(id, name)| self.stored(id, name)).unwrap_or_default();
        for pdb in given.chain(stored) {
            let Some((id, table)) = pdb.table.get_or_init(|| self.read(&pdb.path)) else { continue };
            match (place.pdb, id) {
                (Some((wanted, _)), Some(id)) if wanted != *id => {
                    let path = pdb.path.display();
                    self.note_once(format!(
                        "{path} has the id {id} and does not belong to {}, whose PDB has the id {wanted}",
                        place.image
                    ));
                }
                (Some(_), _) => return Some(use_table(table)),
                (None, _) => {
                    let path = pdb.path.display();
                    self.note_once(format!(
                        "the trace does not have the id of the PDB of {}: {path} is used because of its name",
                        place.image
                    ));
                    return Some(use_table(table));
                }
            }
        }
        None
    }

    fn read(&self, path: &Path) -> Option<(Option<Guid>, Table)> {
        let read = || {
            let bytes = read_file(path).map_err(|error| error.to_string())?;
            let msf = Msf::parse(&bytes).map_err(|error| error.to_string())?;
            let table = Table::read(&msf).map_err(|error| error.to_string())?;
            Ok((msf.id().map(Guid::from_bytes_le), table))
        };
        read().map_err(|error: String| self.note_once(format!("skipped {}: {error}", path.display()))).ok()
    }

    fn messages(&self) -> &Messages {
        self.messages.get_or_init(|| {
            let mut messages = Messages::default();
            for pdb in self.by_stem.values().flatten() {
                if let Err(error) = messages.add_pdb(&pdb.path) {
                    self.note_once(format!("skipped {error}"));
                }
            }
            messages
        })
    }
}

/// Reads a PDB that is not too large.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MAX_PDB {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 2 GiB"));
    }
    fs::read(path)
}

/// The name of a file in lower case, without folders and extension.
fn stem(path: &str) -> String {
    let file = path.rsplit(['\\', '/']).next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_lowercase()
}

/// The formats of WPP messages in the PDBs.
impl Schema for Pdbs {
    fn event(&self, key: &EventKey) -> Option<Arc<EventSchema>> {
        if key.is_classic { None } else { self.messages().event(key) }
    }

    fn provider_name(&self, provider: &Guid) -> Option<Arc<str>> {
        self.messages.get()?.provider_name(provider)
    }
}

/// Names the frames of stacks of a trace.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) images: Arc<Images>,
    pub(crate) methods: Arc<Methods>,
    pub(crate) pdbs: Arc<Pdbs>,
}

impl FrameNames for Frames {
    fn names(&self, process: u32, address: u64) -> Vec<String> {
        self.images.find(process, address).map(|place| self.functions(&place)).unwrap_or_default()
    }

    fn names_at(&self, process: u32, stamp: u64, address: u64) -> Vec<String> {
        // The code of a method may be in an image that was compiled ahead of time. The method says more than the image.
        let method = self.methods.names_at(process, stamp, address);
        if !method.is_empty() {
            return method;
        }
        self.images.find_at(process, stamp, address).map(|place| self.functions(&place)).unwrap_or_default()
    }
}

impl Frames {
    /// The functions at a place, the innermost inlined one first, or the image and the offset.
    fn functions(&self, place: &Place<'_>) -> Vec<String> {
        let named = u32::try_from(place.offset)
            .ok()
            .and_then(|rva| self.pdbs.with(place, |table| functions(table, place, rva)));
        named.filter(|functions| !functions.is_empty()).unwrap_or_else(|| vec![place.to_string()])
    }
}

/// The functions of a PDB at a place.
fn functions(table: &Table, place: &Place<'_>, rva: u32) -> Vec<String> {
    // A return address is after the call, which may be the last instruction of its line or of its function. The address
    // before it is inside the call.
    let frames = table.frames(rva.saturating_sub(1));
    // The offset of the return address from the symbol, as debuggers show it. Inlined functions have none.
    let offset =
        table.nearest(rva.saturating_sub(1)).map(|nearest| format!("+{:#x}", nearest.offset.saturating_add(1)));
    let name = |frame: pe_image::Frame<'_>| {
        let function = frame.function.unwrap_or_else(|| "(inlined)".to_owned());
        let function = if frame.is_inlined { function } else { function + offset.as_deref().unwrap_or_default() };
        match frame.source {
            Some((file, line)) => {
                let file = file.rsplit(['\\', '/']).next().unwrap_or(file);
                format!("{}!{function} ({file}:{line})", place.image)
            }
            None => format!("{}!{function}", place.image),
        }
    };
    frames.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_files_are_compared_without_folders_extension_and_case() {
        for path in ["C:\\Symbols\\Driver.PDB", "driver.sys", "/store/driver.pdb/0123/DRIVER.pdb", "driver"] {
            assert_eq!(super::stem(path), "driver");
        }
    }
}
