//! `trim`: a part of a trace, or several traces as one, as an .etl file.

use std::collections::HashMap;

use command_line::Outputs;
use etw_etl::{Buffer, Clock, Error, FileTime, Writer, WriterOptions};

use super::purpose::Purpose;
use super::schemas;
use crate::cli::Trim;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Progress, Traces};
use crate::output::new_file;
use crate::select::Selection;
use crate::values::counted;

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
    let mut selected = 0_u64;
    let mut read = 0_u64;
    let mut last = FileTime(0);
    while let Some((event, decoder)) = traces.next() {
        read += 1;
        let is_possible = selection.may_take(&event);
        let is_taken = match Purpose::new(&event) {
            Purpose::FileHeader => false,
            Purpose::Description => true,
            Purpose::Stack(stamp) => selection.has_time(clock.time(stamp)),
            Purpose::Event => {
                let is_selected = is_possible && selection.takes_lazily(&event, decoder);
                selected += u64::from(is_selected);
                is_selected
            }
        };
        if !is_taken {
            continue;
        }
        last = last.max(event.header.time);
        let session = event.header.session;
        let cpu = event.header.cpu;
        let stamp = event.header.stamp;
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
