//! The resources of a binary: data by type, name and language.

use object::LittleEndian as LE;
use object::pe::{ImageNtHeaders32, ImageNtHeaders64, ImageResourceDirectoryEntry};
use object::read::FileKind;
use object::read::pe::{ImageNtHeaders, PeFile, ResourceDirectory, ResourceDirectoryEntryData, ResourceNameOrId};

use crate::error::Error;

const FIELD: &str = "resource directory";

/// The type of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceType {
    /// A predefined type, `RT_*`, or a custom type with a number.
    Id(u16),
    /// A custom type with a name.
    Name(String),
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    /// The type.
    pub kind: ResourceType,
    /// The data.
    pub data: &'a [u8],
}

/// Returns the resources of a 32-bit or 64-bit PE file, in the order of the file.
///
/// # Errors
///
/// Fails if the bytes are not a PE file, or if a resource is outside the file.
pub fn resources(file: &[u8]) -> Result<Vec<Resource<'_>>, Error> {
    match FileKind::parse(file) {
        Ok(FileKind::Pe64) => read_pe::<ImageNtHeaders64>(file),
        Ok(FileKind::Pe32) => read_pe::<ImageNtHeaders32>(file),
        _ => Err(Error::new("PE signature", "not a PE file")),
    }
}

fn read_pe<Pe: ImageNtHeaders>(file: &[u8]) -> Result<Vec<Resource<'_>>, Error> {
    let failed = |error: object::read::Error| Error::new(FIELD, error.to_string());
    let pe = PeFile::<Pe>::parse(file).map_err(failed)?;
    let sections = pe.section_table();
    let Some(directory) = pe.data_directories().resource_directory(file, &sections).map_err(failed)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    // Each entry of a directory takes eight bytes and is visited once, unless directories share subdirectories.
    let mut left = file.len() / 8;
    for entry in directory.root().map_err(failed)?.entries {
        let kind = match entry.name_or_id() {
            ResourceNameOrId::Name(name) => ResourceType::Name(name.to_string_lossy(directory).map_err(failed)?),
            ResourceNameOrId::Id(id) => ResourceType::Id(id),
        };
        let mut leaves = Vec::new();
        collect(directory, *entry, 0, &mut left, &mut leaves).map_err(failed)?;
        if left == 0 {
            return Err(Error::new(FIELD, "directories share subdirectories"));
        }
        for (address, size) in leaves {
            let bytes = sections.pe_data_at(file, address).and_then(|bytes| bytes.get(..usize::try_from(size).ok()?));
            let data =
                bytes.ok_or_else(|| Error::new(FIELD, format!("data at {address:#x} is outside of the file")))?;
            found.push(Resource { kind: kind.clone(), data });
        }
    }
    Ok(found)
}

/// Collects the address and size of all data below an entry: names are below types, languages below names.
fn collect(
    directory: ResourceDirectory<'_>,
    entry: ImageResourceDirectoryEntry,
    depth: usize,
    left: &mut usize,
    leaves: &mut Vec<(u32, u32)>,
) -> object::read::Result<()> {
    *left = left.saturating_sub(1);
    match entry.data(directory)? {
        ResourceDirectoryEntryData::Data(leaf) => {
            leaves.push((leaf.offset_to_data.get(LE), leaf.size.get(LE)));
        }
        ResourceDirectoryEntryData::Table(table) if depth < 3 => {
            for entry in table.entries {
                if *left == 0 {
                    break;
                }
                collect(directory, *entry, depth + 1, left, leaves)?;
            }
        }
        ResourceDirectoryEntryData::Table(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use object::read::pe::ResourceDirectory;

    use super::collect;

    #[test]
    fn directories_that_contain_themselves_end() {
        // A directory of 200 entries that all refer to the directory itself.
        let header = [0, 0, 0, 200 << 16];
        let entries = (0..200_u32).flat_map(|id| [id, 0x8000_0000]);
        let bytes: Vec<u8> = header.into_iter().chain(entries).flat_map(u32::to_le_bytes).collect();
        let directory = ResourceDirectory::new(&bytes);
        let mut left = 1000;
        let mut leaves = Vec::new();
        for entry in directory.root().unwrap().entries {
            collect(directory, *entry, 0, &mut left, &mut leaves).unwrap();
        }
        assert_eq!(left, 0);
        assert_eq!(leaves.len(), 0);
    }
}
