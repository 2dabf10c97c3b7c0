//! The images of a run, with what their files say about addresses.

use std::path::{Path, PathBuf};

use nt_machine::{Guest, ImageOffset, Record, Rule, plan_image};
use pe_image::{Image, PdbReference, Symbols};

use crate::{Error, Location};

/// An image of a run.
pub(crate) struct ImageFile {
    pub(crate) path: PathBuf,
    /// The file name.
    pub(crate) name: String,
    pub(crate) symbols: Symbols,
    /// The size in memory, in bytes.
    pub(crate) size: u64,
    /// The reference to the PDB.
    pub(crate) pdb: Option<PdbReference>,
}

/// Reads an image, and plans how it is loaded.
pub(super) fn read(path: &Path) -> Result<(ImageFile, Image, Guest), Error> {
    let file = std::fs::read(path).map_err(|error| Error::File(path.to_owned(), error))?;
    let bad = |error| Error::Image(path.to_owned(), error);
    let image = Image::parse(&file).map_err(bad)?;
    let layout = plan_image(&file, &image).map_err(bad)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let symbols = Symbols::beside(path, &image);
    let pdb = image.pdb().cloned();
    let size = layout.bytes.len() as u64;
    let known = ImageFile { path: path.to_owned(), name: name.clone(), symbols, size, pdb };
    Ok((known, image, Guest::new(name, layout)))
}

/// Returns the path of an image, and those of its PDB and linker map.
pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = std::fs::read(path).map_err(|error| Error::File(path.to_owned(), error))?;
    let image = Image::parse(&file).map_err(|error| Error::Image(path.to_owned(), error))?;
    let symbols = Symbols::beside(path, &image);
    Ok([path].into_iter().chain(symbols.files().filter(|file| file.exists())).map(Path::to_owned).collect())
}

/// The images of a run. The first one is the driver under test; the others are in the order in which they are loaded.
pub(crate) struct ImageFiles {
    pub(crate) files: Vec<ImageFile>,
    /// The numbers of the framework and its loader, if they are among them.
    pub(crate) frameworks: Vec<u32>,
}

impl ImageFiles {
    /// Returns the driver under test.
    pub(crate) fn driver(&self) -> &ImageFile {
        // There is always a driver: `Builder::prepare` puts it first.
        #[expect(clippy::indexing_slicing, reason = "the first image is the driver")]
        &self.files[0]
    }

    /// Returns the name of an image in a report; `None` for the driver under test.
    pub(crate) fn name(&self, image: u32) -> Option<String> {
        self.files.get(image as usize).filter(|_| image != 0).map(|file| file.name.clone())
    }

    /// Returns the image that a finding is about. What a framework reports by stopping the machine, and a request that it
    /// cannot complete, is about its client, also if the framework notices it later.
    pub(crate) fn blamed(&self, record: &Record) -> u32 {
        let is_client = matches!(record.rule(), Rule::BugCheck | Rule::Hang | Rule::RequestNever);
        if is_client && self.frameworks.contains(&record.image()) { 0 } else { record.image() }
    }

    /// Returns the location of an address in an image. `bases` are the addresses of the images.
    pub(crate) fn find(&self, bases: &[u64], address: u64) -> Option<ImageOffset> {
        let images = (0..).zip(self.files.iter().zip(bases)).filter(|(_, (_, base))| **base != 0);
        images.into_iter().find_map(|(image, (file, base))| {
            let rva = address.checked_sub(*base).filter(|rva| *rva < file.size)?;
            Some(ImageOffset { image, rva: u32::try_from(rva).ok()? })
        })
    }

    /// Returns what is known about a location, innermost function first. If `is_call` is set, the location is the return
    /// address of a call, and the line is that of the call.
    pub(crate) fn locations(&self, at: ImageOffset, is_call: bool) -> Vec<Location> {
        let rva = u64::from(at.rva);
        let image = self.name(at.image);
        let Some(ImageFile { symbols, .. }) = self.files.get(at.image as usize) else {
            return vec![Location { rva, image, ..Location::default() }];
        };
        let inside = if is_call { at.rva.saturating_sub(1) } else { at.rva };
        let nearest = symbols.nearest(inside);
        let (name, offset) = nearest.map(|nearest| (nearest.name, nearest.offset)).unzip();
        // The offset from the symbol to the return address, as debuggers show it.
        let offset = offset.map(|offset| offset.saturating_add(at.rva - inside));
        let section = symbols.section(inside).map(str::to_owned);
        let frames = symbols.frames(inside);
        if frames.is_empty() {
            return vec![Location { rva, image, section, symbol: name, offset, ..Location::default() }];
        }
        let location = |frame: pe_image::Frame<'_>| {
            let (file, line) = frame.source.map(|(file, line)| (file.to_owned(), line)).unzip();
            let symbol = frame.function.or_else(|| name.clone().filter(|_| !frame.is_inlined));
            // Only the driver under test has sources of its own in a report.
            let is_own = image.is_none() && frame.source.is_some_and(|(file, _)| symbols.is_own(file));
            let offset = offset.filter(|_| !frame.is_inlined);
            let section = section.clone();
            let image = image.clone();
            Location { rva, image, section, symbol, offset, file, line, is_inlined: frame.is_inlined, is_own }
        };
        frames.into_iter().map(location).collect()
    }
}
