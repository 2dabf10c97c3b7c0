//! `trim`: a part of a trace, or several traces as one, as an .etl file.

use std::collections::HashMap;

use command_line::Outputs;
use etw_etl::format::record::Layout;
use etw_etl::{Buffer, Clock, Error, EventRef, FileTime, Writer, WriterOptions};
use etw_types::Guid;

use super::schemas;
use crate::cli::Trim;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::new_file;
use crate::select::Selection;
use crate::values::counted;

/// Classes and providers whose events describe other events: schemas, images, volumes, methods of the .NET runtime.
const DESCRIPTIONS: [Guid; 4] = [
    Guid::from_u128(0xbbcc_f6c1_6cd1_48c4_80ff_8394_82e3_7671),
    Guid::from_u128(0xb3e6_75d7_2554_4f18_830b_2762_7325_60de),
    Guid::from_u128(0x9b79_ee91_b5fd_41c0_a243_4248_e266_e9d0),
    Guid::from_u128(0xa669_021c_c450_4609_a035_5af5_9af4_df18),
];
/// The id of an `EventSource` event with a part of its manifest.
const MANIFEST: u16 = 0xFFFE;
/// The hook id of the record that begins a file. The writer writes its own.
const FILE_HEADER: u16 = 0;

/// What an event is for, apart from the selection.
enum Use {
    /// It describes other events and is always kept.
    Description,
    /// It is the stack of an event at this time stamp.
    Stack(u64),
    /// It belongs to the file that is read.
    FileHeader,
    Event,
}

impl Use {
    fn new(event: &EventRef<'_>) -> Self {
        let id = event.header.descriptor.id;
        if !matches!(event.header.layout, Layout::System | Layout::Compact | Layout::PerfInfo) {
            let is_description = event.header.provider.is_some_and(|guid| DESCRIPTIONS.contains(&guid));
            return if is_description || id == MANIFEST { Self::Description } else { Self::Event };
        }
        match id {
            FILE_HEADER => Self::FileHeader,
            // Stacks: addresses, and references to definitions.
            0x1820 | 0x1825 | 0x1826 => {
                Self::Stack(event.payload().first_chunk().map_or(0, |stamp| u64::from_le_bytes(*stamp)))
            }
            // Processes and images, threads, names of files, keys of the registry, the configuration, definitions of stacks.
            0x0001..=0x00FF
            | 0x0300..=0x03FF
            | 0x0501..=0x0504
            | 0x0548
            | 0x0400
            | 0x0420
            | 0x0423
            | 0x0424
            | 0x0916
            | 0x0918
            | 0x0919
            | 0x0B00..=0x0BFF
            | 0x1400..=0x14FF
            | 0x1822..=0x1824 => Self::Description,
            _ => Self::Event,
        }
    }
}

/// Returns whether an event describes others, whenever it was written, instead of something that happened at its time.
pub(super) fn describes(event: &EventRef<'_>) -> bool {
    !matches!(Use::new(event), Use::Event)
}

/// Writes the selected events, with what describes them, to a new trace.
pub(super) fn trim(context: &Context<'_>, line: &Trim) -> Result<(), Failure> {
    let inputs = schemas::inputs(&line.schemas).files(&line.files).and(&context.inputs);
    let output = Outputs::new(inputs).file("--output", &line.output)?;
    let path = output.as_ref();
    let files = schemas::files(&line.schemas)?;
    let mut traces = Traces::open(&line.files, &files, Progress::new(false), false)?;
    let (options, clock) = options(&traces)?;
    let options = WriterOptions { file_name: Some(path.to_string_lossy().into_owned()), ..options };
    let buffer_size = options.buffer_size;
    let (file, _partial) = new_file(&output)?;
    // Errors name the path that the file will have.
    let named = |error: Error| error.about(path);
    let mut writer = Writer::create(file.beside(), options).map_err(named)?;
    let mut buffers: HashMap<(u16, u16), Buffer> = HashMap::new();
    let mut selection = Selection::from_args(&line.selected).start(traces.next_time().unwrap_or_default());
    let (mut selected, mut read, mut last) = (0_u64, 0_u64, FileTime(0));
    while let Some((event, decoder)) = traces.next() {
        read += 1;
        let is_possible = selection.may_take(&event);
        let is_taken = match Use::new(&event) {
            Use::FileHeader => false,
            Use::Description => true,
            Use::Stack(stamp) => selection.has_time(clock.time(stamp)),
            Use::Event => {
                let is_selected = is_possible && selection.takes_lazily(&event, decoder);
                selected += u64::from(is_selected);
                is_selected
            }
        };
        if !is_taken {
            continue;
        }
        last = last.max(event.header.time);
        let (session, cpu, stamp) = (event.header.session, event.header.cpu, event.header.stamp);
        let buffer =
            buffers.entry((session, cpu)).or_insert_with(|| Buffer::new(buffer_size, cpu).with_session(session));
        if buffer.push_record(event.record(), stamp).is_err() {
            let flushed = buffer.last_stamp();
            writer.write_buffer(buffer, flushed).map_err(named)?;
            // An event that is larger than a buffer is counted as lost.
            if buffer.push_record(event.record(), stamp).is_err() {
                writer.add_lost(1, 0);
            }
        }
    }
    traces.done();
    let mut rest: Vec<_> = buffers.into_iter().collect();
    rest.sort_by_key(|(key, _)| *key);
    for (_, mut buffer) in rest {
        let flushed = buffer.last_stamp();
        writer.write_buffer(&mut buffer, flushed).map_err(named)?;
    }
    for (_, report) in traces.reports() {
        writer.add_lost(report.events_lost.into(), report.buffers_lost);
    }
    let written = writer.close_at(last).map_err(named)?;
    file.finish()?;
    let described = counted(written.events.saturating_sub(selected), "event");
    command_line::info(&format!(
        "{selected} of {read} events, and {described} that describe them, in {}",
        path.display()
    ));
    for text in selection.notes() {
        command_line::note(&text);
    }
    selection.check()?;
    traces.check()
}

/// The options of a file with the events of all traces. Their time stamps must be of one clock.
fn options(traces: &Traces) -> Result<(WriterOptions, Clock), Failure> {
    let mut headers = traces.headers();
    let Some((first, clock)) = headers.next() else { return Err(Failure::Usage("there is no trace".to_owned())) };
    let mut options = WriterOptions {
        session_name: first.logger_name.clone(),
        buffer_size: first.buffer_size.clamp(0x1_0000, 0x100_0000).next_multiple_of(8),
        processors: u16::try_from(first.processors).unwrap_or(u16::MAX),
        clock: *clock,
        boot_time: FileTime(first.boot_time),
        os_build: first.provider_version,
        cpu_mhz: first.cpu_mhz.max(1),
        ..WriterOptions::default()
    };
    for (header, other) in headers {
        let is_same = (other.kind, other.frequency, header.boot_time) == (clock.kind, clock.frequency, first.boot_time);
        if !is_same {
            let text = "the traces have different clocks: only traces of one machine, without a restart between them, can be merged";
            return Err(Failure::Usage(text.to_owned()));
        }
        options.buffer_size = options.buffer_size.max(header.buffer_size.min(0x100_0000));
        options.processors = options.processors.max(u16::try_from(header.processors).unwrap_or(u16::MAX));
    }
    Ok((options, *clock))
}
