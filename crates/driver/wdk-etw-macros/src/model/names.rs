//! The names that can be used without a path in `level(…)`, `opcode(…)`, `channel(…)`, `format(…)` and raw fields.

use etw_types::{Channel, InType, Level, Opcode, OutType};

/// The names of one type of value.
pub(crate) struct Vocabulary {
    /// The type in `wdk_etw`, for example `Level`.
    pub(crate) type_name: &'static str,
    /// Each name with its value; `None` if the value depends on the target's pointer size.
    pub(crate) names: &'static [(&'static str, Option<u8>)],
}

impl Vocabulary {
    /// Finds the entry called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<(&'static str, Option<u8>)> {
        self.names.iter().copied().find(|(known, _)| *known == name)
    }

    /// Returns the names as a list for messages: `` `A`, `B`, … ``.
    pub(crate) fn list(&self) -> String {
        let quoted: Vec<String> = self.names.iter().map(|(name, _)| format!("`{name}`")).collect();
        quoted.join(", ")
    }
}

/// Lists associated constants with their values.
macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident: $type:ident { $($known:ident),* $(,)? } $(sized { $($sized:ident),* })?) => {
        $(#[$meta])*
        pub(crate) static $name: Vocabulary = Vocabulary {
            type_name: stringify!($type),
            names: &[
                $((stringify!($known), Some($type::$known.as_int())),)*
                $($((stringify!($sized), None),)*)?
            ],
        };
    };
}

vocabulary! {
    /// Levels.
    LEVEL: Level { LogAlways, Critical, Error, Warning, Informational, Verbose }
}

vocabulary! {
    /// Opcodes.
    OPCODE: Opcode {
        Info, Start, Stop, DC_Start, DC_Stop, Extension, Reply, Resume, Suspend, Send, Receive, ActivityStart,
        ActivityStop, CollectionStart, CollectionStop,
    }
}

vocabulary! {
    /// Channels.
    CHANNEL: Channel { TraceClassic, TraceLogging, ProviderMetadata }
}

vocabulary! {
    /// How a field is encoded.
    IN_TYPE: InType {
        Invalid, CStr16, CStr8, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64, Bool32, Binary, Guid, FileTime,
        SystemTime, Sid, Hex32, Hex64, Str16, Str8, Struct, BinaryC,
        CountedBinary,
    } sized { ISize, USize, HexSize }
}

vocabulary! {
    /// How a field is displayed.
    OUT_TYPE: OutType {
        Default, NoPrint, String, Boolean, Hex, Pid, Tid, Port, IPv4, IPv6, SocketAddress, Xml, Json, Win32Error,
        NtStatus, HResult, DateTime, Signed, Unsigned, DateTimeCultureInsensitive, Utf8, Pkcs7WithTypeInfo,
        CodePointer, DateTimeUtc,
    }
}
