//! The table of field types: the value that each takes, its encoding and its format.
//!
//! Scalars that are marked so also have a `_slice` variant. It is derived and not listed.

use etw_types::{InType, OutType};

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct FieldType {
    /// The word before the parenthesis.
    pub(crate) name: &'static str,
    /// How the value is written to the payload.
    pub(crate) shape: Shape,
    /// The encoding in the metadata.
    pub(crate) encoding: Encoding,
    /// The default format. 0 means none.
    pub(crate) out_type: u8,
    /// Whether `NAME_slice` exists.
    has_slice: bool,
}

/// How a field's value is written to the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One fixed-size value.
    Scalar(ValueType),
    /// A `u16` element count, then the elements.
    Slice(ValueType),
    /// A `u16` byte count, then the bytes.
    Counted(Cut),
    /// A `u16` byte count of 16, then an IPv6 address.
    Ipv6,
    /// Characters up to the first NUL, then a NUL.
    CStr(ValueType),
    /// A security identifier: 8 bytes and 4 for each subauthority.
    Sid,
    /// An `i32` with seconds since 1970, written as a FILETIME.
    Time32,
    /// An `i64` with seconds since 1970, written as a FILETIME.
    Time64,
    /// A `std::time::SystemTime`, written as a FILETIME.
    SystemTime,
    /// A `UNICODE_STRING`, counted.
    UnicodeString,
    /// An `ANSI_STRING`, counted.
    AnsiString,
    /// An NTSTATUS, as either of the two accepted types.
    NtStatus,
    /// The address of a raw pointer.
    Pointer,
    /// A group of fields.
    Struct,
    /// The start of a struct or of an array of structs. The fields follow it.
    RawStruct(Arity),
    /// A field whose bytes the user gives.
    RawField(Arity),
    /// The metadata of a field, without its bytes.
    RawMeta(Arity),
    /// Bytes without metadata.
    RawData,
}

/// Whether a raw field is one value or a variable-length array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arity {
    /// One value.
    One,
    /// An array with a `u16` element count.
    Many,
}

/// Where a value is truncated if it is longer than its count can express.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// Between two characters of UTF-8.
    Utf8,
    /// Between two characters of UTF-16.
    Utf16,
    /// Anywhere.
    Bytes,
}

/// A piece of a field's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A fixed-size value, which can share a descriptor with its neighbours.
    Fixed,
    /// Bytes whose length is known only at run time.
    Bytes,
}

impl Part {
    /// Returns whether this part can share a descriptor.
    pub(crate) const fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed)
    }
}

/// The Rust type of a value or an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueType {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Isize,
    Usize,
    F32,
    F64,
    Guid,
    /// `[u8; 4]`.
    Ipv4,
    /// `[u16; 8]`.
    SystemTime,
}

/// The encoding byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// A value that is the same on every target.
    Fixed(u8),
    /// A value that depends on the target's pointer size: the name of a constant of `InType`.
    Sized(&'static str),
    /// A value that the user gives.
    Raw,
}

impl Shape {
    /// Returns whether the field is a variable-length array. The encoding byte has a flag for this.
    pub(crate) const fn is_array(self) -> bool {
        matches!(
            self,
            Self::Slice(_) | Self::RawStruct(Arity::Many) | Self::RawField(Arity::Many) | Self::RawMeta(Arity::Many)
        )
    }

    /// Returns the pieces of the payload, in order.
    pub(crate) const fn parts(self) -> &'static [Part] {
        match self {
            Self::Scalar(_)
            | Self::Ipv6
            | Self::Time32
            | Self::Time64
            | Self::SystemTime
            | Self::NtStatus
            | Self::Pointer => &[Part::Fixed],
            Self::Slice(_) | Self::Counted(_) | Self::UnicodeString | Self::AnsiString => &[Part::Fixed, Part::Bytes],
            Self::CStr(_) => &[Part::Bytes, Part::Fixed],
            Self::Sid | Self::RawField(_) | Self::RawData => &[Part::Bytes],
            Self::Struct | Self::RawStruct(_) | Self::RawMeta(_) => &[],
        }
    }

    /// Returns whether the field takes a value.
    pub(crate) const fn has_value(self) -> bool {
        !matches!(self, Self::Struct | Self::RawStruct(_) | Self::RawMeta(_))
    }

    /// Returns whether the field takes `format(…)`.
    pub(crate) const fn takes_format(self) -> bool {
        !matches!(self, Self::Struct | Self::RawStruct(_) | Self::RawData)
    }
}

impl FieldType {
    /// Finds the type called `name`, which may end in `_slice`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        if let Some(row) = TABLE.iter().find(|row| row.name == name) {
            return Some(*row);
        }
        let base = name.strip_suffix("_slice")?;
        let row = TABLE.iter().find(|row| row.name == base && row.has_slice)?;
        match row.shape {
            Shape::Scalar(element) => Some(Self { shape: Shape::Slice(element), ..*row }),
            _ => None,
        }
    }

    /// Returns the names in the table, without the derived slices.
    pub(crate) fn base_names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|row| row.name)
    }

    /// Returns every name, for suggestions.
    pub(crate) fn all_names() -> impl Iterator<Item = String> {
        TABLE.iter().flat_map(|row| {
            let slice = row.has_slice.then(|| format!("{}_slice", row.name));
            [Some(row.name.to_owned()), slice].into_iter().flatten()
        })
    }
}

/// A scalar that also has a `_slice`.
const fn scalar(name: &'static str, value: ValueType, encoding: InType, out_type: OutType) -> FieldType {
    FieldType { has_slice: true, ..field(name, Shape::Scalar(value), encoding, out_type) }
}

/// A scalar of the target's pointer size that also has a `_slice`.
const fn sized(name: &'static str, value: ValueType, encoding: &'static str, out_type: OutType) -> FieldType {
    FieldType {
        name,
        shape: Shape::Scalar(value),
        encoding: Encoding::Sized(encoding),
        out_type: out_type.as_int(),
        has_slice: true,
    }
}

/// A field without a `_slice`.
const fn field(name: &'static str, shape: Shape, encoding: InType, out_type: OutType) -> FieldType {
    FieldType {
        name,
        shape,
        encoding: Encoding::Fixed(encoding.as_int()),
        out_type: out_type.as_int(),
        has_slice: false,
    }
}

/// A raw field, whose encoding is an argument, or raw data, which has none.
const fn raw(name: &'static str, shape: Shape) -> FieldType {
    FieldType { name, shape, encoding: Encoding::Raw, out_type: 0, has_slice: false }
}

use Shape::{CStr, Counted};
use ValueType as V;

type I = InType;
type O = OutType;

/// The names, encodings and formats are those of Microsoft's `tracelogging` crate. The rows after the comment in the
/// table are our additions.
static TABLE: &[FieldType] = &[
    scalar("bool8", V::Bool, I::U8, O::Boolean),
    scalar("bool32", V::I32, I::Bool32, O::Default),
    scalar("char8_cp1252", V::U8, I::U8, O::String),
    scalar("char16", V::U16, I::U16, O::String),
    scalar("i8", V::I8, I::I8, O::Default),
    scalar("i8_hex", V::I8, I::U8, O::Hex),
    scalar("u8", V::U8, I::U8, O::Default),
    scalar("u8_hex", V::U8, I::U8, O::Hex),
    scalar("i16", V::I16, I::I16, O::Default),
    scalar("i16_hex", V::I16, I::U16, O::Hex),
    scalar("u16", V::U16, I::U16, O::Default),
    scalar("u16_hex", V::U16, I::U16, O::Hex),
    scalar("i32", V::I32, I::I32, O::Default),
    scalar("i32_hex", V::I32, I::Hex32, O::Default),
    scalar("u32", V::U32, I::U32, O::Default),
    scalar("u32_hex", V::U32, I::Hex32, O::Default),
    scalar("i64", V::I64, I::I64, O::Default),
    scalar("i64_hex", V::I64, I::Hex64, O::Default),
    scalar("u64", V::U64, I::U64, O::Default),
    scalar("u64_hex", V::U64, I::Hex64, O::Default),
    sized("isize", V::Isize, "ISize", O::Default),
    sized("isize_hex", V::Isize, "HexSize", O::Default),
    sized("usize", V::Usize, "USize", O::Default),
    sized("usize_hex", V::Usize, "HexSize", O::Default),
    sized("pointer", V::Usize, "HexSize", O::Default),
    sized("codepointer", V::Usize, "HexSize", O::CodePointer),
    scalar("f32", V::F32, I::F32, O::Default),
    scalar("f64", V::F64, I::F64, O::Default),
    scalar("guid", V::Guid, I::Guid, O::Default),
    scalar("errno", V::I32, I::I32, O::Default),
    scalar("hresult", V::I32, I::I32, O::HResult),
    scalar("win_error", V::U32, I::U32, O::Win32Error),
    scalar("win_ntstatus", V::I32, I::Hex32, O::NtStatus),
    scalar("pid", V::U32, I::U32, O::Pid),
    scalar("tid", V::U32, I::U32, O::Tid),
    scalar("port", V::U16, I::U16, O::Port),
    scalar("ipv4", V::Ipv4, I::U32, O::IPv4),
    scalar("win_filetime", V::I64, I::FileTime, O::Default),
    scalar("win_systemtime", V::SystemTime, I::SystemTime, O::Default),
    scalar("win_systemtime_utc", V::SystemTime, I::SystemTime, O::DateTimeUtc),
    field("time32", Shape::Time32, I::FileTime, O::Default),
    field("time64", Shape::Time64, I::FileTime, O::Default),
    field("systemtime", Shape::SystemTime, I::FileTime, O::Default),
    field("win_sid", Shape::Sid, I::Sid, O::Default),
    field("ipv6", Shape::Ipv6, I::Binary, O::IPv6),
    field("ipv6c", Shape::Ipv6, I::BinaryC, O::IPv6),
    field("binary", Counted(Cut::Bytes), I::Binary, O::Default),
    field("binaryc", Counted(Cut::Bytes), I::BinaryC, O::Default),
    field("socketaddress", Counted(Cut::Bytes), I::Binary, O::SocketAddress),
    field("socketaddressc", Counted(Cut::Bytes), I::BinaryC, O::SocketAddress),
    field("str8", Counted(Cut::Utf8), I::Str8, O::Utf8),
    field("str8_cp1252", Counted(Cut::Bytes), I::Str8, O::Default),
    field("str8_json", Counted(Cut::Utf8), I::Str8, O::Json),
    field("str8_xml", Counted(Cut::Utf8), I::Str8, O::Xml),
    field("str16", Counted(Cut::Utf16), I::Str16, O::Default),
    field("str16_json", Counted(Cut::Utf16), I::Str16, O::Json),
    field("str16_xml", Counted(Cut::Utf16), I::Str16, O::Xml),
    field("cstr8", CStr(V::U8), I::CStr8, O::Utf8),
    field("cstr8_cp1252", CStr(V::U8), I::CStr8, O::Default),
    field("cstr8_json", CStr(V::U8), I::CStr8, O::Json),
    field("cstr8_xml", CStr(V::U8), I::CStr8, O::Xml),
    field("cstr16", CStr(V::U16), I::CStr16, O::Default),
    field("cstr16_json", CStr(V::U16), I::CStr16, O::Json),
    field("cstr16_xml", CStr(V::U16), I::CStr16, O::Xml),
    field("struct", Shape::Struct, I::Struct, O::Default),
    field("raw_struct", Shape::RawStruct(Arity::One), I::Struct, O::Default),
    field("raw_struct_slice", Shape::RawStruct(Arity::Many), I::Struct, O::Default),
    raw("raw_field", Shape::RawField(Arity::One)),
    raw("raw_field_slice", Shape::RawField(Arity::Many)),
    raw("raw_meta", Shape::RawMeta(Arity::One)),
    raw("raw_meta_slice", Shape::RawMeta(Arity::Many)),
    raw("raw_data", Shape::RawData),
    // Types that are common in drivers.
    field("unicode_string", Shape::UnicodeString, I::Str16, O::Default),
    field("ansi_string", Shape::AnsiString, I::Str8, O::Default),
    field("ntstatus", Shape::NtStatus, I::Hex32, O::NtStatus),
    field("irql", Shape::Scalar(V::U8), I::U8, O::Default),
    FieldType { has_slice: false, ..sized("kernel_ptr", V::Usize, "HexSize", O::Default) }.with_shape(Shape::Pointer),
];

impl FieldType {
    /// Returns the same type with another shape.
    const fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }
}
