//! Creates a trace of kernel events like that of a profiler: samples, context switches, disk requests, stacks, images,
//! processes.

use std::path::Path;

use etw_etl::format::classic::{PERFINFO_SIZE, SYSTEM_SIZE, SystemHeader, TYPE_PERFINFO_64, TYPE_SYSTEM_64};
use etw_etl::{Buffer, Writer, WriterOptions};
use serde_json::{Value, json};

const BUFFER: u32 = 64 * 1024;
const HOOK_SAMPLE: u16 = 0x0F2E;
const HOOK_STACK: u16 = 0x1820;

/// Returns hook id, version, whether the header has a thread, and data of each event, in the proportions of a sampled
/// system.
fn events() -> Vec<(u16, u16, bool, Vec<u8>)> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let wide = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let sample = words(&[0xFFFF_F800_1234_5678, 0x1_0000_0DAC]);
    let switch = words(&[0x0DAC_0000_0D10, 0x0000_0008_0A08, 0x0000_0007]);
    let stack = words(&[1_000_000, 0x0DAC_0000_0004, 0xFFFF_F800_1234_5678, 0xFFFF_F800_1234_0000, 0x7FF6_0000_1000]);
    let disk =
        [words(&[0x0006_0043_0000_0000, 0x1000, 0x1_2345_6000, 0xFFFF_8A00, 0xFFFF_FA83, 4711]), vec![0; 4]].concat();
    let image = [
        words(&[0x7FF6_0000_0000, 0x8000, 0x1234_0000_0004, 0x5678, 0x1_4000_0000, 0, 0]),
        wide("\\Device\\Disk\\driver.sys"),
    ];
    let user = [&[0; 4][..], b"driver.exe\0"].concat();
    let process = [
        words(&[0xFFFF_FA83_0000_1000, 0x0004_0000_0DAC, 1, 0x1000]),
        vec![0; 4],
        user,
        wide("driver.exe -v"),
        wide(""),
        wide(""),
    ];
    let mut events = Vec::new();
    for number in 0..64 {
        events.push((HOOK_SAMPLE, 2, false, sample.clone()));
        events.push((0x0524, 3, false, switch.clone()));
        if number % 4 == 0 {
            events.push((HOOK_STACK, 2, false, stack.clone()));
            events.push((0x010A, 3, true, disk.clone()));
        }
        if number % 32 == 0 {
            events.push((0x1403, 3, true, image.concat()));
            events.push((0x0303, 4, true, process.concat()));
        }
    }
    events
}

/// Writes a file of about this many bytes.
pub(super) fn generate(bytes: u64, file: &Path) -> Result<Value, String> {
    let text = |error: etw_etl::Error| error.to_string();
    let mut writer =
        Writer::create(file, WriterOptions { buffer_size: BUFFER, ..WriterOptions::default() }).map_err(text)?;
    let events = events();
    let mut stamp = 0_u64;
    let mut sampled = 0_u64;
    let mut count = 0_u64;
    for _ in 0..bytes / u64::from(BUFFER) {
        let mut buffer = Buffer::new(BUFFER, 0);
        for (hook_id, version, has_thread, data) in events.iter().cycle() {
            stamp += 1;
            let header_size = if *has_thread { SYSTEM_SIZE } else { PERFINFO_SIZE };
            let size = u16::try_from(header_size + data.len()).map_err(|error| error.to_string())?;
            let header_type = if *has_thread { TYPE_SYSTEM_64 } else { TYPE_PERFINFO_64 };
            let thread_id = has_thread.then_some(8);
            let version = *version;
            let hook_id = *hook_id;
            let process_id = thread_id;
            let header = SystemHeader {
                version,
                header_type,
                size,
                hook_id,
                thread_id,
                process_id,
                timestamp: stamp,
                ..SystemHeader::default()
            };
            let mut record = if *has_thread { header.to_bytes().to_vec() } else { header.to_perfinfo_bytes().to_vec() };
            record.extend(data);
            if hook_id == HOOK_STACK {
                // The stack belongs to the previous sample.
                record.splice(PERFINFO_SIZE..PERFINFO_SIZE + 8, sampled.to_le_bytes());
            } else if hook_id == HOOK_SAMPLE {
                sampled = stamp;
            }
            if buffer.push_record(&record, stamp).is_err() {
                break;
            }
            count += 1;
        }
        writer.write_buffer(&mut buffer, stamp).map_err(text)?;
    }
    writer.close().map_err(text)?;
    Ok(json!({ "events": count }))
}
