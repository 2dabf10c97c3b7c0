//! The resources of a binary that describe events: `WEVT_TEMPLATE` and the message table.

use std::collections::HashMap;

use pe_image::ResourceType;

use crate::bytes::{size_at, u16_at, u32_at, utf16};

/// `RT_MESSAGETABLE`.
const MESSAGE_TABLE: u16 = 11;
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
    let mut found = Resources::default();
    for resource in pe_image::resources(file).map_err(|error| error.to_string())? {
        match resource.kind {
            ResourceType::Name(name) if name == "WEVT_TEMPLATE" && found.templates.is_none() => {
                found.templates = Some(resource.data.to_vec());
            }
            ResourceType::Id(MESSAGE_TABLE) => {
                found.messages.add(resource.data).ok_or("the message table is malformed")?;
            }
            _ => {}
        }
    }
    Ok(found)
}
