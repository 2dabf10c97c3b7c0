//! Types of fields: how they are encoded in a payload and how they are shown.
//!
//! The numbers are those of `TDH_INTYPE_*` and `TDH_OUTTYPE_*` in Microsoft's documentation, the names those of manifests.
//! Encodings below 26 have the same numbers in TraceLogging, so [`Encoding::Value`] holds an [`InType`]. The out types differ.

use etw_types::{InType, OutType};

/// How a value is encoded in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// An encoding that TraceLogging also has. [`InType::Binary`] has no length prefix here: the length is given by the field.
    Value(InType),
    /// A pointer-sized value, shown in hexadecimal.
    Pointer,
    /// A pointer-sized number.
    Size,
    /// A UTF-16 code unit; an array of them is text.
    Char16,
    /// A byte of text; an array of them is text.
    Char8,
    /// UTF-16 text after a byte count in network order.
    ReversedStr16,
    /// Text bytes after a byte count in network order.
    ReversedStr8,
    /// UTF-16 text up to the end of the payload.
    Rest16,
    /// Text bytes up to the end of the payload.
    Rest8,
    /// Bytes after a 32-bit count.
    HexDump,
    /// Bytes up to the end of the payload.
    RestBytes,
    /// A `TOKEN_USER` and the SID after it, or four zero bytes if there is none.
    TokenUser,
    /// A struct: the index of its first member in the schema's list, and the number of members.
    Struct {
        /// Index of the first member.
        first: u16,
        /// Number of members.
        members: u16,
    },
}

/// How a value is shown.
pub type Presentation = OutType;

impl Encoding {
    /// Returns the encoding of a `TDH_INTYPE_*` number.
    #[must_use]
    pub fn from_tdh(number: u16) -> Option<Self> {
        Some(match number {
            16 => Self::Pointer,
            300 => Self::Value(InType::Str16),
            301 => Self::Value(InType::Str8),
            302 => Self::ReversedStr16,
            303 => Self::ReversedStr8,
            304 => Self::Rest16,
            305 => Self::Rest8,
            306 => Self::Char16,
            307 => Self::Char8,
            308 => Self::Size,
            309 => Self::HexDump,
            310 => Self::TokenUser,
            1..=23 | 25 => Self::Value(InType::from_int(u8::try_from(number).ok()?)),
            _ => return None,
        })
    }

    /// Returns the `TDH_INTYPE_*` number, or 0 for structs and for encodings without a TDH number.
    #[must_use]
    pub const fn to_tdh(self) -> u16 {
        match self {
            Self::Value(in_type) => in_type.as_int() as u16,
            Self::Pointer => 16,
            Self::ReversedStr16 => 302,
            Self::ReversedStr8 => 303,
            Self::Rest16 => 304,
            Self::Rest8 => 305,
            Self::Char16 => 306,
            Self::Char8 => 307,
            Self::Size => 308,
            Self::HexDump => 309,
            Self::TokenUser => 310,
            Self::RestBytes | Self::Struct { .. } => 0,
        }
    }

    /// Returns the encoding with this name in manifests, such as `win:UInt32`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        IN_TYPES.iter().find(|(known, ..)| *known == name).and_then(|(_, number, _)| Self::from_tdh(*number))
    }

    /// Returns the name in manifests, if there is one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        IN_TYPES.iter().find(|(_, number, _)| *number == self.to_tdh() && *number != 0).map(|(name, ..)| *name)
    }

    /// Returns how a value is shown if the manifest does not say: a `TDH_OUTTYPE_*` number.
    #[must_use]
    pub fn default_out(self) -> u16 {
        IN_TYPES.iter().find(|(_, number, _)| *number == self.to_tdh()).map_or(0, |(.., out)| *out)
    }
}

/// Name in manifests, TDH number, and the default out type.
const IN_TYPES: [(&str, u16, u16); 25] = [
    ("win:UnicodeString", 1, 1),
    ("win:AnsiString", 2, 1),
    ("win:Int8", 3, 3),
    ("win:UInt8", 4, 4),
    ("win:Int16", 5, 5),
    ("win:UInt16", 6, 6),
    ("win:Int32", 7, 7),
    ("win:UInt32", 8, 8),
    ("win:Int64", 9, 9),
    ("win:UInt64", 10, 10),
    ("win:Float", 11, 11),
    ("win:Double", 12, 12),
    ("win:Boolean", 13, 13),
    ("win:Binary", 14, 15),
    ("win:GUID", 15, 14),
    ("win:Pointer", 16, 19),
    ("win:FILETIME", 17, 2),
    ("win:SYSTEMTIME", 18, 2),
    ("win:SID", 19, 1),
    ("win:HexInt32", 20, 18),
    ("win:HexInt64", 21, 19),
    ("win:CountedUnicodeString", 22, 1),
    ("win:CountedAnsiString", 23, 1),
    ("win:CountedBinary", 25, 15),
    ("trace:SizeT", 308, 19),
];

/// Name in manifests, TDH number, and how this project shows it.
const OUT_TYPES: [(&str, u16, OutType); 36] = [
    ("xs:string", 1, OutType::String),
    ("xs:dateTime", 2, OutType::DateTime),
    ("xs:byte", 3, OutType::Signed),
    ("xs:unsignedByte", 4, OutType::Unsigned),
    ("xs:short", 5, OutType::Signed),
    ("xs:unsignedShort", 6, OutType::Unsigned),
    ("xs:int", 7, OutType::Signed),
    ("xs:unsignedInt", 8, OutType::Unsigned),
    ("xs:long", 9, OutType::Signed),
    ("xs:unsignedLong", 10, OutType::Unsigned),
    ("xs:float", 11, OutType::Default),
    ("xs:double", 12, OutType::Default),
    ("xs:boolean", 13, OutType::Boolean),
    ("xs:GUID", 14, OutType::Default),
    ("xs:hexBinary", 15, OutType::Default),
    ("win:HexInt8", 16, OutType::Hex),
    ("win:HexInt16", 17, OutType::Hex),
    ("win:HexInt32", 18, OutType::Hex),
    ("win:HexInt64", 19, OutType::Hex),
    ("win:PID", 20, OutType::Pid),
    ("win:TID", 21, OutType::Tid),
    ("win:Port", 22, OutType::Port),
    ("win:IPv4", 23, OutType::IPv4),
    ("win:IPv6", 24, OutType::IPv6),
    ("win:SocketAddress", 25, OutType::SocketAddress),
    ("win:CIMDateTime", 26, OutType::String),
    ("win:ETWTIME", 27, OutType::Default),
    ("win:Xml", 28, OutType::Xml),
    ("win:ErrorCode", 29, OutType::Hex),
    ("win:Win32Error", 30, OutType::Win32Error),
    ("win:NTSTATUS", 31, OutType::NtStatus),
    ("win:HResult", 32, OutType::HResult),
    ("win:DateTimeCultureInsensitive", 33, OutType::DateTimeCultureInsensitive),
    ("win:Json", 34, OutType::Json),
    ("win:Utf8", 35, OutType::Utf8),
    ("win:CodePointer", 37, OutType::CodePointer),
];

/// Returns how to show a `TDH_OUTTYPE_*` number. An unknown number is shown in the default format of the encoding.
#[must_use]
pub(crate) fn out_from_tdh(number: u16) -> OutType {
    match number {
        38 => OutType::DateTimeUtc,
        301 => OutType::NoPrint,
        _ => OUT_TYPES.iter().find(|(_, known, _)| *known == number).map_or(OutType::Default, |(.., out)| *out),
    }
}

/// Returns the `TDH_OUTTYPE_*` number of a name in manifests, such as `win:PID`.
#[must_use]
pub(crate) fn out_from_name(name: &str) -> Option<u16> {
    match name {
        "win:DateTimeUtc" => Some(38),
        "win:Pkcs7WithTypeInfo" => Some(36),
        _ => OUT_TYPES.iter().find(|(known, ..)| *known == name).map(|(_, number, _)| *number),
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, IN_TYPES, OUT_TYPES, out_from_name};

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        for (name, number, out) in IN_TYPES {
            let encoding = Encoding::from_name(name).unwrap();
            assert_eq!(encoding.to_tdh(), number);
            assert_eq!(encoding.name(), Some(name));
            assert_eq!(encoding.default_out(), out);
        }
        for (name, number, _) in OUT_TYPES {
            assert_eq!(out_from_name(name), Some(number));
        }
        assert_eq!(Encoding::from_tdh(24), None);
        assert_eq!(Encoding::from_tdh(0), None);
    }
}
