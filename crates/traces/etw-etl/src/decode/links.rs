//! Fields of kernel events that refer to a file or to a registry key.

use std::borrow::Cow;
use std::sync::Arc;

use etw_manifest::built_in::BuiltIn;
use etw_manifest::{EventKey, EventSchema, Schema};
use etw_types::tracelogging::Value;
use etw_types::{Guid, InType, OutType};

use super::decoded::Decoded;
use super::names::{NameSource, Names};
use super::tree::Node;
use super::value::{Scalar, show};
use crate::event::EventRef;

/// The class of registry events, and the types of those whose name is a path below a key.
const REGISTRY: Guid = Guid::from_u128(0xae53_722e_c863_11d2_8659_00c0_4fa3_21a1);
const CREATE: u8 = 10;
const OPEN: u8 = 11;

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
    pub(super) fn new(schema: &EventSchema, key: &EventKey) -> Self {
        let known = BuiltIn.event(key).filter(|_| key.is_classic);
        // What the fields mean does not depend on what another source calls them.
        let named = known.as_deref().filter(|known| has_same_layout(known, schema)).unwrap_or(schema);
        let place = |name: &str| named.fields.iter().take(named.top_level).position(|field| &*field.name == name);
        let path = ["FileName", "OpenPath", "FilePath", "ImageName"].into_iter().find_map(place);
        // Whatever source the schema has, only the kernel's classes have addresses.
        if known.is_none() {
            return Self { path, ..Self::default() };
        }
        let is_path = key.provider == REGISTRY && matches!(key.opcode, CREATE | OPEN);
        Self {
            files: [place("FileKey"), place("FileObject")],
            path,
            key: place("KeyHandle"),
            subkey: place("KeyName").filter(|_| is_path),
        }
    }

    /// Returns whether the event refers to nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.files[0].is_none() && self.files[1].is_none() && self.path.is_none() && self.key.is_none()
    }

    /// Returns the names that belong to an event with a tree of fields.
    pub(super) fn names(&self, source: &dyn NameSource, event: &EventRef<'_>, decoded: &Decoded) -> Names {
        let value = |place: usize| match &decoded.fields.get(place)?.node {
            Node::Value(Scalar::Word(word)) => {
                u64::from_str_radix(word.strip_prefix("0x")?, 16).ok().map(Linked::Address)
            }
            Node::Value(Scalar::Text(text)) => Some(Linked::Text(text.as_str().into())),
            _ => None,
        };
        let header = &event.header;
        let (file, key) = self.linked(source, header.stamp, value);
        Names {
            process: header.process_id.and_then(|id| source.process(id, header.stamp)),
            thread: header.thread_id.and_then(|id| source.thread(id, header.stamp)),
            file,
            key,
        }
    }

    /// Returns the file and the key that an event with these values refers to.
    pub(super) fn values<'a>(
        &self,
        source: &dyn NameSource,
        stamp: u64,
        value: impl Fn(usize) -> Option<Value<'a>>,
    ) -> (Option<Arc<str>>, Option<Arc<str>>) {
        let value = |place: usize| match value(place)? {
            Value::Hex(address) => Some(Linked::Address(address)),
            text @ (Value::Utf16(_) | Value::Text(_)) => match show(InType::Invalid, OutType::Default, text) {
                Scalar::Text(text) => Some(Linked::Text(text.into())),
                _ => None,
            },
            _ => None,
        };
        self.linked(source, stamp, value)
    }

    fn linked<'t>(
        &self,
        source: &dyn NameSource,
        stamp: u64,
        value: impl Fn(usize) -> Option<Linked<'t>>,
    ) -> (Option<Arc<str>>, Option<Arc<str>>) {
        let address = |place: Option<usize>| match value(place?)? {
            Linked::Address(address) => Some(address),
            Linked::Text(_) => None,
        };
        let text = |place: Option<usize>| match value(place?)? {
            Linked::Text(text) => Some(text),
            Linked::Address(_) => None,
        };
        let path = || source.with_drive(&text(self.path)?).map(Arc::from);
        let file = self.files.into_iter().find_map(|place| source.file(address(place)?, stamp)).or_else(path);
        let key = address(self.key).and_then(|handle| source.key(handle, stamp));
        let key = key.map(|key| match text(self.subkey).filter(|below| !below.is_empty()) {
            Some(below) => format!("{key}\\{below}").into(),
            None => key,
        });
        (file, key)
    }
}

/// Returns whether two schemas have the same fields, apart from their names.
fn has_same_layout(one: &EventSchema, other: &EventSchema) -> bool {
    let layout = |schema: &EventSchema| -> Vec<_> {
        schema.fields.iter().map(|field| (field.encoding, field.count, field.length)).collect()
    };
    one.top_level == other.top_level && layout(one) == layout(other)
}

/// The value of a field that refers to a file or to a key.
enum Linked<'t> {
    Address(u64),
    Text(Cow<'t, str>),
}
