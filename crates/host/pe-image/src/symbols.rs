//! Names and source lines for addresses of an image, from the PDB beside it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use crate::debug::PdbReference;
use crate::error::Error;
use crate::pdb::{Msf, Table};

/// No larger PDB is read. Those of the largest drivers have a few hundred megabytes.
const LARGEST: u64 = 2 << 30;

/// The symbols of an image. They are read at the first question.
#[derive(Debug, Default)]
pub struct Symbols {
    path: Option<PathBuf>,
    id: Option<String>,
    table: OnceLock<Result<Table, String>>,
}

impl Symbols {
    /// Looks for the PDB beside the image: under the name that the linker wrote, or the image's.
    #[must_use]
    pub fn beside(image: &Path, reference: Option<&PdbReference>) -> Self {
        let own = image.with_extension("pdb");
        let file = reference.and_then(|reference| reference.path.rsplit(['/', '\\']).next());
        let named = file.map(|file| image.with_file_name(file));
        let path = [named, Some(own)].into_iter().flatten().find(|path| path.is_file());
        Self { path, id: reference.map(|reference| reference.id.clone()), table: OnceLock::new() }
    }

    /// The function of an address relative to the image.
    #[must_use]
    pub fn function(&self, rva: u32) -> Option<String> {
        self.table().as_ref().ok()?.function(rva)
    }

    /// The source file and the line of an address.
    #[must_use]
    pub fn line(&self, rva: u32) -> Option<(&str, u32)> {
        self.table().as_ref().ok()?.line(rva)
    }

    /// Why there is a PDB and no name: it is damaged, or of another build.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        self.table().as_ref().err().filter(|_| self.path.is_some()).map(String::as_str)
    }

    fn table(&self) -> &Result<Table, String> {
        self.table.get_or_init(|| {
            let path = self.path.as_ref().ok_or("there is no PDB")?;
            let text = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let bytes = read(path).map_err(|error| text(&error))?;
            self.parse(&bytes).map_err(|error| text(&error))
        })
    }

    fn parse(&self, bytes: &[u8]) -> Result<Table, Error> {
        let msf = Msf::parse(bytes)?;
        match (&self.id, msf.id()) {
            (Some(wanted), Some(found)) if *wanted != PdbReference::id_text(found) => {
                let reason = format!("it belongs to build {}, the image to {wanted}", PdbReference::id_text(found));
                Err(Error::new("PDB id", reason))
            }
            _ => Table::read(&msf),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.len() {
        length if length > LARGEST => Err(io::Error::other(format!("{length} bytes are too many"))),
        _ => fs::read(path),
    }
}
