//! Values of DER with their exact bytes. What is signed is compared as it is in the file, never as it would be encoded again.

use der::{Decode, Reader as _, SliceReader, Tag, TagNumber};

/// A value: its tag, its contents, and both with the length between them.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) tag: Tag,
    pub(crate) value: &'a [u8],
    pub(crate) raw: &'a [u8],
}

impl<'a> Field<'a> {
    /// Reads exactly one value. Bytes after it are an error.
    pub(super) fn parse(bytes: &'a [u8]) -> der::Result<Self> {
        let (field, rest) = Self::first(bytes)?;
        if rest.is_empty() {
            return Ok(field);
        }
        let decoded = u32::try_from(field.raw.len()).and_then(|length| Ok((length, u32::try_from(rest.len())?)));
        let (decoded, remaining) = decoded.unwrap_or_default();
        Err(der::ErrorKind::TrailingData { decoded: decoded.try_into()?, remaining: remaining.try_into()? }.into())
    }

    /// Reads the first value. Returns it and the bytes after it.
    pub(crate) fn first(bytes: &'a [u8]) -> der::Result<(Self, &'a [u8])> {
        let mut reader = SliceReader::new(bytes)?;
        let header = reader.peek_header()?;
        let raw = reader.tlv_bytes()?;
        let length = usize::try_from(header.length)?;
        let value = raw.get(raw.len().saturating_sub(length)..).unwrap_or_default();
        Ok((Self { tag: header.tag, value, raw }, bytes.get(raw.len()..).unwrap_or_default()))
    }

    /// Returns the values in a value that must have this tag.
    pub(crate) fn fields(&self, tag: Tag) -> der::Result<Vec<Self>> {
        self.expect(tag)?;
        let mut fields = Vec::new();
        let mut rest = self.value;
        while !rest.is_empty() {
            let (field, after) = Self::first(rest)?;
            fields.push(field);
            rest = after;
        }
        Ok(fields)
    }

    /// Returns the only value in an explicit tag of this number.
    pub(super) fn explicit(&self, number: TagNumber) -> der::Result<Self> {
        self.expect(context(number))?;
        Self::parse(self.value)
    }

    pub(crate) fn decode<T: Decode<'a>>(&self) -> der::Result<T> {
        T::from_der(self.raw)
    }

    pub(super) fn expect(&self, tag: Tag) -> der::Result<()> {
        if self.tag == tag { Ok(()) } else { Err(unexpected(self.tag)) }
    }
}

/// The tag of a constructed, context-specific value.
pub(super) fn context(number: TagNumber) -> Tag {
    Tag::ContextSpecific { constructed: true, number }
}

pub(super) fn unexpected(actual: Tag) -> der::Error {
    der::ErrorKind::TagUnexpected { expected: None, actual }.into()
}

#[cfg(test)]
mod tests {
    use der::Tag;

    use super::Field;

    #[test]
    fn a_value_is_exact() {
        let field = Field::parse(&[0x30, 3, 2, 1, 7]).unwrap();
        assert_eq!(field.tag, Tag::Sequence);
        assert_eq!(field.value, &[2, 1, 7][..]);
        assert_eq!(field.raw.len(), 5);
        assert_eq!(field.fields(Tag::Sequence).unwrap().len(), 1);
        assert!(field.fields(Tag::Set).is_err());
        for wrong in [&[0x30, 3, 2, 1, 7, 0][..], &[0x30, 4, 2, 1, 7], &[0x30, 0x81, 3, 2, 1, 7], &[0x30, 0x80, 0, 0]] {
            assert!(Field::parse(wrong).is_err(), "{wrong:x?}");
        }
    }
}
