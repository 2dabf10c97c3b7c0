//! Captured packets are exported as a pcapng file, which is parsed here block by block and by dpkt.
#![cfg(test)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{START, folder, options};
use etw_etl::export::Pcapng;
use etw_etl::{Decoder, EventData, Reader, Writer};
use etw_types::{EventDescriptor, Guid, Keyword};
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

fn export(path: &Path) -> (Vec<u8>, (u64, u64)) {
    let mut reader = Reader::open(path).unwrap();
    let mut schemas = Decoder::of(&reader, None);
    let mut pcapng = Pcapng::new(Vec::new()).unwrap();
    while let Some(event) = reader.next_ref() {
        let decoded = schemas.decode(&event);
        pcapng.event(&event, &decoded).unwrap();
    }
    let counts = pcapng.counts();
    (pcapng.finish().unwrap(), counts)
}

/// Returns kind and body of every block, and checks that the lengths before and after each block agree.
fn blocks(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert_eq!((length % 4, word(at + length - 4) as usize), (0, length));
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
        assert_eq!((word(packet, 12), &packet[20..20 + whole.len()]), (46, &whole[..]));
    }
    assert_eq!((word(packets[3], 12), word(packets[3], 16)), (46, 1500), "captured, and on the wire");
    assert!(String::from_utf8_lossy(packets[3]).contains("dropped, reason 5"));
    // Received, then sent: the option after the padded bytes.
    assert_eq!([packets[0], packets[1]].map(|packet| word(packet, 20 + 48 + 4)), [1, 2]);
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
    assert_eq!((&found["source"], &found["port"], &found["link"]), (&"10.0.0.1".into(), &53.into(), &1.into()));
    let seconds = (START.0 - 116_444_736_000_000_000) / 10_000_000;
    assert_eq!(found["packets"][0][0], format!("{seconds}.0000"));
}
