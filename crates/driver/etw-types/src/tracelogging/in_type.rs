//! How a field's value is encoded in the payload.

int_newtype! {
    /// Encoding of a field's value in the payload.
    InType(u8) {
        /// Not a type.
        Invalid = 0,
        /// NUL-terminated UTF-16.
        CStr16 = 1,
        /// NUL-terminated bytes of text.
        CStr8 = 2,
        /// 8-bit signed integer.
        I8 = 3,
        /// 8-bit unsigned integer.
        U8 = 4,
        /// 16-bit signed integer.
        I16 = 5,
        /// 16-bit unsigned integer.
        U16 = 6,
        /// 32-bit signed integer.
        I32 = 7,
        /// 32-bit unsigned integer.
        U32 = 8,
        /// 64-bit signed integer.
        I64 = 9,
        /// 64-bit unsigned integer.
        U64 = 10,
        /// 32-bit floating point.
        F32 = 11,
        /// 64-bit floating point.
        F64 = 12,
        /// 32-bit boolean.
        Bool32 = 13,
        /// Bytes after a `u16` byte count. Decoders may show the count as a separate field.
        Binary = 14,
        /// A GUID.
        Guid = 15,
        /// Do not use: its size depends on the platform.
        _HexSize_PlatformSpecific = 16,
        /// Units of 100 ns since 1601, as a 64-bit integer.
        FileTime = 17,
        /// Eight 16-bit integers: year, month, day of week, day, hour, minute, second, millisecond.
        SystemTime = 18,
        /// A security identifier: 8 bytes, and 4 for each sub-authority.
        Sid = 19,
        /// 32-bit integer shown in hexadecimal.
        Hex32 = 20,
        /// 64-bit integer shown in hexadecimal.
        Hex64 = 21,
        /// UTF-16 after a `u16` byte count.
        Str16 = 22,
        /// Bytes of text after a `u16` byte count.
        Str8 = 23,
        /// A struct. It has no value; the next fields belong to it.
        Struct = 24,
        /// Bytes after a `u16` byte count, in the encoding that newer decoders support.
        BinaryC = 25,
    }
}

#[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
impl InType {
    /// A signed integer with the size of a pointer.
    pub const ISize: Self = if size_of::<usize>() == 8 { Self::I64 } else { Self::I32 };
    /// An unsigned integer with the size of a pointer.
    pub const USize: Self = if size_of::<usize>() == 8 { Self::U64 } else { Self::U32 };
    /// An integer with the size of a pointer, shown in hexadecimal.
    pub const HexSize: Self = if size_of::<usize>() == 8 { Self::Hex64 } else { Self::Hex32 };
    /// Alias of [`InType::BinaryC`].
    pub const CountedBinary: Self = Self::BinaryC;
    /// Flag: the element count is in the metadata.
    pub const ConstantCountFlag: u8 = 0x20;
    /// Flag: the element count is in the payload.
    pub const VariableCountFlag: u8 = 0x40;
    /// Both count flags: a custom encoding whose description is in the metadata.
    pub const CustomFlag: u8 = 0x60;
    /// Flag: an [`OutType`](crate::OutType) follows.
    pub const ChainFlag: u8 = 0x80;
    /// Mask of the type itself.
    pub const TypeMask: u8 = 0x1F;
    /// Mask of the count flags.
    pub const FlagMask: u8 = 0x60;
}

impl InType {
    /// Returns the size of a value of this type in bytes, or `None` if the size varies.
    #[must_use]
    #[inline]
    pub const fn fixed_size(self) -> Option<usize> {
        match self {
            Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::I32 | Self::U32 | Self::F32 | Self::Bool32 | Self::Hex32 => Some(4),
            Self::I64 | Self::U64 | Self::F64 | Self::Hex64 | Self::FileTime => Some(8),
            Self::Guid | Self::SystemTime => Some(16),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InType;
    use crate::tracelogging::Value;

    #[test]
    fn a_fixed_size_is_the_size_of_every_value() {
        for kind in (0..=InType::TypeMask).map(InType::from_int) {
            // The counts, the NULs and the sub-authorities of these payloads are different.
            let sizes = [&[0; 300], &[1; 300]].map(|payload| {
                let (_, rest) = Value::split(kind, payload)?;
                Some(payload.len() - rest.len())
            });
            let expected = if sizes[0] == sizes[1] { sizes[0] } else { None };
            assert_eq!(kind.fixed_size(), expected, "{kind:?}");
        }
    }

    #[test]
    fn types_of_the_size_of_a_pointer_have_it() {
        for kind in [InType::ISize, InType::USize, InType::HexSize] {
            assert_eq!(kind.fixed_size(), Some(size_of::<usize>()), "{kind:?}");
        }
    }
}
