//! Traces that the tests share, created by the writer. They are always the same bytes.

pub(crate) mod exports;
mod named;

use std::fs;
use std::path::{Path, PathBuf};

use etw_etl::{Clock, ClockKind, EventData, ExtendedItem, ExtendedType, FileMode, FileTime, Writer, WriterOptions};
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, EventDescriptor, Guid, InType, Keyword, Level, Opcode, OutType};

/// 2024-05-06T07:08:09Z.
pub(crate) const START: FileTime = FileTime(133_594_528_890_000_000);
/// The traits of the test provider.
pub(crate) fn traits() -> Vec<u8> {
    let name = b"Wdk.Etw.Etl\0";
    [&u16::try_from(name.len() + 2).unwrap().to_le_bytes()[..], name].concat()
}

pub(crate) fn provider() -> Guid {
    Guid::from_name("Wdk.Etw.Etl")
}

/// Creates a folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etw-etl").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the folder with files captured on Windows. Prints a message and returns `None` if it does not exist.
pub(crate) fn genuine() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data/etl");
    if folder.is_dir() {
        Some(folder)
    } else {
        println!("skipped: there are no captured traces in {}", folder.display());
        None
    }
}

pub(crate) fn options() -> WriterOptions {
    WriterOptions {
        session_name: "test session".into(),
        file_name: Some("C:\\trace.etl".into()),
        buffer_size: 1024,
        processors: 4,
        clock: Clock {
            kind: ClockKind::PerformanceCounter,
            frequency: 10_000_000,
            start: START,
            start_stamp: 1_000_000,
        },
        boot_time: FileTime(START.0 - 1_000_000),
        process_id: 4,
        thread_id: 8,
        ..WriterOptions::default()
    }
}

pub(crate) fn descriptor() -> EventDescriptor {
    EventDescriptor::new(Level::Informational, Keyword::from_bits(0x0000_4000_0000_0002))
        .with_channel(Channel::TraceLogging)
}

/// Writes a TraceLogging event.
pub(crate) fn write(
    writer: &mut Writer,
    cpu: u16,
    timestamp: u64,
    name: &str,
    build: impl FnOnce(EventBuilder<'_>) -> EventBuilder<'_>,
) {
    let mut metadata = vec![0; 8192];
    let mut payload = vec![0; 8192];
    let (metadata, payload) = build(EventBuilder::new(&mut metadata, &mut payload, name, 0)).finish().unwrap();
    let traits = traits();
    let items = ExtendedItem::trace_logging(&traits, metadata);
    let event = EventData {
        provider: provider(),
        descriptor: descriptor(),
        thread_id: 100 + u32::from(cpu),
        process_id: 4,
        timestamp,
        items: &items,
        payload,
        ..EventData::default()
    };
    writer.write(cpu, &event).unwrap();
}

/// Writes events that every third-party reader understands.
pub(crate) fn write_simple(path: &Path) {
    let mut writer = Writer::create(path, options()).unwrap();
    for number in 0..20_u32 {
        let cpu = u16::try_from(number % 3).unwrap();
        write(&mut writer, cpu, 1_000_100 + u64::from(number) * 10, &format!("Simple{}", number % 2), |builder| {
            let name = format!("name {number}\0");
            let text = format!("text {number}");
            builder
                .u32("Number", number)
                .i16("Signed", -5)
                .u64("Large", u64::MAX - u64::from(number))
                .field("Name", InType::CStr8, OutType::Default, 0, name.as_bytes())
                .str8("Text", &text)
        });
    }
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();
}

/// Writes every encoding and many out types, structs, arrays and tags.
pub(crate) fn write_types(path: &Path) {
    let mut writer = Writer::create(path, WriterOptions { buffer_size: 4096, ..options() }).unwrap();
    let sid = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0];
    write(&mut writer, 0, 1_000_010, "Types", |builder| {
        builder
            .field("utf16z", InType::CStr16, OutType::Default, 0, b"z\0\0\0")
            .field("ansiz", InType::CStr8, OutType::Default, 0, b"z\0")
            .i8("i8", -1)
            .u8("u8", 1)
            .i16("i16", -2)
            .u16("u16", 2)
            .i32("i32", -3)
            .u32("u32", 3)
            .i64("i64", i64::MIN)
            .u64("u64", u64::MAX)
            .f32("f32", f32::NAN)
            .f64("f64", 0.1)
            .field("bool32", InType::Bool32, OutType::Default, 0, &[1, 0, 0, 0])
            .binary("binary", &[1, 2, 3])
            .counted("binaryc", InType::BinaryC, OutType::IPv6, 0, &[0; 16])
            .guid("guid", &provider())
            .filetime("filetime", START.0)
            .field("systemtime", InType::SystemTime, OutType::Default, 0, &[0; 16])
            .field("sid", InType::Sid, OutType::Default, 0, &sid)
            .hex32("hex32", 0x10)
            .hex64("hex64", u64::MAX)
            .str16("str16", &[0x61, 0xD800])
            .counted("str8", InType::Str8, OutType::Default, 0, &[0xFF])
            .ntstatus("status", 0xC000_00BB)
            .field("port", InType::U16, OutType::Port, 0x1_0000, &[0, 80])
            .array("array", InType::U16, OutType::Hex, 0, 3, &[1, 0, 2, 0, 3, 0])
            .array("strings", InType::CStr8, OutType::Default, 0, 2, b"a\0b\0")
            .structure("struct", 2, 0)
            .bool8("flag", true)
            .structure("inner", 1, 0x0FFF_FFFF)
            .u8("deep", 9)
    });
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();
}

/// Writes other kinds of events: TraceLogging metadata in the payload, a manifest event with a stack, a string, an activity.
pub(crate) fn write_kinds(path: &Path) {
    let mut writer = Writer::create(path, options()).unwrap();
    let in_payload = [&traits()[..], b"\x08\x00\x00E\0a\0\x04", &[7]].concat();
    let related = Guid::from_u128(2).to_bytes_le();
    let stack = [[0; 8], [0x11; 8], [0x22; 8]].concat();
    let items = [
        ExtendedItem { kind: ExtendedType::RELATED_ACTIVITY_ID, data: &related },
        ExtendedItem { kind: ExtendedType::STACK_TRACE64, data: &stack },
    ];
    let base = EventData { provider: provider(), thread_id: 1, process_id: 2, ..EventData::default() };
    let manifest = EventDescriptor { id: 17, version: 2, task: 3, ..EventDescriptor::default() };
    for (stamp, event) in (1_000_000..).zip([
        EventData { descriptor: descriptor(), payload: &in_payload, ..base },
        EventData { descriptor: manifest, items: &items, payload: b"\x01\x02", ..base },
        EventData { flags: 4, payload: b"h\0i\0\0\0", ..base },
        EventData { descriptor: manifest.with_opcode(Opcode::Start), activity: Guid::from_u128(1), ..base },
        EventData { descriptor: manifest.with_opcode(Opcode::Stop), activity: Guid::from_u128(1), ..base },
        EventData { is_32_bit: true, flags: 0x100, payload: &[0; 9], ..base },
    ]) {
        writer.write(1, &EventData { timestamp: stamp, ..event }).unwrap();
    }
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();
}

/// Writes a circular file that was overwritten more than once.
pub(crate) fn write_circular(path: &Path) {
    let mode = FileMode::Circular { max_bytes: 4096 };
    let mut writer = Writer::create(path, WriterOptions { mode, ..options() }).unwrap();
    for number in 0..60_u32 {
        write(&mut writer, 0, 1_000_000 + u64::from(number), "Ring", |builder| builder.u32("Number", number));
    }
    writer.close_at(FileTime(START.0 + 10_000_000)).unwrap();
}

/// Writes a trace to a path.
pub(crate) type Maker = fn(&Path);

/// The committed corpus: the name of each file and the function that creates it.
pub(crate) const CORPUS: [(&str, Maker); 5] = [
    ("circular.etl", write_circular),
    ("kinds.etl", write_kinds),
    ("named.etl", named::write_named),
    ("simple.etl", write_simple),
    ("types.etl", write_types),
];

pub(crate) fn corpus_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)
}
