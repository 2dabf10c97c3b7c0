//! Texts of Windows: what `pktmon format` and `tracerpt` say about captured traces.
//!
//! `PKTMON_TRACES` names a folder of traces `NAME.etl` with their texts: `NAME.txt` from `pktmon format` (UTF-16), and
//! `NAME.summary.txt` from `tracerpt -summary`; each text may be missing. Without the folder, the test says so and passes. The history
//! of nathaniel-security/microsoft-pktmon-VPN-capture-traffic on GitHub has three traces with such texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::packets::{blocks, export};
use etw_etl::{Decoder, Event, Reader};
use etw_types::Guid;

const PKTMON: &str = "Microsoft-Windows-PktMon";
/// The event with a packet.
const PACKET: u16 = 160;

/// A line of `pktmon format`: `[cpu]process.thread::time [provider] message`, and the summary of a packet in the next line.
#[derive(Debug)]
struct Line<'a> {
    processor: u16,
    process: u32,
    thread: u32,
    /// The local time, in nanoseconds: `57.540859300` are the seconds of a minute.
    second: &'a str,
    message: &'a str,
    summary: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<(&'a str, Self)> {
        let (processor, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (ids, rest) = rest.split_once("::")?;
        let (process, thread) = ids.split_once('.')?;
        let (time, rest) = rest.split_once(" [")?;
        let (provider, message) = rest.split_once("] ")?;
        let hexadecimal = |text| u32::from_str_radix(text, 16).ok();
        let line = Self {
            processor: processor.parse().ok()?,
            process: hexadecimal(process)?,
            thread: hexadecimal(thread)?,
            second: time.rsplit(':').next()?,
            message,
            summary: None,
        };
        Some((provider, line))
    }
}

/// Parses the lines of a provider. A line that begins with a tab belongs to the one before.
fn lines<'a>(text: &'a str, of: &str) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix('\t'), lines.last_mut()) {
            (Some(summary), Some(last)) => last.summary = Some(summary),
            _ => lines.extend(Line::parse(line).filter(|(provider, _)| *provider == of).map(|(_, line)| line)),
        }
    }
    lines
}

/// The words of a message. Windows has a space after the names of values.
fn words(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ").replace(" ,", ",")
}

/// The addresses and the length of an Ethernet frame, as in `00-11-22-33-44-55 > 66-77-88-99-AA-BB, ethertype IPv4 (0x0800), length 92: …`.
fn ethernet(summary: &str) -> Option<(Vec<u8>, u32)> {
    let (addresses, rest) = summary.split_once(", ethertype ")?;
    let (from, to) = addresses.split_once(" > ")?;
    let (_, length) = rest.split_once(", length ")?;
    let bytes = |address: &str| -> Option<Vec<u8>> {
        address.split('-').map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
    };
    Some(([bytes(to)?, bytes(from)?].concat(), length.split(':').next()?.parse().ok()?))
}

/// Compares events and packets with the text of `pktmon format`. Returns how many of both were compared.
fn compare_text(trace: &Path, text: &str) -> (usize, usize) {
    let lines = lines(text, PKTMON);
    let mut reader = Reader::open(trace).unwrap();
    let mut decoder = Decoder::from_reader(&reader, None);
    let of_pktmon: Vec<(Event, _)> = reader
        .by_ref()
        .map(|event| (decoder.decode(&event.as_ref()), event))
        .filter(|(tree, _)| tree.provider.as_deref() == Some(PKTMON))
        .map(|(tree, event)| (event, tree))
        .collect();
    assert_eq!(of_pktmon.len(), lines.len(), "{}", trace.display());
    let (file, (packets, left_out)) = export(trace);
    let blocks = blocks(&file);
    let mut exported = blocks.iter().filter(|(kind, _)| *kind == 6).map(|(_, body)| body.as_slice());
    let mut frames = 0;
    for ((event, tree), line) in of_pktmon.iter().zip(&lines) {
        let header = &event.header;
        assert_eq!(header.cpu, line.processor);
        assert_eq!(header.process_id, Some(line.process));
        assert_eq!(header.thread_id, Some(line.thread));
        assert_eq!(header.time.0.rem_euclid(600_000_000) * 100, nanoseconds(line.second), "{line:?}");
        assert_eq!(words(&tree.message().unwrap_or_default()), words(line.message));
        if header.descriptor.id != PACKET {
            continue;
        }
        let packet = exported.next().expect("a packet of each event");
        let Some((addresses, length)) = line.summary.and_then(ethernet) else { continue };
        assert_eq!(packet[20..32], addresses, "{line:?}");
        assert_eq!(packet[16..20], length.to_le_bytes(), "{line:?}");
        frames += 1;
    }
    assert_eq!(exported.next(), None, "{packets} packets");
    assert_eq!(left_out, 0, "{packets} packets");
    (of_pktmon.len(), frames)
}

/// The nanoseconds of a minute, from its seconds with nine decimals.
fn nanoseconds(second: &str) -> i64 {
    second.replace('.', "").parse().unwrap()
}

/// Compares the numbers of events with the second table of a summary of `tracerpt`: by provider, id and version.
fn compare_summary(trace: &Path, summary: &str) -> usize {
    let mut counts = BTreeMap::<(String, u16, u8), u64>::new();
    for event in Reader::open(trace).unwrap() {
        let class = event.as_ref().class().map(|class| class.to_string()).unwrap_or_default();
        let descriptor = &event.header.descriptor;
        // A kernel event has its hook id in place of the id.
        let id = if event.header.provider.is_none() { 0 } else { descriptor.id };
        *counts.entry((class, id, descriptor.version)).or_default() += 1;
    }
    let mut expected = BTreeMap::new();
    let rows = summary.lines().skip_while(|line| !line.contains("Event ID")).filter_map(|line| line.split_once('{'));
    for (row, provider) in rows {
        let provider = Guid::parse(provider.split('}').next().unwrap()).unwrap().to_string();
        let mut cells = row.trim_start_matches('|').split_whitespace();
        let count: u64 = cells.next().unwrap().parse().unwrap();
        let version: u8 = cells.next_back().unwrap().parse().unwrap();
        let id: u16 = cells.next_back().unwrap().parse().unwrap();
        expected.insert((provider, id, version), count);
    }
    assert_eq!(counts, expected, "{}", trace.display());
    expected.len()
}

#[test]
fn messages_packets_and_counts_are_those_of_windows() {
    let Some(folder) = std::env::var_os("PKTMON_TRACES") else {
        println!("skipped: PKTMON_TRACES does not name a folder of traces with texts of pktmon");
        return;
    };
    let mut events = 0;
    let mut frames = 0;
    let mut kinds = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let trace = entry.unwrap().path();
        if trace.extension().is_none_or(|extension| extension != "etl") {
            continue;
        }
        if let Ok(bytes) = fs::read(trace.with_extension("txt")) {
            let units: Vec<u16> = bytes.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
            let compared = compare_text(&trace, &String::from_utf16_lossy(&units));
            (events, frames) = (events + compared.0, frames + compared.1);
        }
        if let Ok(summary) = fs::read_to_string(trace.with_extension("summary.txt")) {
            kinds += compare_summary(&trace, &summary);
        }
    }
    println!("{events} events, {frames} frames and {kinds} numbers of events are the same");
    assert!(events > 0, "there is no trace with its text");
    assert!(frames > 0, "there is no trace with its text");
}
