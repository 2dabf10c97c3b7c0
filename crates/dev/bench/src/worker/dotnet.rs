//! Creates a trace of the .NET runtime like that of a profiler: compiled and described methods, loaded types, allocations, locks,
//! exceptions, and the stacks of these.

use std::path::Path;

use etw_etl::{Buffer, EventData, Writer, WriterOptions};
use etw_types::{EventDescriptor, Guid, Keyword, Level};
use serde_json::{Value, json};

const BUFFER: u32 = 64 * 1024;
const RUNTIME: Guid = Guid::from_u128(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
/// Number of methods and types.
const METHODS: u64 = 4000;
const CODE: u64 = 0x7FF8_1234_0000;

/// Id, version and data of the events about one method.
fn events(number: u64) -> Vec<(u16, u8, Vec<u8>)> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let short = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let wide = |text: &str| text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let instance = [9, 0];
    let method = number % METHODS;
    let id = CODE + 0x1_0000_0000 + 8 * method;
    let module = CODE + 0x2_0000_0000;
    let code = CODE + 0x400 * method;
    let [low, high] = [method % 100, method / 100];
    let class = wide(&format!("Contoso.Services.Namespace{high}.Component"));
    let name = wide(&format!("Execute{method}Async"));
    let signature = wide(&format!("instance class System.Threading.Tasks.Task`1<int32>  (string,int{low})"));
    let names = [class.as_slice(), &name, &signature].concat();
    let kind = wide(&format!("Contoso.Services.Namespace{high}.Component+State{low}"));
    // Between 8 and 23 frames.
    let frames: Vec<u64> =
        (0..8 + number % 16).map(|frame| CODE + 0x400 * ((number + 7 * frame) % METHODS) + 0x40).collect();
    let count = u32::try_from(frames.len()).unwrap_or_default();
    let stack = [&instance[..], &[0; 2], &count.to_le_bytes(), &words(&frames)].concat();
    let low_word = u32::try_from(method).unwrap_or_default();
    let jit = [&words(&[id, module])[..], &short(&[0x0600_0001 + low_word, 120]), &names, &instance].concat();
    let load =
        [&words(&[id, module, code])[..], &short(&[0x180, 0x0600_0001 + low_word, 1]), &names, &instance].concat();
    let rundown = [load.as_slice(), &words(&[0])].concat();
    let tick =
        [&short(&[0x19_000, low_word % 2])[..], &instance, &words(&[0x19_000 + method, id]), &kind, &short(&[0])]
            .concat();
    let contention = [&[0][..], &instance].concat();
    let exception = [
        wide("System.IO.IOException"),
        wide("The file is in use."),
        words(&[code]),
        short(&[0x8007_0020]),
        vec![0x10, 0],
        vec![9, 0],
    ];
    let mut events = vec![
        (145, 1, jit),
        (143, 1, load),
        (82, 0, stack.clone()),
        (143, 2, rundown),
        (73, 0, [&short(&[low_word])[..], &instance].concat()),
        (74, 0, [&short(&[low_word])[..], &instance, &[4, 0], &words(&[id]), &kind].concat()),
        (10, 2, tick),
        (82, 0, stack.clone()),
    ];
    if number.is_multiple_of(4) {
        events.extend([(81, 1, contention.clone()), (82, 0, stack), (91, 0, contention)]);
    }
    if number.is_multiple_of(32) {
        events.push((80, 1, exception.concat()));
    }
    events
}

/// Writes a file of about this many bytes.
pub(super) fn generate(bytes: u64, file: &Path) -> Result<Value, String> {
    let text = |error: etw_etl::Error| error.to_string();
    let options = WriterOptions { buffer_size: BUFFER, ..WriterOptions::default() };
    let mut writer = Writer::create(file, options).map_err(text)?;
    let mut stamp = 0_u64;
    let mut buffers = 0;
    let mut buffer = Buffer::new(BUFFER, 0);
    'file: for number in 0.. {
        for (id, version, payload) in events(number) {
            stamp += 1;
            let level = if id == 80 { Level::Error } else { Level::Verbose };
            let keyword = Keyword::from_bits(0x30);
            let descriptor = EventDescriptor { id, version, level, keyword, ..EventDescriptor::default() };
            let thread_id = 0x1000 + u32::try_from(number % 8).unwrap_or_default();
            let data = EventData {
                provider: RUNTIME,
                descriptor,
                thread_id,
                process_id: 0xDAC,
                timestamp: stamp,
                payload: &payload,
                ..EventData::default()
            };
            if buffer.push(&data).is_err() {
                writer.write_buffer(&mut buffer, stamp).map_err(text)?;
                buffers += 1;
                if buffers >= bytes / u64::from(BUFFER) {
                    break 'file;
                }
                buffer.push(&data).map_err(|error| format!("{error:?}"))?;
            }
        }
    }
    writer.close().map_err(text)?;
    Ok(json!({ "events": stamp }))
}
