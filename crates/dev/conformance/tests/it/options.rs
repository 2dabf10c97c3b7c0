//! Every option of an event, and the properties of providers.

#![allow(
    clippy::absurd_extreme_comparisons,
    clippy::too_many_arguments,
    reason = "in the expansions of tracelogging's macros"
)]

use conformance::{NAME, OURS, THEIRS, same};

const TAG: u32 = 0x0123_4567;
const KEYWORD: u64 = 0x8000_0000_0000_0001;

#[test]
fn an_event_without_fields_or_options_is_the_same() {
    same!("Plain");
    same!("Plain",);
    same!("");
}

#[test]
fn levels_are_the_same() {
    same!("Level", level(LogAlways));
    same!("Level", level(Critical));
    same!("Level", level(Error));
    same!("Level", level(Warning));
    same!("Level", level(Informational));
    same!("Level", level(Verbose));
    same!("Level", level(5));
    same!("Level", level(200));
    same!("Level", level(1 + 2));
    same!("Level", level(tlg::Level::Error));
}

#[test]
fn keywords_are_combined_alike() {
    same!("Keyword", keyword(0));
    same!("Keyword", keyword(0x10));
    same!("Keyword", keyword(KEYWORD), keyword(0x10), keyword(1 << 40));
    same!("Keyword", keyword(0x10 | 0x20));
}

#[test]
fn opcodes_are_the_same() {
    same!("Opcode", opcode(Info));
    same!("Opcode", opcode(Start));
    same!("Opcode", opcode(Stop));
    same!("Opcode", opcode(DC_Start));
    same!("Opcode", opcode(DC_Stop));
    same!("Opcode", opcode(Extension));
    same!("Opcode", opcode(Reply));
    same!("Opcode", opcode(Resume));
    same!("Opcode", opcode(Suspend));
    same!("Opcode", opcode(Send));
    same!("Opcode", opcode(Receive));
    same!("Opcode", opcode(100));
    same!("Opcode", opcode(tlg::Opcode::ActivityStart));
}

#[test]
fn other_attributes_are_the_same() {
    same!("Attributes", task(7), id_version(0xFFFF, 255), channel(TraceClassic));
    same!("Attributes", task(0xFFFF), id_version(1, 2), channel(ProviderMetadata));
    same!("Attributes", channel(TraceLogging), level(Warning), keyword(2), opcode(9));
    same!("Attributes", channel(200));
    same!("Attributes", channel(tlg::Channel::TraceClassic));
}

#[test]
fn tags_of_all_sizes_are_the_same() {
    same!("Tag", tag(0));
    same!("Tag", tag(0x0240_0000));
    same!("Tag", tag(0x0FE0_0000));
    same!("Tag", tag(0x0FFF_C000));
    same!("Tag", tag(0x0FFF_FF80));
    same!("Tag", tag(0x0FFF_FFFF));
    same!("Tag", tag(1));
    same!("Tag", tag(TAG));
    same!("Tag", tag(TAG << 4 & 0x0FFF_FFFF), u8("Field", &1, tag(TAG + 1)));
}

#[test]
fn formats_are_the_same() {
    let v = 1_u32;
    same!(
        "Formats",
        u32("F0", &v, format(Default)),
        u32("F1", &v, format(NoPrint)),
        u32("F2", &v, format(String)),
        u32("F3", &v, format(Boolean)),
        u32("F4", &v, format(Hex)),
        u32("F5", &v, format(Pid)),
        u32("F6", &v, format(Tid)),
        u32("F7", &v, format(Port)),
        u32("F8", &v, format(IPv4)),
        u32("F9", &v, format(IPv6)),
        u32("F10", &v, format(SocketAddress)),
        u32("F11", &v, format(Xml)),
        u32("F12", &v, format(Json)),
        u32("F13", &v, format(Win32Error)),
        u32("F14", &v, format(NtStatus)),
        u32("F15", &v, format(HResult)),
        u32("F16", &v, format(DateTime)),
        u32("F17", &v, format(Signed)),
        u32("F18", &v, format(Unsigned)),
        u32("F33", &v, format(DateTimeCultureInsensitive)),
        u32("F35", &v, format(Utf8)),
        u32("F36", &v, format(Pkcs7WithTypeInfo)),
        u32("F37", &v, format(CodePointer)),
        u32("F38", &v, format(DateTimeUtc)),
        u32("Number", &v, format(127)),
        u32("Path", &v, format(tlg::OutType::Hex)),
        usize("Size", &1, format(tlg::OutType::Hex), tag(TAG)),
    );
}

#[test]
fn encodings_are_the_same() {
    let bytes = [0_u8; 16];
    same!(
        "Encodings",
        raw_field("Invalid", Invalid, &bytes),
        raw_field("CStr16", CStr16, &bytes),
        raw_field("CStr8", CStr8, &bytes),
        raw_field("I8", I8, &bytes),
        raw_field("U8", U8, &bytes),
        raw_field("I16", I16, &bytes),
        raw_field("U16", U16, &bytes),
        raw_field("I32", I32, &bytes),
        raw_field("U32", U32, &bytes),
        raw_field("I64", I64, &bytes),
        raw_field("U64", U64, &bytes),
        raw_field("F32", F32, &bytes),
        raw_field("F64", F64, &bytes),
        raw_field("Bool32", Bool32, &bytes),
        raw_field("Binary", Binary, &bytes),
        raw_field("Guid", Guid, &bytes),
        raw_field("FileTime", FileTime, &bytes),
        raw_field("SystemTime", SystemTime, &bytes),
        raw_field("Sid", Sid, &bytes),
        raw_field("Hex32", Hex32, &bytes),
        raw_field("Hex64", Hex64, &bytes),
        raw_field("Str16", Str16, &bytes),
        raw_field("Str8", Str8, &bytes),
        raw_field("Struct", Struct, &bytes),
        raw_field("BinaryC", tlg::InType::BinaryC, &bytes),
        raw_field("ISize", ISize, &bytes),
        raw_field("USize", USize, &bytes),
        raw_field("HexSize", HexSize, &bytes),
    );
}

#[test]
fn activity_ids_are_the_same() {
    let bytes: [u8; 16] = *b"sixteen bytes id";
    same!("Ids", activity_id(&bytes));
    same!("Ids", related_id(&bytes));
    same!("Ids", activity_id(&[1_u8; 16]), related_id(&bytes), u8("Field", &1));
    same!(
        "Ids",
        activity_id(&tlg::Guid::from_fields(1, 2, 3, [4; 8])),
        related_id(&tlg::Guid::from_fields(5, 6, 7, [8; 8])),
        str8("Field", "text"),
    );
}

#[test]
fn names_are_the_same() {
    same!("Ünïcode 🚗", u8("Größe 🚗", &1), struct("構造体", { str8("文字列", "値") }));
    same!("back\\slash\t\n", u8("\u{1F697}\x41", &1));
    same!("", u8("", &1), struct("", {}));
}

#[test]
fn values_are_taken_through_deref_and_as_ref() {
    let boxed = Box::new(7_u32);
    let string = String::from("text");
    let wide: Vec<u16> = string.encode_utf16().collect();
    same!(
        "Values",
        u32("Box", &boxed),
        str8("String", &string),
        str8("Str", string.as_str()),
        str8("Bytes", string.as_bytes()),
        str8("Owned", &string.clone()),
        str16("Vec", &wide),
        u16_slice("Array", &[1_u16, 2, 3]),
        u32("Block", {
            assert!(!string.is_empty());
            &(1 + 2)
        }),
        u32("Closure", &string.chars().map(u32::from).sum()),
        binary("Collected", &(0..5_u8).collect::<Vec<u8>>()),
    );
}

#[test]
fn providers_have_the_same_ids_and_traits() {
    /// Defines a provider with both crates and compares.
    macro_rules! same_provider {
        ($($definition:tt)*) => {{
            let theirs = {
                conformance::tracelogging::define_provider!(PROVIDER, $($definition)*);
                (PROVIDER.id().to_bytes_le(), PROVIDER.raw_meta().to_vec())
            };
            let ours = {
                conformance::wdk_etw::define_provider!(PROVIDER, $($definition)*);
                (PROVIDER.id().to_bytes_le(), PROVIDER.traits().to_vec())
            };
            assert_eq!(ours, theirs);
        }};
    }
    same_provider!("MyProvider");
    same_provider!("Microsoft-Diagnostics-DiagnosticSource",);
    same_provider!("");
    same_provider!("Grün.Ωmega.Жук.ñandú.構造");
    same_provider!("A", id("20cf46dd-3b90-476c-94e9-4e74bbc30e31"));
    same_provider!("A", id("{20CF46DD-3B90-476C-94E9-4E74BBC30E31}"), group_name("abc123"));
    same_provider!("A", id("20cf46dd3b90476c94e94e74bbc30e31"), groupname(""));
    same_provider!("A", group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"));
    same_provider!(
        "MyProvider",
        groupid("{faaf2f619b2645919bb1b9b8bae2d34c}"),
        id("00000000-0000-0000-0000-000000000000")
    );
}

#[test]
fn registered_traits_are_the_same() {
    let fixture = conformance::Fixture::new(wdk_etw::Level::Verbose);
    let traits = fixture.registered_traits();
    assert_eq!(traits.len(), 2);
    assert!(traits[0].is_some());
    assert_eq!(traits[0], traits[1]);
    assert_eq!((THEIRS.name(), OURS.name()), (NAME, NAME));
}
