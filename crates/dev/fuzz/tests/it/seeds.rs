//! Checks that the committed seeds are byte for byte what this code makes.
//!
//! Set `ETW_FUZZ_BLESS` to write them again. The other files of the corpus (`found-*`) are inputs that fuzzing found.

// Helpers of other crates' tests: they make event descriptions, driver images and PDB files.
#[path = "../../../../traces/etw-manifest/tests/it/common/mod.rs"]
mod described;
#[path = "../../../../toolchain/driver-package/tests/it/common/mod.rs"]
mod linker;
#[path = "../../../../base/pe-image/tests/it/common/mod.rs"]
mod symbols;

use std::fs;
use std::path::Path;

use etw_etl::format::message::MessageHeader;
use etw_etl::format::record::{Next, next};
use etw_etl::format::stack::{HOOK_CREATE, binary_path, push_definition};
use etw_etl::{EventData, ExtendedItem, ExtendedType};
use etw_types::tracelogging::EventBuilder;
use etw_types::traits::TraitsBuilder;
use etw_types::{Guid, InType, OutType};
use linker::{ARM64, Driver};

/// The name of a seed, and its bytes.
type Made = (&'static str, Vec<u8>);

/// Returns metadata, followed by the payload.
fn event(name: &str, tag: u32, fields: impl Fn(EventBuilder<'_>) -> EventBuilder<'_>) -> Vec<u8> {
    let mut metadata = [0; 1024];
    let mut payload = [0; 1024];
    let builder = EventBuilder::new(&mut metadata, &mut payload, name, tag);
    let (metadata, payload) = fields(builder).finish().unwrap();
    [metadata, payload].concat()
}

fn events() -> Vec<Made> {
    let sid = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
    vec![
        ("empty", event("E", 0, |builder| builder)),
        (
            "numbers",
            event("Numbers", 1, |builder| {
                let builder = builder.i8("a", -1).u8("b", 1).i16("c", -2).u16("d", 2).i32("e", -3).u32("f", 3);
                let builder = builder.i64("g", i64::MIN).u64("h", u64::MAX).f32("i", f32::NAN).f64("j", 0.1);
                builder.hex32("k", 16).hex64("l", 17).ntstatus("m", 0xC000_00BB).bool8("n", true)
            }),
        ),
        (
            "texts",
            event("Texts", 0, |builder| {
                builder
                    .field("a", InType::CStr16, OutType::Default, 0, b"z\0\0\0")
                    .field("b", InType::CStr8, OutType::Default, 0, b"z\0")
                    .str16("c", &[0x61, 0xD800])
                    .str8("d", "\u{fc}ber")
                    .counted("e", InType::Str8, OutType::Json, 0, b"{}")
            }),
        ),
        (
            "others",
            event("Others", 0x0FFF_FFFF, |builder| {
                builder
                    .guid("a", &Guid::from_name("seed"))
                    .filetime("b", 133_594_528_890_000_000)
                    .field("c", InType::SystemTime, OutType::Default, 0, &[0; 16])
                    .field("d", InType::Sid, OutType::Default, 0, &sid)
                    .binary("e", &[1, 2, 3])
                    .counted("f", InType::BinaryC, OutType::IPv6, 0, &[0; 16])
                    .field("g", InType::U16, OutType::Port, 0x1_0000, &[0, 80])
                    .field("h", InType::Bool32, OutType::Default, 0, &[1, 0, 0, 0])
            }),
        ),
        (
            "nested",
            event("Nested", 0, |builder| {
                builder
                    .array("a", InType::U16, OutType::Hex, 0, 3, &[1, 0, 2, 0, 3, 0])
                    .array("b", InType::CStr8, OutType::Default, 0, 2, b"a\0b\0")
                    .array("c", InType::Struct, OutType::from_int(2), 7, 2, b"\x01\x02\x00xy\x02\x00\x00")
                    .field("d", InType::U8, OutType::Default, 0, &[])
                    .field("e", InType::Str8, OutType::Default, 0, &[])
                    .structure("f", 2, 0)
                    .bool8("g", true)
                    .structure("h", 1, 0x0FFF_FFFF)
                    .u8("i", 9)
            }),
        ),
        // A constant count, a custom encoding, and a tag in more bytes than it needs. The builder cannot make them.
        (
            "rare",
            b"\x18\x00\x80\x80\x00E\x00a\x00\x24\x02\x00b\x00\x84\x81\x80\x00c\x00\x6c\x01\x00!\x01\x02\x03\x02\x00xy"
                .to_vec(),
        ),
        // Tags with more than 28 bits.
        ("long-tag", b"\x15\0\x80\x80\x80\xff\xff\x81\x01E\0f\0\x84\x80\x80\x80\x80\x80\xff\x7f\x05".to_vec()),
    ]
}

/// Members without an instance, which the decoder must skip for each of 65535 structs.
fn walked_again() -> Vec<u8> {
    let mut metadata = b"\0\0\0E\0s\0\xb8\x01\xff\xffn\0\xb8\x64\x00\x00".to_vec();
    metadata.extend_from_slice(&b"member of a name that is not short\0\x04".repeat(100));
    let size = u16::try_from(metadata.len()).unwrap().to_le_bytes();
    metadata[..2].copy_from_slice(&size);
    metadata
}

fn traits() -> Vec<Made> {
    let encoded = |builder: TraitsBuilder<'_>| {
        let mut blob = vec![0; builder.encoded_len().unwrap()];
        builder.encode_into(&mut blob).unwrap();
        blob
    };
    let all = TraitsBuilder::new("Wdk.Etw.Seed")
        .with_group(Guid::from_name("group"))
        .with_decode_guid(Guid::from_name("decode"))
        .with_custom(&[(128, b"one"), (255, b"")]);
    vec![("name", encoded(TraitsBuilder::new("Seed"))), ("all", encoded(all)), ("nameless", b"\x03\0\0".to_vec())]
}

fn guids() -> Vec<Made> {
    vec![
        ("bare", b"20cf46dd-3b90-476c-94e9-4e74bbc30e31".to_vec()),
        ("braced", b"{20CF46DD-3B90-476C-94E9-4E74BBC30E31}".to_vec()),
        ("name", "Wdk.Etw.S\u{e9}ed".into()),
    ]
}

fn images() -> Vec<Made> {
    let driver = Driver::default();
    let bare = Driver {
        imports: Vec::new(),
        exports: Vec::new(),
        relocations: Vec::new(),
        signed: false,
        cookie: 0,
        ..Driver::default()
    };
    let all = Driver { delayed: vec!["other.dll"], tls: true, clr: true, ..Driver::default() };
    let odd = Driver { machine: ARM64, addresses_in_code: true, more_sections: 3, ..Driver::default() };
    vec![("driver", driver.build()), ("bare", bare.build()), ("all", all.build()), ("odd", odd.build())]
}

/// The input of the target `unwind`: a header, entries for two functions, and their unwind information.
fn tables() -> Vec<Made> {
    let table = |rva: u8, info: &[u8], code: &[u8]| {
        let entries: [u32; 6] = [0x20, 0x50, 0x60, 0x50, 0x60, 0xA0];
        let mut image: Vec<u8> = entries.iter().flat_map(|word| word.to_le_bytes()).collect();
        image.resize(0xC0, 0x90);
        image[0x40..0x40 + code.len()].copy_from_slice(code);
        image[0x60..0x60 + info.len()].copy_from_slice(info);
        // The second function is a part of the first.
        image[0xA0..0xB4].copy_from_slice(&[0x21, 1, 1, 0, 1, 0x60, 0, 0, 0x20, 0, 0, 0, 0x50, 0, 0, 0, 0x60, 0, 0, 0]);
        [&[rva, 0, 2, 0], image.as_slice()].concat()
    };
    let epilog = [0x48, 0x83, 0xC4, 16, 0x5E, 0x5B, 0xC3];
    let frame = [0x09, 10, 3, 0x15, 10, 0x03, 5, 0x32, 1, 0x50, 0, 0, 0x34, 0x12, 0, 0];
    let moves = [1, 20, 11, 0, 20, 0xF9, 32, 0, 0, 0, 18, 0x65, 40, 0, 0, 0, 14, 0x68, 1, 0, 9, 0x34, 1, 0, 4, 0x52];
    vec![
        ("pushes", table(0x30, &[1, 6, 3, 0, 6, 0x12, 2, 0x60, 1, 0x30], &[])),
        ("epilog", table(0x40, &[1, 6, 3, 0, 6, 0x12, 2, 0x60, 1, 0x30], &epilog)),
        ("frame", table(0x40, &frame, &[0x48, 0x8D, 0x65, 16, 0x5D, 0xC3])),
        ("moves", table(0x30, &moves, &[])),
        ("large", table(0x30, &[1, 7, 5, 0, 7, 0x11, 136, 0, 0, 0, 6, 0x01, 17, 0], &[0xE9, 0, 1, 0, 0])),
        ("machine", table(0x30, &[1, 0, 1, 0, 0, 0x1A], &[])),
        ("version-2", table(0x30, &[2, 1, 3, 0, 2, 0x16, 2, 0x06, 1, 0x30], &[])),
        ("part", table(0x58, &[1, 6, 3, 0, 6, 0x12, 2, 0x60, 1, 0x30], &[])),
    ]
}

/// Eight bytes that define a clock, followed by records.
fn records() -> Vec<Made> {
    let behind = |records: &[Vec<u8>]| {
        let mut bytes = 10_000_000_u64.rotate_left(32).to_be_bytes().to_vec();
        for record in records {
            bytes.extend_from_slice(record);
            bytes.resize(bytes.len().next_multiple_of(8), 0xFF);
        }
        bytes
    };
    let event = |items: &[ExtendedItem<'_>], payload: &[u8]| {
        let event = EventData { items, payload, timestamp: 5, ..EventData::default() };
        let mut record = vec![0; event.encoded_len()];
        event.encode(&mut record).unwrap();
        record
    };
    let metadata = b"\x0b\x00\x00E\x00n\x00\x08";
    let frames: Vec<u8> = [0_u64, 0x10, 0x20].iter().flat_map(|word| word.to_le_bytes()).collect();
    let item = |kind, data| ExtendedItem { kind, data };
    let stack = item(ExtendedType::STACK_TRACE64, &frames[..]);
    let key = item(ExtendedType::STACK_KEY64, &frames[..16]);
    let [traits, schema] = ExtendedItem::trace_logging(b"\x05\x00ab\x00", metadata);
    let mut definition = Vec::new();
    assert!(push_definition(&mut definition, HOOK_CREATE, 4, 0x10, &[1, 2]));
    let message = MessageHeader {
        number: 3,
        sequence: Some(1),
        guid: Some(Guid::from_name("seed")),
        timestamp: Some(6),
        thread_id: Some(1),
        process_id: Some(2),
        ..MessageHeader::default()
    };
    let mut wpp = Vec::new();
    message.push(2, &mut wpp).unwrap();
    wpp.extend([1, 2]);
    let binary = binary_path(7, 4, &Guid::from_name("seed"), "a.sys").unwrap();
    vec![
        ("event", behind(&[event(&[], b"payload"), event(&[traits, schema], &[1, 0, 0, 0])])),
        ("stacks", behind(&[definition, event(&[stack, traits, schema], &[9; 4]), event(&[key], b"")])),
        ("others", behind(&[wpp, binary])),
    ]
}

/// A short INF with everything that a driver's INF has.
const DRIVER_INF: &str = r#"; A driver
[Version]
Signature = "$WINDOWS NT$"
Class = Sample
ClassGuid = {78A1C341-4539-11d3-B88D-00C04FAD5171}
Provider = %Maker%
CatalogFile = seed.cat
DriverVer = 01/02/2024,1.2.3.4
PnpLockdown = 1

[DestinationDirs]
DefaultDestDir = 13

[SourceDisksNames]
1 = %Disk%,,,""

[SourceDisksFiles]
seed.sys = 1,,

[Manufacturer]
%Maker% = Seeds, NTamd64.10.0...16299, NTarm64.10.0...16299

[Seeds.NTamd64.10.0...16299]
%Name% = Seed, ROOT\Seed, ROOT\Other
[Seeds.NTarm64.10.0...16299]
%Name% = Seed, ROOT\Seed

[Seed.NT]
CopyFiles = Files
[Files]
seed.sys

[Seed.NT.Services]
AddService = Seed, %SPSVCINST_ASSOCSERVICE%, Install \
    , Log
[Install]
DisplayName = %Name%
ServiceType = 1
StartType = 3
ErrorControl = 1
ServiceBinary = %13%\seed.sys
[Log]
AddReg = LogReg
[LogReg]
HKR,,TypesSupported,0x00010001,7

[Seed.NT.Wdf]
KmdfService = Seed, Wdf
[Wdf]
KmdfLibraryVersion = 1.33

[Strings]
SPSVCINST_ASSOCSERVICE = 0x00000002
Maker = "A ""maker"""
Disk = "Disk"
Name = "Seed"
"#;

fn infs() -> Vec<Made> {
    let mut wide = vec![0xFF, 0xFE];
    wide.extend("[Version]\r\nSignature = \"$Windows NT$\" ; ü\r\n".encode_utf16().flat_map(u16::to_le_bytes));
    let odd = b"[a]\nk = \"x\"\"y\", %t% \\\n , z\n[Strings]\nt = %t%%u%\n[A]\n%%%=,,\n".to_vec();
    vec![("driver", DRIVER_INF.into()), ("wide", wide), ("odd", odd)]
}

/// A manifest with everything that the decoder reads.
const MANIFEST: &str = r#"<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="P" guid="{11111111-2222-3333-4444-555555555555}" symbol="S" resourceFileName="r" messageFileName="m" message="$(string.A)">
<channels><channel chid="c" name="P/C" type="Debug" value="17"/></channels><levels><level name="L" value="16"/></levels>
<tasks><task name="T" value="3"><opcodes><opcode name="O" value="0x14"/></opcodes></task></tasks>
<keywords><keyword name="K" mask="0x10"/></keywords>
<maps><valueMap name="V"><map value="1" message="$(string.A)"/></valueMap><bitMap name="B"><map value="0x2" message="b"/></bitMap></maps>
<templates><template tid="t"><data name="N" inType="win:UInt16" map="V" outType="win:PID"/>
<data name="D" inType="win:Binary" length="N"/><data name="X" inType="win:UnicodeString" count="2" length="3"/>
<struct name="I" count="N"><data name="P" inType="win:Pointer" map="B"/></struct><UserData><E>%1</E></UserData></template></templates>
<events><event value="1" version="2" level="win:Error" task="T" opcode="O" channel="c" keywords="K" template="t" message="$(string.M)"/>
<event value="2" symbol="Z"/></events></provider></events></instrumentation>
<localization><resources culture="en-US"><stringTable><string id="A" value="a"/><string id="M" value="%1!x! %2%n"/></stringTable>
</resources></localization></instrumentationManifest>"#;

/// Messages with arguments of several kinds.
const TMF: &str = "// PDB: a.pdb\n0011aabb-2233-4455-6677-8899aabbccdd Driver // SRC=a.c\n\
    #typev a_c12 10 \"%0%!FUNC! %10!s! %11!08x! %12!s!\" //   LEVEL=INFO FLAGS=ALL FUNC=Open\n{\n\
    a, ItemPWString -- 10\nb, ItemULong -- 11\nc, ItemListLong(x,y) -- 12\n}\n";

/// A linker map with two functions of the driver in `images`.
const MAP: &str = " driver\n 0001:00000000       DriverEntry      0000000140001000 f   driver.obj\n \
    0001:00000010       FxDriverEntry    0000000140001010 f   stub.lib:stub.obj\n\n entry point at        0001:00000010\n";

/// A size, a description of this size, and a payload.
fn schemas() -> Vec<Made> {
    let behind =
        |info: &[u8], payload: &[u8]| [&u16::try_from(info.len()).unwrap().to_le_bytes()[..], info, payload].concat();
    vec![
        ("event-info", behind(&described::event_info(), &described::payload())),
        ("map-info", behind(&described::map_info(), &[])),
        ("chunk", behind(b"\x01\x01\0\x5b\x01\0\0\0<events/>", &[])),
        // The size is the hook id of a process that starts.
        ("process", [&[1, 3][..], &[0; 0x301], &[7; 36], &[0; 4], b"a.exe\0a\0\0\0"].concat()),
        // The size is the number of an event of a built-in provider, and its version: a network interface, and a method
        // of .NET that was compiled.
        ("interface", [&[36, 0][..], &[0; 36], &[1; 1352]].concat()),
        ("method", [&[143, 1][..], &[0; 0x18F], &[1; 36], b"N\0\0\0M\0\0\0(\0)\0\0\0", &[0; 2]].concat()),
    ]
}

/// The format and the decompressed size of a buffer, and its compressed bytes: literals and overlapping matches. The records are
/// messages without a header.
fn buffers() -> Vec<Made> {
    let record = [16, 0, 1, 0, 0, 0, 0, 0x90];
    let plain = [&[0x00, 0x80, 0x00, 0x00][..], &record, &record, &[0x38, 0x00]].concat();
    let chunk = [&[0x00][..], &record, &[0x01], &0x7005_u16.to_le_bytes()].concat();
    let header = (0xB000 | u16::try_from(chunk.len() - 1).unwrap()).to_le_bytes();
    vec![
        ("xpress", [&[3, 19, 0][..], &plain].concat()),
        ("lznt1", [&[2, 16, 0][..], &header, &chunk].concat()),
        ("huffman", [&[4, 26, 0][..], &huffman()].concat()),
    ]
}

/// The published example of XPRESS with Huffman codes: the alphabet.
fn huffman() -> Vec<u8> {
    let mut packed = vec![0; 256];
    for symbol in 97..=118_u16 {
        packed[usize::from(symbol / 2)] |= 5 << (4 * (symbol % 2));
    }
    for symbol in [119, 120, 121, 122, 256_u16] {
        packed[usize::from(symbol / 2)] |= 4 << (4 * (symbol % 2));
    }
    packed.extend([0xD8, 0x52, 0x3E, 0xD7, 0x94, 0x11, 0x5B, 0xE9, 0x19, 0x5F, 0xF9, 0xD6, 0x7C, 0xDF, 0x8D, 0x04]);
    packed.extend([0; 4]);
    packed
}

fn all() -> [(&'static str, Vec<Made>); 12] {
    [
        ("compressed", buffers()),
        ("manifest", vec![("everything", MANIFEST.into()), ("resource", described::resource()), ("tmf", TMF.into())]),
        ("schema", schemas()),
        ("record", records()),
        ("inf", infs()),
        ("tracelogging", [events(), vec![("walked-again", walked_again())]].concat()),
        ("traits", traits()),
        ("guid", guids()),
        ("pe", images()),
        ("unwind", tables()),
        ("pdb", vec![("small", symbols::pdb())]),
        ("map", vec![("driver", MAP.into())]),
    ]
}

#[test]
fn the_code_makes_the_committed_seeds() {
    for (target, seeds) in all() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        for (name, bytes) in seeds {
            let file = folder.join(name);
            if std::env::var_os("ETW_FUZZ_BLESS").is_some() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, &bytes).unwrap();
            }
            assert!(fs::read(&file).unwrap() == bytes, "{} differs", file.display());
        }
    }
}

#[test]
fn seeds_reach_code_after_the_first_check() {
    use etw_types::tracelogging::{Metadata, Visitor, decode};
    struct Nothing;
    impl Visitor<'_> for Nothing {}
    for (name, bytes) in events() {
        let (metadata, payload) = Metadata::parse(&bytes).unwrap();
        assert_eq!(decode(&metadata, payload, &mut Nothing), Ok(&[][..]), "{name}");
    }
    for (name, blob) in traits() {
        assert!(etw_types::traits::validate(&blob).is_ok(), "{name}");
    }
    for (name, records) in records() {
        let mut rest = &records[8..];
        while let Next::Record(_, size) = next(rest) {
            rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
        }
        assert!(rest.is_empty(), "{name}");
    }
    for (name, inf) in infs() {
        let text = driver_package::inf::Text::decode(&inf).unwrap();
        assert!(driver_package::inf::Inf::parse(&text.text).is_ok(), "{name}");
    }
    assert_eq!(pe_image::pdb::Msf::parse(&symbols::pdb()).unwrap().id(), Some(symbols::ID));
    let driver = pe_image::Image::parse(&Driver::default().build()).unwrap();
    assert_eq!(driver.entry_in(pe_image::LinkerMap::new(MAP)), Some("FxDriverEntry"));
    for (name, image) in images() {
        assert!(driver_package::Image::parse(&image).is_ok(), "{name}");
    }
}
