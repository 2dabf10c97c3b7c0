//! Names and source lines for addresses of an image, from its PDB.

mod lines;

use std::fs::File;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::verify::Place;
use lines::Table;

/// The symbols of an image. They are read at the first question.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    path: Option<PathBuf>,
    table: OnceLock<Option<Table>>,
}

impl Symbols {
    /// Looks for the PDB beside the image: under the name that the linker wrote, or the image's.
    pub(crate) fn beside(image: &Path, name: Option<&str>) -> Self {
        let own = image.with_extension("pdb");
        let file = name.and_then(|name| name.rsplit(['/', '\\']).next());
        let named = file.map(|file| image.with_file_name(file));
        let path = [named, Some(own)].into_iter().flatten().find(|path| path.is_file());
        Self { path, table: OnceLock::new() }
    }

    /// What is known about an address relative to the image.
    pub(crate) fn locate(&self, rva: u64) -> Place {
        let table = self.table.get_or_init(|| {
            let file = File::open(self.path.as_ref()?).ok()?;
            // The reader's own checks end in panics for some damaged files. Such a file costs names, and nothing else.
            catch_unwind(|| Table::read(file)).ok()?.ok()
        });
        let mut place = Place { rva, ..Place::default() };
        if let (Some(table), Ok(rva)) = (table, u32::try_from(rva)) {
            place.symbol = table.symbol(rva);
            if let Some((file, line)) = table.line(rva) {
                (place.file, place.line) = (Some(file), Some(line));
            }
        }
        place
    }
}
