//! Names and source lines for addresses of an image, from the PDB next to it, the linker's map, or its exports.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use crate::bytes::printable;
use crate::debug::PdbReference;
use crate::error::Error;
use crate::exports::ExportTarget;
use crate::frame::{Frame, Nearest};
use crate::image::Image;
use crate::map::LinkerMap;
use crate::own::OwnSources;
use crate::pdb::{Msf, Table};
use crate::sections::Section;

/// Maximum size of a PDB or map. The PDBs of the largest drivers have a few hundred megabytes.
const LARGEST: u64 = 2 << 30;

/// The symbols of an image. They are loaded when they are first needed.
#[derive(Debug, Default)]
pub struct Symbols {
    pdb: Option<PathBuf>,
    map: PathBuf,
    reference: Option<PdbReference>,
    sections: Vec<Section>,
    entry: u32,
    exports: Vec<(u32, String)>,
    table: OnceLock<Result<Table, String>>,
    /// Names from the map and the exports, ordered by address.
    others: OnceLock<Vec<(u32, String)>>,
    own: OnceLock<OwnSources>,
}

impl Symbols {
    /// Looks for the PDB next to the image: a file with the name that the linker wrote, or with the name of the image.
    #[must_use]
    pub fn beside(path: &Path, image: &Image) -> Self {
        let reference = image.pdb().cloned();
        let file = reference.as_ref().and_then(|reference| reference.path.rsplit(['/', '\\']).next());
        let named = file.map(|file| path.with_file_name(file));
        let own = path.with_extension("pdb");
        let exports = image.exports.iter().flat_map(|exports| &exports.symbols);
        let exports = exports.filter_map(|export| match (&export.target, &export.name) {
            (ExportTarget::Address(rva), Some(name)) => Some((*rva, name.clone())),
            _ => None,
        });
        Self {
            pdb: [named, Some(own)].into_iter().flatten().find(|path| path.is_file()),
            map: path.with_extension("map"),
            sections: image.sections.clone(),
            entry: image.entry.rva,
            exports: exports.collect(),
            reference,
            ..Self::default()
        }
    }

    /// Returns the files that names are read from: the PDB and the linker map, whether or not they exist.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.pdb.iter().chain([&self.map]).map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the functions that the instruction at an address comes from: the innermost inlined function first, the function
    /// that was actually called last. Empty without a PDB.
    #[must_use]
    pub fn frames(&self, rva: u32) -> Vec<Frame<'_>> {
        self.table().as_ref().map(|table| table.frames(rva)).unwrap_or_default()
    }

    /// Returns the addresses at which the code of a source line begins, in ascending order. Empty without a PDB.
    #[must_use]
    pub fn line_starts(&self) -> Vec<u32> {
        self.table().as_ref().map(Table::line_starts).unwrap_or_default()
    }

    /// Returns the nearest symbol at or before an address in the same section.
    #[must_use]
    pub fn nearest(&self, rva: u32) -> Option<Nearest> {
        if let Some(nearest) = self.table().as_ref().ok().and_then(|table| table.nearest(rva)) {
            return Some(nearest);
        }
        let section = self.sections.iter().find(|section| section.contains(rva))?;
        let others = self.others.get_or_init(|| self.other_names());
        let after = others.partition_point(|(start, _)| *start <= rva);
        let (start, name) = others.get(after.checked_sub(1)?)?;
        section.contains(*start).then(|| Nearest { name: name.clone(), offset: rva - start })
    }

    /// Returns the name of the section that contains an address.
    #[must_use]
    pub fn section(&self, rva: u32) -> Option<&str> {
        self.sections.iter().find(|section| section.contains(rva)).map(|section| section.name.as_str())
    }

    /// Returns whether a source file is the driver's own rather than part of a library; see "The user's line is found by path" in `DESIGN.md`.
    #[must_use]
    pub fn is_own(&self, file: &str) -> bool {
        let find = |table| OwnSources::find(table, self.reference.as_ref().map(|reference| reference.path.as_str()));
        self.own.get_or_init(|| self.table().as_ref().map(find).unwrap_or_default()).contains(file)
    }

    /// Returns why a PDB that was found could not be used: it is damaged or belongs to another build.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.table().as_ref().err().filter(|_| self.pdb.is_some()).map(String::as_str)
    }

    fn table(&self) -> &Result<Table, String> {
        self.table.get_or_init(|| {
            let path = self.pdb.as_ref().ok_or("there is no PDB")?;
            let text = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let bytes = read(path).map_err(|error| text(&error))?;
            self.parse(&bytes).map_err(|error| text(&error))
        })
    }

    fn parse(&self, bytes: &[u8]) -> Result<Table, Error> {
        let msf = Msf::parse(bytes)?;
        match (&self.reference, msf.id()) {
            (Some(PdbReference { id: wanted, .. }), Some(found)) if *wanted != PdbReference::id_text(found) => {
                let reason = format!("it belongs to build {}, the image to {wanted}", PdbReference::id_text(found));
                Err(Error::new("PDB id", reason))
            }
            _ => Table::read(&msf),
        }
    }

    /// Returns the names from the map and the exports. A map that is missing, damaged or of another build contributes none.
    fn other_names(&self) -> Vec<(u32, String)> {
        let text = read(&self.map).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let map = LinkerMap::new(&text);
        let symbols = map.symbols(&self.sections, self.entry);
        let symbols = symbols.into_iter().flatten().map(|(rva, name)| (rva, printable(name.as_bytes())));
        let mut names: Vec<_> = self.exports.iter().cloned().chain(symbols).collect();
        // If an address has several names, keep the first: an export, or the one that the map lists first.
        names.sort_by_key(|(rva, _)| *rva);
        names.dedup_by_key(|(rva, _)| *rva);
        names
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.len() {
        length if length > LARGEST => Err(io::Error::other(format!("{length} bytes; the maximum is {LARGEST}"))),
        _ => fs::read(path),
    }
}
