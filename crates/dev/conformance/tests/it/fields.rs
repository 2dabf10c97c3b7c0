//! Every field type, alone and combined, with and without tag and format.

#![allow(clippy::too_many_arguments, reason = "in the expansions of tracelogging's macros")]

use std::time::{Duration, SystemTime};

use conformance::{same, tracelogging};

/// Defines a test for each scalar: values, slices of all relevant lengths, tags, formats, and in a struct.
macro_rules! scalars {
    ($($name:ident, $slice:ident, $kind:ty, [$($value:expr),*];)*) => {
        const SCALARS: &[&str] = &[$(stringify!($name), stringify!($slice)),*];
        $(
            mod $name {
                use conformance::same;

                #[test]
                fn scalar_has_the_same_bytes() {
                    $({
                        let value: $kind = $value;
                        same!("Scalar", $name("Field", &value));
                    })*
                }

                #[test]
                fn slice_has_the_same_bytes() {
                    let values: &[$kind] = &[$($value),*];
                    same!("Slice", $slice("Field", values));
                    same!("Slice", $slice("Field", &values.to_vec()), $slice("Empty", &values[..0]));
                }

                #[test]
                fn options_have_the_same_bytes() {
                    let values: &[$kind] = &[$($value),*];
                    let value: $kind = values[0];
                    same!(
                        "Options",
                        $name("Tag", &value, tag(0x0FE0_0001)),
                        $name("Format", &value, format(Hex)),
                        $name("Both", &value, format(NoPrint), tag(5)),
                        $name("Default", &value, format(Default)),
                        $slice("Tag", values, tag(0x40)),
                        $slice("Both", values, tag(0), format(String)),
                        struct("Struct", { $name("Inner", &value), $slice("InnerSlice", values) }),
                    );
                }
            }
        )*
    };
}

scalars! {
    bool8, bool8_slice, bool, [false, true];
    bool32, bool32_slice, i32, [0, 1, -1];
    char8_cp1252, char8_cp1252_slice, u8, [0x41, 0xE4];
    char16, char16_slice, u16, [0x41, 0x20AC];
    codepointer, codepointer_slice, usize, [0, usize::MAX];
    errno, errno_slice, i32, [2, i32::MIN];
    f32, f32_slice, f32, [0.0, -1.5, f32::NAN, f32::INFINITY];
    f64, f64_slice, f64, [0.0, -1.5, f64::NAN, f64::MIN_POSITIVE];
    hresult, hresult_slice, i32, [0, -2_147_467_259];
    i8, i8_slice, i8, [i8::MIN, 0, i8::MAX];
    i8_hex, i8_hex_slice, i8, [i8::MIN, 0, i8::MAX];
    i16, i16_slice, i16, [i16::MIN, 0, i16::MAX];
    i16_hex, i16_hex_slice, i16, [i16::MIN, 0, i16::MAX];
    i32, i32_slice, i32, [i32::MIN, 0, i32::MAX];
    i32_hex, i32_hex_slice, i32, [i32::MIN, 0, i32::MAX];
    i64, i64_slice, i64, [i64::MIN, 0, i64::MAX];
    i64_hex, i64_hex_slice, i64, [i64::MIN, 0, i64::MAX];
    ipv4, ipv4_slice, [u8; 4], [[127, 0, 0, 1], [255, 254, 253, 252]];
    isize, isize_slice, isize, [isize::MIN, 0, isize::MAX];
    isize_hex, isize_hex_slice, isize, [isize::MIN, 0, isize::MAX];
    pid, pid_slice, u32, [4, u32::MAX];
    pointer, pointer_slice, usize, [0, usize::MAX];
    port, port_slice, u16, [80, u16::MAX];
    tid, tid_slice, u32, [8, u32::MAX];
    u8, u8_slice, u8, [0, 1, u8::MAX];
    u8_hex, u8_hex_slice, u8, [0, 1, u8::MAX];
    u16, u16_slice, u16, [0, 1, u16::MAX];
    u16_hex, u16_hex_slice, u16, [0, 1, u16::MAX];
    u32, u32_slice, u32, [0, 1, u32::MAX];
    u32_hex, u32_hex_slice, u32, [0, 1, u32::MAX];
    u64, u64_slice, u64, [0, 1, u64::MAX];
    u64_hex, u64_hex_slice, u64, [0, 1, u64::MAX];
    usize, usize_slice, usize, [0, 1, usize::MAX];
    usize_hex, usize_hex_slice, usize, [0, 1, usize::MAX];
    win_error, win_error_slice, u32, [0, 5, u32::MAX];
    win_filetime, win_filetime_slice, i64, [0, 0x01D9_0000_0000_0000];
    win_ntstatus, win_ntstatus_slice, i32, [0, -1_073_741_819];
    win_systemtime, win_systemtime_slice, [u16; 8], [[2024, 2, 4, 29, 23, 59, 58, 999], [0; 8]];
    win_systemtime_utc, win_systemtime_utc_slice, [u16; 8], [[2024, 2, 4, 29, 23, 59, 58, 999], [0; 8]];
}

/// Defines a test for each type that takes bytes or characters.
macro_rules! texts {
    ($values:ident: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                for text in $values() {
                    same!("Text", $name("Field", &text));
                }
                let text = $values().remove(1);
                same!(
                    "Options",
                    $name("Tag", &text, tag(0x0FFF_FFFF)),
                    $name("Format", &text, format(Json)),
                    $name("Both", &text, tag(1), format(35)),
                    $name("Empty", &text[..0]),
                    struct("Struct", { $name("Inner", &text[..]) }),
                );
            }
        )*
    };
}

/// Returns texts: empty, plain, with NULs, not ASCII, and long but within the limit.
fn bytes() -> Vec<Vec<u8>> {
    let plain = "plain text".as_bytes().to_vec();
    vec![Vec::new(), plain, b"nul\0in\0it\0".to_vec(), b"\0".to_vec(), "äöü€🚗".into(), vec![b'x'; 60_000]]
}

/// Returns the same texts in UTF-16.
fn units() -> Vec<Vec<u16>> {
    let utf16 = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    vec![Vec::new(), utf16("plain text"), utf16("nul\0in\0it\0"), utf16("\0"), utf16("äöü€🚗"), vec![0x78; 30_000]]
}

const TEXTS: &[&str] = &[
    "binary",
    "binaryc",
    "cstr16",
    "cstr16_json",
    "cstr16_xml",
    "cstr8",
    "cstr8_cp1252",
    "cstr8_json",
    "cstr8_xml",
    "socketaddress",
    "socketaddressc",
    "str16",
    "str16_json",
    "str16_xml",
    "str8",
    "str8_cp1252",
    "str8_json",
    "str8_xml",
];

mod text {
    use super::{bytes, units};
    use conformance::same;

    texts!(bytes: binary binaryc socketaddress socketaddressc str8 str8_cp1252 str8_json str8_xml);
    texts!(bytes: cstr8 cstr8_cp1252 cstr8_json cstr8_xml);
    texts!(units: str16 str16_json str16_xml cstr16 cstr16_json cstr16_xml);
}

const OTHERS: &[&str] = &[
    "guid",
    "guid_slice",
    "ipv6",
    "ipv6c",
    "raw_data",
    "raw_field",
    "raw_field_slice",
    "raw_meta",
    "raw_meta_slice",
    "raw_struct",
    "raw_struct_slice",
    "struct",
    "systemtime",
    "time32",
    "time64",
    "win_sid",
];

#[test]
fn guids_have_the_same_bytes() {
    same!(
        "Guids",
        guid("One", &tlg::Guid::from_fields(0x0011_2233, 0x4455, 0x6677, [8, 9, 10, 11, 12, 13, 14, 15])),
        guid("Tagged", &tlg::Guid::from_fields(1, 2, 3, [4; 8]), tag(9)),
        guid_slice("Many", &[tlg::Guid::from_fields(1, 2, 3, [4; 8]), tlg::Guid::from_fields(5, 6, 7, [8; 8])]),
        guid_slice("None", &[]),
    );
}

#[test]
fn ipv6_addresses_have_the_same_bytes() {
    let address: [u8; 16] = std::array::from_fn(|index| u8::try_from(index).unwrap());
    same!("Ipv6", ipv6("Binary", &address), ipv6c("BinaryC", &address), ipv6("Tagged", &address, tag(1), format(Hex)));
}

#[test]
fn times_have_the_same_bytes() {
    for seconds in [0, 1, -1, i32::MIN, i32::MAX] {
        same!("Time32", time32("Field", &seconds), time32("Tagged", &seconds, tag(3)));
    }
    let limits = [-11_644_473_601, -11_644_473_600, 910_670_515_199, 910_670_515_200, i64::MIN, i64::MAX];
    for seconds in limits.into_iter().chain([0, 1, -1]) {
        same!("Time64", time64("Field", &seconds), time64("Format", &seconds, format(DateTimeUtc)));
    }
    let nanoseconds = Duration::new(1_700_000_000, 123_456_789);
    let offsets =
        [Duration::ZERO, Duration::from_nanos(1), Duration::from_nanos(99), Duration::from_nanos(100), nanoseconds];
    for offset in offsets {
        let after = SystemTime::UNIX_EPOCH + offset;
        let before = SystemTime::UNIX_EPOCH - offset;
        same!("SystemTime", systemtime("After", &after), systemtime("Before", &before, tag(1)));
    }
    for seconds in [11_644_473_599, 11_644_473_600, 11_644_473_601, 100_000_000_000] {
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(seconds);
        same!("SystemTime", systemtime("Early", &before));
    }
    let late = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000_000);
    same!("SystemTime", systemtime("Late", &late));
}

#[test]
fn sids_have_the_same_bytes() {
    let system = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
    let longer = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0, 99, 99];
    let nobody = [1, 0, 0, 0, 0, 0, 0, 0];
    same!("Sids", win_sid("Exact", &system), win_sid("Longer", &longer, tag(1)), win_sid("None", &nobody));
}

#[test]
fn structs_have_the_same_bytes() {
    same!("Empty", struct("Nothing", {}), struct("Tagged", tag(1), {}));
    same!(
        "Nested",
        struct("Outer", tag(0x1234), {
            u8("A", &1),
            struct("Inner", {
                str8("B", "text"),
                struct("Innermost", tag(0x0FFF_FFFF), { u16_slice("C", &[1, 2, 3]), raw_data(&[]) }),
            }),
            raw_field("D", U8, &[7], format(String), tag(200)),
            raw_meta("E", U16),
            raw_data(&[1, 2]),
        }),
        u32("After", &0xFFFF_FFFF),
    );
}

#[test]
fn raw_fields_have_the_same_bytes() {
    same!(
        "Raw",
        raw_field("Char", U8, &[65], format(String), tag(200)),
        raw_field_slice("Chars", U8, &[3, 0, 65, 66, 67], format(String)),
        raw_field("ByNumber", 8, &[1, 2, 3, 4]),
        raw_field("ByPath", tlg::InType::Hex32, &[1, 2, 3, 4], format(tlg::OutType::Win32Error)),
        raw_field("Sized", HexSize, &[0; 8]),
        raw_field("Numbers", 4 + 4, &[0; 4], format(2 + 2)),
        raw_meta("Hex", U32, format(Hex)),
        raw_meta_slice("Bytes", U8, format(4), tag(1)),
        raw_meta_slice("Sizes", USize),
        raw_data(&[255, 0, 0, 0, 3, 0, 65, 66, 67, 0, 0]),
        raw_struct("Struct", 2),
        raw_field("A", U8, &[1]),
        raw_field_slice("B", U8, &[0, 0], tag(0x0FFF_C000)),
        raw_struct("EmptyStruct", 0),
        raw_struct("TaggedStruct", 1, tag(77)),
        raw_meta("C", Str8, format(Json)),
        raw_struct_slice("Structs", 1 + 1, tag(3)),
        raw_meta("D", U8, format(String)),
        raw_meta_slice("E", U8, format(String)),
        raw_data(&vec![0_u8; 300]),
        raw_data(""),
    );
}

#[test]
fn long_slices_have_the_same_bytes() {
    let many = vec![0xA5_u8; 60_000];
    same!("Many", u8_slice("Bytes", &many));
    let words = vec![0x1234_5678_u32; 15_000];
    same!("Many", u32_slice("Words", &words));
}

#[test]
fn neighbours_share_descriptors_but_not_bytes() {
    let text = "text";
    let wide: Vec<u16> = text.encode_utf16().collect();
    same!(
        "Mixed",
        u8("A", &1),
        u64("B", &2),
        bool8("C", &true),
        str8("D", text),
        u16("E", &3),
        cstr16("F", &wide),
        cstr8("G", text),
        f64("H", &4.5),
        ipv6("I", &[6; 16]),
        win_sid("J", &[1, 0, 0, 0, 0, 0, 0, 5]),
        u32_slice("K", &[1, 2]),
        i8("L", &-1),
        struct("M", { i16("N", &-2), time32("O", &1), str16("P", &wide) }),
        win_systemtime("Q", &[1, 2, 3, 4, 5, 6, 7, 8]),
    );
}

#[test]
fn every_field_type_of_tracelogging_is_compared() {
    let table = std::fs::read_to_string(tracelogging::FIELD_TYPES).unwrap();
    let names: Vec<&str> = table.split("Opt::new(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() > 100);
    for name in names {
        let covered = [SCALARS, TEXTS, OTHERS].iter().any(|list| list.contains(&name));
        assert!(covered, "{name} is not compared");
    }
}
