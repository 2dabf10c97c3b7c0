//! How a field's value is encoded.

int_newtype! {
    /// Encoding of a field's value in the payload.
    InType(u8) {
        /// Not a type.
        Invalid = 0,
        /// UTF-16, ended by a NUL.
        CStr16 = 1,
        /// Bytes of text, ended by a NUL.
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
        /// Bytes behind a `u16` byte count. Decoders may show the count as a field of its own.
        Binary = 14,
        /// A GUID.
        Guid = 15,
        /// Not for use: its size differs by platform.
        _HexSize_PlatformSpecific = 16,
        /// 100 ns since 1601 as 64-bit integer.
        FileTime = 17,
        /// Eight 16-bit integers: year, month, day of week, day, hour, minute, second, millisecond.
        SystemTime = 18,
        /// A security identifier: 8 bytes and 4 for each sub-authority.
        Sid = 19,
        /// 32-bit integer shown in hexadecimal.
        Hex32 = 20,
        /// 64-bit integer shown in hexadecimal.
        Hex64 = 21,
        /// UTF-16 behind a `u16` byte count.
        Str16 = 22,
        /// Bytes of text behind a `u16` byte count.
        Str8 = 23,
        /// No value: the next fields belong to this one.
        Struct = 24,
        /// Bytes behind a `u16` byte count, in the encoding of newer decoders.
        BinaryC = 25,
    }
}

#[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
impl InType {
    /// A signed integer of pointer size.
    pub const ISize: Self = if size_of::<usize>() == 8 { Self::I64 } else { Self::I32 };
    /// An unsigned integer of pointer size.
    pub const USize: Self = if size_of::<usize>() == 8 { Self::U64 } else { Self::U32 };
    /// An integer of pointer size shown in hexadecimal.
    pub const HexSize: Self = if size_of::<usize>() == 8 { Self::Hex64 } else { Self::Hex32 };
    /// Another name of [`InType::BinaryC`].
    pub const CountedBinary: Self = Self::BinaryC;
    /// Flag: the element count is in the metadata.
    pub const ConstantCountFlag: u8 = 0x20;
    /// Flag: the element count is in the payload.
    pub const VariableCountFlag: u8 = 0x40;
    /// Flags together: custom encoding with its description in the metadata.
    pub const CustomFlag: u8 = 0x60;
    /// Flag: an [`OutType`](crate::OutType) follows.
    pub const ChainFlag: u8 = 0x80;
    /// The bits of the type itself.
    pub const TypeMask: u8 = 0x1F;
    /// The bits of the count flags.
    pub const FlagMask: u8 = 0x60;
}

impl InType {
    /// Bytes of a value of this type, where they are always the same number.
    #[must_use]
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
