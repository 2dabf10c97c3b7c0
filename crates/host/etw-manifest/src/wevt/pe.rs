//! The resources of a binary that describe events: `WEVT_TEMPLATE` and the message table.

use std::collections::HashMap;

use object::LittleEndian as LE;
use object::pe::{ImageNtHeaders32, ImageNtHeaders64, ImageResourceDirectoryEntry, RT_MESSAGETABLE};
use object::read::FileKind;
use object::read::pe::{ImageNtHeaders, PeFile, ResourceDirectory, ResourceDirectoryEntryData, ResourceNameOrId};

use crate::bytes::{size_at, u16_at, u32_at, utf16};

/// Most messages of a table.
const MAX_MESSAGES: u32 = 0x10_0000;

/// Texts by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    texts: HashMap<u32, Box<str>>,
}

impl Messages {
    /// The text with this number.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&str> {
        self.texts.get(&id).map(AsRef::as_ref)
    }

    /// Adds the messages of a resource: blocks of numbers, then entries of a size, a flag for UTF-16, and text.
    fn add(&mut self, table: &[u8]) -> Option<()> {
        let blocks = table.get(4..)?.as_chunks::<12>().0.get(..size_at(table, 0)?)?;
        for block in blocks {
            let (low, high) = (u32_at(block, 0)?, u32_at(block, 4)?);
            let mut offset = size_at(block, 8)?;
            for id in low..=high.min(low.saturating_add(MAX_MESSAGES)) {
                let entry = table.get(offset..)?;
                let (size, is_wide) = (usize::from(u16_at(entry, 0)?), u16_at(entry, 2)? & 1 != 0);
                let text = entry.get(4..size)?;
                let text =
                    if is_wide { utf16(text) } else { String::from_utf8_lossy(text).trim_end_matches('\0').into() };
                self.texts.entry(id).or_insert_with(|| text.trim_end().into());
                offset += size;
            }
        }
        Some(())
    }
}

/// What a binary holds about events.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The `WEVT_TEMPLATE` resource.
    pub templates: Option<Vec<u8>>,
    /// The messages.
    pub messages: Messages,
}

/// Finds the resources of a PE file.
///
/// # Errors
///
/// If the bytes are no PE file, or its resources are malformed.
pub fn resources(file: &[u8]) -> Result<Resources, String> {
    match FileKind::parse(file) {
        Ok(FileKind::Pe64) => of_pe::<ImageNtHeaders64>(file),
        Ok(FileKind::Pe32) => of_pe::<ImageNtHeaders32>(file),
        _ => Err("not a PE file".to_owned()),
    }
}

fn of_pe<Pe: ImageNtHeaders>(file: &[u8]) -> Result<Resources, String> {
    let pe = PeFile::<Pe>::parse(file).map_err(|error| error.to_string())?;
    let sections = pe.section_table();
    let directory = pe.data_directories().resource_directory(file, &sections).map_err(|error| error.to_string())?;
    let mut found = Resources::default();
    let Some(directory) = directory else { return Ok(found) };
    let root = directory.root().map_err(|error| error.to_string())?;
    for kind in root.entries {
        let is_template = match kind.name_or_id() {
            ResourceNameOrId::Name(name) => name.to_string_lossy(directory).is_ok_and(|name| name == "WEVT_TEMPLATE"),
            ResourceNameOrId::Id(id) if id == RT_MESSAGETABLE => false,
            ResourceNameOrId::Id(_) => continue,
        };
        let mut data = Vec::new();
        leaves(directory, *kind, 0, &mut data).map_err(|error| error.to_string())?;
        for (address, size) in data {
            let bytes = sections.pe_data_at(file, address).and_then(|bytes| bytes.get(..usize::try_from(size).ok()?));
            let Some(bytes) = bytes else { return Err("a resource is outside of the file".to_owned()) };
            if is_template && found.templates.is_none() {
                found.templates = Some(bytes.to_vec());
            } else if !is_template {
                found.messages.add(bytes).ok_or("the message table is malformed")?;
            }
        }
    }
    Ok(found)
}

/// Address and size of all data below an entry: names below types, languages below names.
fn leaves(
    directory: ResourceDirectory<'_>,
    entry: ImageResourceDirectoryEntry,
    depth: usize,
    data: &mut Vec<(u32, u32)>,
) -> object::read::Result<()> {
    match entry.data(directory)? {
        ResourceDirectoryEntryData::Data(leaf) => {
            data.push((leaf.offset_to_data.get(LE), leaf.size.get(LE)));
        }
        ResourceDirectoryEntryData::Table(table) if depth < 3 => {
            for entry in table.entries {
                leaves(directory, *entry, depth + 1, data)?;
            }
        }
        ResourceDirectoryEntryData::Table(_) => {}
    }
    Ok(())
}
