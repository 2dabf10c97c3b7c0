//! Fields of kernel events that refer to a file or to a registry key.

use std::sync::Arc;

use etw_manifest::{EventSchema, Source};

use super::decoded::Decoded;
use super::names::{NameSource, Names};
use super::tree::Node;
use super::value::Scalar;
use crate::event::EventRef;

/// The fields of an event that refer to a file or to a registry key, by index. Only kernel events have addresses of file objects
/// and keys; any event may have a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    /// The file key, which all file objects of a file share, and the file object.
    files: [Option<usize>; 2],
    path: Option<usize>,
    key: Option<usize>,
    /// The path below the key.
    subkey: Option<usize>,
}

impl Links {
    pub(super) fn new(schema: &EventSchema) -> Self {
        let place = |name: &str| schema.fields.iter().take(schema.top_level).position(|field| &*field.name == name);
        let path = ["FileName", "OpenPath", "FilePath", "ImageName"].into_iter().find_map(place);
        if schema.source != Source::BuiltIn {
            return Self { path, ..Self::default() };
        }
        let is_path = matches!(&*schema.name, "Create" | "Open");
        Self {
            files: [place("FileKey"), place("FileObject")],
            path,
            key: place("KeyHandle"),
            subkey: place("KeyName").filter(|_| is_path),
        }
    }

    /// Returns the names that belong to an event.
    pub(super) fn names(self, source: &dyn NameSource, event: &EventRef<'_>, decoded: &Decoded) -> Names {
        let header = &event.header;
        let stamp = header.stamp;
        let value = |place: Option<usize>| match &decoded.fields.get(place?)?.node {
            Node::Value(value) => Some(value),
            _ => None,
        };
        let address = |place| match value(place)? {
            Scalar::Word(word) => u64::from_str_radix(word.strip_prefix("0x")?, 16).ok(),
            _ => None,
        };
        let text = |place| match value(place)? {
            Scalar::Text(text) => Some(text.as_str()),
            _ => None,
        };
        let path = || source.with_drive(text(self.path)?).map(Arc::from);
        let key = address(self.key).and_then(|handle| source.key(handle, stamp));
        Names {
            process: header.process_id.and_then(|id| source.process(id, stamp)),
            thread: header.thread_id.and_then(|id| source.thread(id, stamp)),
            file: self.files.into_iter().find_map(|place| source.file(address(place)?, stamp)).or_else(path),
            key: match (key, text(self.subkey).filter(|below| !below.is_empty())) {
                (Some(key), Some(below)) => Some(format!("{key}\\{below}").into()),
                (key, _) => key,
            },
        }
    }
}
