//! The committed seeds of a target.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;

/// A file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Target {
    /// The folders that hold this target's seeds; its own may not exist.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let own = here.join("corpus").join(self.name);
        [own]
            .into_iter()
            .chain(self.seeds.iter().map(|folder| here.join(folder)))
            .filter(|path| path.is_dir())
            .collect()
    }

    /// The seeds, in an order that does not depend on the file system.
    ///
    /// # Errors
    ///
    /// Where a folder or a file cannot be read.
    pub fn corpus(&self) -> io::Result<Vec<Seed>> {
        let mut paths = Vec::new();
        for folder in self.folders() {
            for entry in fs::read_dir(folder)? {
                paths.push(entry?.path());
            }
        }
        paths.sort();
        paths.into_iter().map(|path| Ok(Seed { bytes: fs::read(&path)?, path })).collect()
    }
}
