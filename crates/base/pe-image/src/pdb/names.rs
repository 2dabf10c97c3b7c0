//! Names of inlined functions: records of the id stream, and the types that methods belong to.

use super::msf::Msf;
use crate::bytes::printable;
use crate::bytes::{name_at, part, size_at, u16_at, u32_at};

/// The streams of types and of ids.
const TYPES: usize = 2;
const IDS: usize = 4;

/// The records of both streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    ids: Records,
    types: Records,
}

impl Names {
    /// Reads the streams. A missing or damaged stream has no names.
    pub(super) fn read(msf: &Msf<'_>) -> Self {
        let records = |stream| msf.stream(stream).and_then(Records::read).unwrap_or_default();
        Self { ids: records(IDS), types: records(TYPES) }
    }

    /// Returns the name of a function by its id, including its namespace or type.
    pub(super) fn function(&self, id: u32) -> Option<String> {
        let record = self.ids.get(id)?;
        let scope = match u16_at(record, 0)? {
            // LF_FUNC_ID: its scope is another id, or none.
            0x1601 => self.ids.get(u32_at(record, 2)?).and_then(|scope| {
                // LF_STRING_ID
                if u16_at(scope, 0)? == 0x1605 { name_at(scope, 6) } else { None }
            }),
            // LF_MFUNC_ID: its scope is a type.
            0x1602 => self.types.get(u32_at(record, 2)?).and_then(type_name),
            _ => return None,
        };
        let name = printable(name_at(record, 10)?);
        Some(scope.map_or_else(|| name.clone(), |scope| format!("{}::{name}", printable(scope))))
    }
}

/// Returns the name of a class, struct, union or enumeration.
fn type_name(record: &[u8]) -> Option<&[u8]> {
    let name = match u16_at(record, 0)? {
        // LF_CLASS, LF_STRUCTURE, LF_INTERFACE
        0x1504 | 0x1505 | 0x1519 => after_number(record, 18)?,
        // LF_UNION
        0x1506 => after_number(record, 10)?,
        // LF_ENUM
        0x1507 => 14,
        _ => return None,
    };
    name_at(record, name)
}

/// Returns the offset after a number at `at`. A value below 0x8000 is the number itself; other values are a kind that precedes
/// it.
fn after_number(record: &[u8], at: usize) -> Option<usize> {
    let value = match u16_at(record, at)? {
        0..0x8000 => 0,
        // LF_CHAR, LF_SHORT and LF_USHORT, LF_LONG and LF_ULONG, LF_QUADWORD and LF_UQUADWORD
        0x8000 => 1,
        0x8001 | 0x8002 => 2,
        0x8003 | 0x8004 => 4,
        0x8009 | 0x800a => 8,
        _ => return None,
    };
    Some(at + 2 + value)
}

/// Consecutively numbered records, as for types and ids.
#[derive(Clone, Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    first: u32,
    /// The offset of each record, at its length field.
    starts: Vec<u32>,
}

impl Records {
    fn read(bytes: Vec<u8>) -> Option<Self> {
        let mut at = size_at(&bytes, 4)?;
        let first = u32_at(&bytes, 8)?;
        let mut starts = Vec::new();
        while let Some(length) = u16_at(&bytes, at) {
            starts.push(u32::try_from(at).ok()?);
            at += 2 + usize::from(length);
        }
        Some(Self { bytes, first, starts })
    }

    /// Returns the kind and data of a record.
    fn get(&self, index: u32) -> Option<&[u8]> {
        let position = usize::try_from(index.checked_sub(self.first)?).ok()?;
        let start = usize::try_from(*self.starts.get(position)?).ok()?;
        part(&self.bytes, start + 2, usize::from(u16_at(&self.bytes, start)?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, Records};

    fn records(list: &[(u16, &[u8])]) -> Records {
        let mut bytes = [20_040_203_u32, 56, 0x1000, 0x1000].map(u32::to_le_bytes).concat();
        bytes.resize(56, 0);
        for (kind, data) in list {
            bytes.extend(u16::try_from(data.len() + 2).unwrap().to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(*data);
        }
        Records::read(bytes).unwrap()
    }

    #[test]
    fn functions_have_the_names_of_their_scopes() {
        let ids = records(&[
            (0x1605, b"\0\0\0\0driver::ring\0"),
            (0x1601, b"\x00\x10\0\0\0\0\0\0push\0"),
            (0x1602, b"\x00\x10\0\0\0\0\0\0pop\0"),
            (0x1601, b"\0\0\0\0\0\0\0\0memset\0"),
            (0x1602, b"\x01\x10\0\0\0\0\0\0bits\0"),
        ]);
        let types = records(&[
            (0x1505, b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\x80\x10\0\0\0Ring<u8>\0"),
            (0x1507, b"\0\0\0\0\0\0\0\0\0\0\0\0Kind\0"),
        ]);
        let names = Names { ids, types };
        let function = |id| names.function(id);
        assert_eq!(function(0x1001).as_deref(), Some("driver::ring::push"));
        assert_eq!(function(0x1002).as_deref(), Some("Ring<u8>::pop"));
        assert_eq!(function(0x1003).as_deref(), Some("memset"));
        assert_eq!(function(0x1004).as_deref(), Some("Kind::bits"));
        assert_eq!([0xfff, 0x1000, 0x1005].map(function), [None, None, None]);
    }
}
