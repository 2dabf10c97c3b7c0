//! The container format of a PDB: streams. Each stream is a list of blocks of the file.

use std::cell::Cell;

use crate::bytes::{name_at, part, size_at, u32_at};
use crate::error::Error;

const MAGIC: &[u8; 32] = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";
/// The size of a missing stream.
const NIL: u32 = u32::MAX;
/// The stream that says which build the file belongs to and which streams have names.
const INFO: usize = 1;
/// Offset of the id in its header, after version, signature and age; and the size of the header.
const ID_AT: usize = 12;
const INFO_HEADER: usize = 28;

/// A multi-stream file.
#[derive(Clone, Debug)]
pub struct Msf<'a> {
    file: &'a [u8],
    block_size: usize,
    /// Size of each stream, and the offset of its block numbers in the directory.
    streams: Vec<(usize, usize)>,
    directory: Vec<u8>,
    /// Number of bytes that may still be read. Streams share no blocks, so together they are shorter than the file. In a damaged
    /// file, each stream could claim the length of the whole file. The limit is twice the length of the file, because some
    /// streams are read more than once.
    left: Cell<usize>,
}

impl<'a> Msf<'a> {
    /// Parses the directory of streams.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a PDB or its directory is damaged.
    pub fn parse(file: &'a [u8]) -> Result<Self, Error> {
        if !file.starts_with(MAGIC) {
            return Err(Error::new("MSF header", "the file does not begin with the signature of a PDB"));
        }
        Self::read(file).ok_or_else(|| Error::new("MSF header", "the directory of streams is damaged"))
    }

    fn read(file: &'a [u8]) -> Option<Self> {
        let block_size = size_at(file, 32).filter(|size| size.is_power_of_two() && (512..=65_536).contains(size))?;
        let left = Cell::new(file.len().checked_mul(2)?);
        let mut msf = Self { file, block_size, streams: Vec::new(), directory: Vec::new(), left };
        let directory_size = size_at(file, 44)?;
        let map = file.get(size_at(file, 52)?.checked_mul(block_size)?..)?;
        let directory = msf.gather(map, directory_size)?;
        let count = size_at(&directory, 0).filter(|&count| count <= directory.len() / 4)?;
        let mut blocks = 4 + count * 4;
        for index in 0..count {
            let size = u32_at(&directory, 4 + index * 4).filter(|&size| size != NIL).unwrap_or_default();
            let size = usize::try_from(size).ok()?;
            msf.streams.push((size, blocks));
            blocks = blocks.checked_add(size.div_ceil(block_size).checked_mul(4)?)?;
        }
        msf.directory = directory;
        Some(msf)
    }

    /// Returns the bytes of a stream.
    #[must_use]
    pub fn stream(&self, number: usize) -> Option<Vec<u8>> {
        let &(size, blocks) = self.streams.get(number)?;
        self.gather(self.directory.get(blocks..)?, size)
    }

    /// Returns the bytes of the stream with this name, for example `/names`.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Vec<u8>> {
        let info = self.stream(INFO)?;
        let names_size = size_at(&info, INFO_HEADER)?;
        let names = part(&info, INFO_HEADER + 4, names_size)?;
        // A hash table: its size, its capacity, two bit sets, then the entries that are present.
        let table = info.get(INFO_HEADER + 4 + names_size..)?;
        let count = size_at(table, 0)?;
        let present = size_at(table, 8)?.checked_mul(4)?;
        let deleted_at = present.checked_add(12)?;
        let pairs_at = deleted_at.checked_add(4)?.checked_add(size_at(table, deleted_at)?.checked_mul(4)?)?;
        let pairs = table.get(pairs_at..)?.as_chunks::<8>().0;
        let found = pairs.iter().take(count).find(|pair| {
            size_at(*pair, 0).and_then(|at| name_at(names, at)).is_some_and(|found| found == name.as_bytes())
        })?;
        self.stream(size_at(found, 4)?)
    }

    /// Returns the id, which is also in the image's debug directory.
    #[must_use]
    pub fn id(&self) -> Option<[u8; 16]> {
        self.stream(INFO)?.get(ID_AT..)?.first_chunk().copied()
    }

    /// Joins `size` bytes from the blocks whose numbers are at the start of `list`.
    fn gather(&self, list: &[u8], size: usize) -> Option<Vec<u8>> {
        self.left.set(self.left.get().checked_sub(size)?);
        let mut bytes = Vec::with_capacity(size);
        for index in 0..size.div_ceil(self.block_size) {
            let start = size_at(list, index * 4)?.checked_mul(self.block_size)?;
            let wanted = self.block_size.min(size - bytes.len());
            bytes.extend_from_slice(part(self.file, start, wanted)?);
        }
        Some(bytes)
    }
}
