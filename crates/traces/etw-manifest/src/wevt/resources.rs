//! The resources of a binary that describe events: `WEVT_TEMPLATE` and the message table.

use pe_image::ResourceType;
use windows_constants::image::RT_MESSAGETABLE;

use super::messages::Messages;

/// The resources of a binary that describe events.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The `WEVT_TEMPLATE` resource.
    pub templates: Option<Vec<u8>>,
    /// The messages of its message tables.
    pub messages: Messages,
}

/// Finds the resources in a PE file.
///
/// # Errors
///
/// Fails if the bytes are not a PE file or its resources are malformed.
pub fn resources(file: &[u8]) -> Result<Resources, String> {
    let mut found = Resources::default();
    for resource in pe_image::resources(file).map_err(|error| error.to_string())? {
        match resource.kind {
            ResourceType::Name(name) if name == "WEVT_TEMPLATE" && found.templates.is_none() => {
                found.templates = Some(resource.data.to_vec());
            }
            ResourceType::Id(RT_MESSAGETABLE) => {
                found.messages.add(resource.data).ok_or("the message table is malformed")?;
            }
            _ => {}
        }
    }
    Ok(found)
}
