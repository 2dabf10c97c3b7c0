//! Captured packets are exported as a pcapng file, which is parsed here block by block and by dpkt.

use std::path::Path;
use std::process::Command;

use crate::common::{START, folder, options};
use etw_etl::decode::{Field, Node, Scalar};
use etw_etl::export::Pcapng;
use etw_etl::{Decoded, Decoder, Event, EventData, Reader, Writer};
use etw_types::{EventDescriptor, Guid, InType, Keyword, OutType};
use test_support::python;

const START_AND_END: u64 = 0xC000_0000;
const RECEIVED: u64 = 0x2_0000_0000;
const SENT: u64 = 0x1_0000_0000;

/// Returns an Ethernet frame with an IPv4 header and a UDP header, from 10.0.0.1 to port 53 of 10.0.0.2.
fn frame() -> Vec<u8> {
    let ethernet = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &[8, 0]].concat();
    let ip = [0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let udp = [0x30, 0x39, 0, 53, 0, 12, 0, 0, b'd', b'a', b't', b'a'];
    [&ethernet[..], &ip, &udp].concat()
}

/// Writes event 1001 of `Microsoft-Windows-NDIS-PacketCapture`.
fn fragment(writer: &mut Writer, time: u64, keyword: u64, bytes: &[u8]) {
    let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let payload = [&7_u32.to_le_bytes()[..], &8_u32.to_le_bytes(), &size, bytes].concat();
    let keyword = Keyword::from_bits(keyword);
    let descriptor = EventDescriptor { id: 1001, keyword, ..EventDescriptor::default() };
    let provider = Guid::parse("2ed6006e-4729-4609-b423-3ee7bcd678ef").unwrap();
    let event =
        EventData { provider, descriptor, payload: &payload, timestamp: time, thread_id: 9, ..EventData::default() };
    writer.write(0, &event).unwrap();
}

/// Writes event 160, version 0, of `Microsoft-Windows-PktMon`.
fn pktmon(writer: &mut Writer, time: u64, kind: u16, component: u16, drop_reason: u32, original: u16, bytes: &[u8]) {
    let half = |number: u16| number.to_le_bytes();
    let mut payload = 77_u64.to_le_bytes().to_vec();
    // Number, appearance, direction, type, component, edge, filter.
    for number in [1, 1, 1, kind, component, 1, 0] {
        payload.extend(half(number));
    }
    payload.extend([drop_reason.to_le_bytes(), 0_u32.to_le_bytes()].concat());
    payload.extend(half(original));
    payload.extend(half(u16::try_from(bytes.len()).unwrap()));
    payload.extend(bytes);
    let descriptor = EventDescriptor { id: 160, ..EventDescriptor::default() };
    let provider = Guid::parse("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac").unwrap();
    writer
        .write(0, &EventData { provider, descriptor, payload: &payload, timestamp: time, ..EventData::default() })
        .unwrap();
}

/// Exports the packets of a trace. Returns the file, and the number of packets and of those that were left out.
pub(crate) fn export(path: &Path) -> (Vec<u8>, (u64, u64)) {
    let mut reader = Reader::open(path).unwrap();
    let mut schemas = Decoder::from_reader(&reader, None);
    let mut pcapng = Pcapng::new(Vec::new()).unwrap();
    while let Some(event) = reader.next_ref() {
        let decoded = schemas.decode(&event);
        pcapng.event(&event, &decoded).unwrap();
    }
    let counts = pcapng.counts();
    (pcapng.finish().unwrap(), counts)
}

/// Returns kind and body of every block, and checks that the lengths before and after each block agree.
pub(crate) fn blocks(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(word(at + length - 4) as usize, length);
        blocks.push((word(at), file[at + 8..at + length - 4].to_vec()));
        at += length;
    }
    blocks
}

fn capture(name: &str) -> std::path::PathBuf {
    let path = folder("packets").join(name);
    let mut writer = Writer::create(&path, options()).unwrap();
    let bytes = frame();
    fragment(&mut writer, 1_000_000, START_AND_END | RECEIVED, &bytes);
    // A packet in three fragments.
    fragment(&mut writer, 1_000_010, 0x4000_0000 | SENT, &bytes[..10]);
    fragment(&mut writer, 1_000_011, SENT, &bytes[10..20]);
    fragment(&mut writer, 1_000_012, 0x8000_0000 | SENT, &bytes[20..]);
    // The start of a packet whose end is missing.
    fragment(&mut writer, 1_000_020, 0x4000_0000, &bytes[..10]);
    pktmon(&mut writer, 1_000_030, 1, 12, 0, 46, &bytes);
    pktmon(&mut writer, 1_000_031, 1, 13, 5, 1500, &bytes);
    pktmon(&mut writer, 1_000_032, 3, 13, 0, 32, &bytes[14..]);
    pktmon(&mut writer, 1_000_033, 4, 13, 0, 32, b"GET /");
    writer.close().unwrap();
    path
}

#[test]
fn packets_of_both_providers_are_written_with_their_interfaces() {
    let (file, counts) = export(&capture("a.etl"));
    assert_eq!(counts, (5, 1), "five packets, and one whose end is missing");
    let blocks = blocks(&file);
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [0x0A0D_0D0A, 1, 6, 6, 1, 6, 1, 6, 1, 6]);
    let links: Vec<u16> =
        blocks.iter().filter(|(kind, _)| *kind == 1).map(|(_, body)| u16::from_le_bytes([body[0], body[1]])).collect();
    assert_eq!(links, [1, 1, 1, 101], "Ethernet on three, IP on the last");
    let packets: Vec<&Vec<u8>> = blocks.iter().filter(|(kind, _)| *kind == 6).map(|(_, body)| body).collect();
    let word = |body: &[u8], at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
    let whole = frame();
    for packet in &packets[..3] {
        assert_eq!(word(packet, 12), 46);
        assert_eq!(&packet[20..20 + whole.len()], &whole[..]);
    }
    assert_eq!(word(packets[3], 12), 46, "captured, and on the wire");
    assert_eq!(word(packets[3], 16), 1500, "captured, and on the wire");
    assert!(String::from_utf8_lossy(packets[3]).contains("dropped, reason 5"));
    // Received, then sent: the option after the padded bytes.
    assert_eq!([packets[0], packets[1]].map(|packet| word(packet, 20 + 48 + 4)), [1, 2]);
}

/// Exports a trace, selecting the events of this place and later ones.
fn export_from(path: &Path, first: usize) -> (u64, u64) {
    let mut reader = Reader::open(path).unwrap();
    let mut schemas = Decoder::from_reader(&reader, None);
    let mut pcapng = Pcapng::new(Vec::new()).unwrap();
    let mut place = 0;
    while let Some(event) = reader.next_ref() {
        if !Pcapng::<Vec<u8>>::has_packet(&event) {
            continue;
        }
        let decoded = schemas.decode(&event);
        if place < first {
            pcapng.unselected(&event, &decoded).unwrap();
        } else {
            pcapng.event(&event, &decoded).unwrap();
        }
        place += 1;
    }
    pcapng.counts()
}

#[test]
fn a_packet_is_selected_by_its_last_fragment_and_has_all_of_them() {
    let path = capture("selected.etl");
    assert_eq!(export_from(&path, 1), (4, 1), "without the first packet");
    assert_eq!(export_from(&path, 2), (4, 1), "the selection begins inside the packet of three fragments");
    assert_eq!(export_from(&path, 3), (4, 1), "only its last fragment is selected");
    assert_eq!(export_from(&path, 4), (3, 1));
}

const NDISCAP: &str = "2ed6006e-4729-4609-b423-3ee7bcd678ef";
const PKTMON: &str = "4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac";

/// Returns an event of one of the providers, written by a thread.
fn event(provider: &str, id: u16, version: u8, keyword: u64, thread_id: u32, payload: &[u8]) -> Event {
    let descriptor =
        EventDescriptor { id, version, keyword: Keyword::from_bits(keyword), ..EventDescriptor::default() };
    let provider = Guid::parse(provider).unwrap();
    let timestamp = 1_000_000;
    let data = EventData { provider, descriptor, payload, thread_id, timestamp, ..EventData::default() };
    let mut record = vec![0; data.encoded_len()];
    data.encode(&mut record).unwrap();
    Event::from_record(&record, 0, &options().clock).unwrap()
}

/// Returns the event 1001 of thread 9 with a packet or a part of one.
fn captured(keyword: u64, thread: u32, bytes: &[u8]) -> Event {
    let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    event(NDISCAP, 1001, 0, keyword, thread, &[&7_u32.to_le_bytes()[..], &[0; 4], &size, bytes].concat())
}

/// How many packets were written and left out; and of each packet the link type, the direction and the bytes.
type Exported = ((u64, u64), Vec<(u16, u32, Vec<u8>)>);

/// Exports events with these fields.
fn exported(events: &[(Event, Decoded)]) -> Exported {
    let mut pcapng = Pcapng::new(Vec::new()).unwrap();
    for (event, decoded) in events {
        pcapng.event(&event.as_ref(), decoded).unwrap();
    }
    let counts = pcapng.counts();
    let mut links = Vec::new();
    let mut packets = Vec::new();
    for (kind, body) in blocks(&pcapng.finish().unwrap()) {
        let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        if kind == 1 {
            links.push(u16::from_le_bytes([body[0], body[1]]));
        } else if kind == 6 {
            let length = usize::try_from(word(12)).unwrap();
            let direction = word(20 + length.next_multiple_of(4) + 4);
            packets.push((links[usize::try_from(word(0)).unwrap()], direction, body[20..20 + length].to_vec()));
        }
    }
    (counts, packets)
}

/// Exports events whose layout is known without their fields.
fn packets(events: &[Event]) -> Exported {
    exported(&events.iter().map(|event| (event.clone(), Decoded::default())).collect::<Vec<_>>())
}

#[test]
fn keywords_give_the_link_and_the_direction() {
    for (keyword, link, direction) in [
        (0, 1, 0),
        (SENT, 1, 2),
        (RECEIVED, 1, 1),
        (SENT | RECEIVED, 1, 2),
        (0x200, 101, 0),
        (0x1_0000, 105, 0),
        (0x1_0200, 105, 0),
    ] {
        let (counts, found) = packets(&[captured(START_AND_END | keyword, 9, b"abc")]);
        assert_eq!(counts, (1, 0), "{keyword:#x}");
        assert_eq!(found, vec![(link, direction, b"abc".to_vec())], "{keyword:#x}");
    }
}

#[test]
fn fragments_are_joined_for_each_thread() {
    let start = 0x4000_0000;
    let end = 0x8000_0000;
    let found = packets(&[
        captured(start, 1, b"a"),
        captured(start, 2, b"x"),
        captured(0, 1, b"b"),
        captured(end, 2, b"y"),
        captured(end, 1, b"c"),
    ]);
    assert_eq!(found, ((2, 0), vec![(1, 0, b"xy".to_vec()), (1, 0, b"abc".to_vec())]));
    // A start replaces one without an end, and an end without a start is left out.
    let found =
        packets(&[captured(start, 1, b"a"), captured(start, 1, b"b"), captured(end, 1, b"c"), captured(end, 1, b"d")]);
    assert_eq!(found, ((1, 2), vec![(1, 0, b"bc".to_vec())]));
    let found = packets(&[captured(start, 1, b"a"), captured(START_AND_END, 1, b"b"), captured(0, 1, b"c")]);
    assert_eq!(found, ((1, 1), vec![(1, 0, b"b".to_vec())]));
}

#[test]
fn a_packet_of_fragments_has_a_largest_size() {
    let part = vec![7; 0x8000];
    let parts = |more: &[u8]| {
        let mut events = vec![captured(0x4000_0000, 1, &part)];
        events.extend((0..7).map(|_| captured(0, 1, &part)));
        events.push(captured(0x8000_0000, 1, more));
        let (counts, found) = packets(&events);
        (counts, found.iter().map(|(.., bytes)| bytes.len()).collect::<Vec<_>>())
    };
    assert_eq!(parts(b""), ((1, 0), vec![256 * 1024]));
    assert_eq!(parts(b"x"), ((0, 1), vec![]));
}

fn field(name: &str, value: Scalar) -> Field {
    Field { name: name.into(), tag: 0, in_type: InType::Binary, out_type: OutType::Default, node: Node::Value(value) }
}

#[test]
fn other_layouts_are_read_by_the_names_of_their_fields() {
    let fragment = Decoded { fields: vec![field("Fragment", Scalar::Word("09afc0".into()))], ..Decoded::default() };
    let whole = event(NDISCAP, 1003, 0, START_AND_END, 9, &[7, 0, 0, 0]);
    assert_eq!(exported(&[(whole.clone(), fragment)]), ((1, 0), vec![(1, 0, vec![0x09, 0xAF, 0xC0])]));
    assert_eq!(packets(&[whole, event(NDISCAP, 1002, 0, START_AND_END, 9, &[0; 12])]), ((0, 0), vec![]));
    let monitored = |kind: i128, payload: Scalar| {
        let number = |name, number| field(name, Scalar::Integer(number));
        let fields = vec![
            number("PacketType", kind),
            number("ComponentId", 5),
            number("OriginalPayloadSize", 3),
            field("Payload", payload),
        ];
        let decoded = Decoded { fields, ..Decoded::default() };
        exported(&[(event(PKTMON, 160, 1, 0, 9, &[]), decoded)]).1
    };
    let bytes = || Scalar::Word("0102".into());
    for (kind, link) in [(1, 1), (2, 105), (3, 101)] {
        assert_eq!(monitored(kind, bytes()), [(link, 0, vec![1, 2])]);
    }
    assert_eq!(monitored(4, bytes()), vec![]);
    assert_eq!(monitored(1 << 32, bytes()), vec![]);
    assert_eq!(monitored(1, Scalar::Word("0x".into())), vec![]);
    assert_eq!(monitored(1, Scalar::Integer(1)), vec![]);
    assert_eq!(packets(&[event(PKTMON, 161, 0, 0, 9, &[0; 40])]), ((0, 0), vec![]));
}

#[test]
fn dpkt_reads_the_packets() {
    let path = folder("packets").join("a.pcapng");
    std::fs::write(&path, export(&capture("b.etl")).0).unwrap();
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etw-etl-dpkt");
    let python = match python(&environment, "dpkt", &["dpkt==1.9.8"], 15) {
        Ok(python) => python,
        Err(reason) => {
            println!("skipped: no Python with dpkt: {reason}");
            return;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/dpkt_reader.py");
    let output = Command::new(python).arg(script).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["packets"].as_array().unwrap().len(), 5);
    assert_eq!(found["source"], "10.0.0.1");
    assert_eq!(found["port"], 53);
    assert_eq!(found["link"], 1);
    let seconds = (START.0 - 116_444_736_000_000_000) / 10_000_000;
    assert_eq!(found["packets"][0][0], format!("{seconds}.0000"));
}
