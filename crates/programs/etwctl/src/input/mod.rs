//! The traces that a command reads: files or standard input. Several traces are read as one, in the order of time.

mod progress;
mod store;
mod symbol_store;
mod symbols;

pub(crate) use progress::Progress;
use progress::Watched;
pub(crate) use store::Store;
pub(crate) use symbol_store::SymbolStores;
#[cfg(test)]
pub(crate) use symbol_store::local_parts;
use symbols::Frames;
pub(crate) use symbols::Pdbs;

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use command_line::{Inputs, note};
use etw_etl::format::logfile::LogfileHeader;
use etw_etl::{Clock, Decoder, Error, EventRef, FileTime, Reader, ReaderOptions, Report, Threads, TraceNames, share};
use etw_manifest::built_in::BuiltIn;
use etw_manifest::{Layers, Schema};

use crate::failure::Failure;
use crate::values::counted;

/// The approximate memory for the buffers of all traces, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// The schemas and PDBs that the command line names.
#[derive(Default)]
pub(crate) struct Schemas {
    /// The sources of schemas; the first one that knows an event is used.
    pub(crate) layers: Vec<Arc<dyn Schema>>,
    pub(crate) pdbs: Arc<Pdbs>,
}

/// A trace, and the decoder of its events.
#[derive(Debug)]
struct Trace {
    path: PathBuf,
    reader: Reader<Watched>,
    decoder: Decoder,
    layouts: Decoder,
    threads: Arc<Threads>,
}

/// An event and its trace.
#[derive(Debug)]
pub(crate) struct Next<'a> {
    pub(crate) event: EventRef<'a>,
    /// Decodes as the user asks: with the schemas of the trace and of the user's files.
    pub(crate) decoder: &'a mut Decoder,
    /// Decodes with the built-in layouts only, so that no other schema changes what an analyser reads.
    pub(crate) layouts: &'a mut Decoder,
    /// The number of the trace.
    pub(crate) trace: usize,
    /// The clock of its time stamps.
    pub(crate) clock: Clock,
    /// The processes of its threads.
    pub(crate) threads: &'a Threads,
}

/// Traces whose events are returned in the order of time.
#[derive(Debug)]
pub(crate) struct Traces {
    all: Vec<Trace>,
    pdbs: Arc<Pdbs>,
    progress: Progress,
}

impl Traces {
    /// Opens files; `-` is standard input. `grows` is for `--follow`. The schema of an event is looked up in its own trace, then
    /// in the other traces, then in `files`, then among the built-in classes of the kernel. The other traces are needed because
    /// only the last of numbered files has the rundown with schemas. Traces of one machine also share names, images and threads.
    pub(crate) fn open(paths: &[PathBuf], files: &Schemas, progress: Progress, grows: bool) -> Result<Self, Failure> {
        Inputs::new().files(paths).check_stdout()?;
        let options = ReaderOptions { memory: MEMORY / paths.len().max(1), grows };
        let mut readers = paths
            .iter()
            .map(|path| {
                let (file, path) = open(path, &progress)?;
                let length = file.metadata().map_or(0, |about| about.len());
                progress.expect(length);
                Ok((path.clone(), Reader::build(Watched::new(file, progress.clone()), &path, options)?))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        note_machines(&readers);
        share(readers.iter_mut().map(|(_, reader)| reader));
        let schemas: Vec<_> = readers.iter().map(|(_, reader)| reader.schemas()).collect();
        for (schemas, (path, _)) in schemas.iter().zip(&readers) {
            let path = path.display();
            if schemas.dropped() > 0 {
                let dropped = schemas.dropped();
                note(&format!(
                    "{path} describes more events than fit into memory; {dropped} descriptions are left out"
                ));
            }
            if schemas.malformed() > 0 {
                note(&format!("{} descriptions of events in {path} could not be read", schemas.malformed()));
            }
        }
        let trace = |(place, (path, reader)): (usize, (PathBuf, Reader<Watched>))| {
            let mut layers = Layers::new();
            let others = schemas.iter().enumerate().filter(|(other, _)| *other != place);
            for (_, schema) in schemas.iter().enumerate().filter(|(own, _)| *own == place).chain(others) {
                layers.push(Arc::clone(schema) as Arc<dyn Schema>);
            }
            files.layers.iter().for_each(|files| layers.push(Arc::clone(files)));
            layers.push(Arc::new(BuiltIn));
            let decoder = name_frames(Decoder::new(layers), &reader, &files.pdbs);
            let layouts = name_frames(Decoder::default(), &reader, &files.pdbs);
            let threads = reader.threads();
            Trace { path, reader, decoder, layouts, threads }
        };
        let all = readers.into_iter().enumerate().map(trace).collect();
        Ok(Self { all, pdbs: Arc::clone(&files.pdbs), progress })
    }

    /// Leaves out the names of functions, for outputs that have the addresses of stacks only.
    pub(crate) fn leave_frames_unnamed(&mut self) {
        for trace in &mut self.all {
            trace.decoder = std::mem::take(&mut trace.decoder).without_frames();
        }
    }

    /// The next event of all traces, and the decoder for it.
    pub(crate) fn next(&mut self) -> Option<(EventRef<'_>, &mut Decoder)> {
        let (event, decoder) = self.next_in_place()?;
        event.map(|event| (event, decoder))
    }

    /// The same with `None` for the event at the end. A caller that uses the event where it was returned saves two copies of it.
    #[inline]
    pub(crate) fn next_in_place(&mut self) -> Option<(Option<EventRef<'_>>, &mut Decoder)> {
        let place = self.place()?;
        let trace = self.all.get_mut(place)?;
        Some((trace.reader.next_ref(), &mut trace.decoder))
    }

    /// The trace with the next event.
    #[inline]
    fn place(&mut self) -> Option<usize> {
        match self.all.as_mut_slice() {
            [_] => Some(0),
            traces => {
                let times =
                    traces.iter_mut().enumerate().filter_map(|(place, trace)| Some((trace.reader.next_time()?, place)));
                times.min().map(|(_, place)| place)
            }
        }
    }

    /// The time of the next event.
    pub(crate) fn next_time(&mut self) -> Option<FileTime> {
        self.all.iter_mut().filter_map(|trace| trace.reader.next_time()).min()
    }

    /// Reads what was appended to growing files since the last call.
    pub(crate) fn refresh(&mut self) -> Result<(), Failure> {
        for trace in &mut self.all {
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", trace.path.display()));
            let Some(schemas) = trace.reader.refresh().map_err(named)? else { continue };
            if !schemas.is_empty() {
                trace.decoder.push(schemas);
            }
            trace.decoder = name_frames(std::mem::take(&mut trace.decoder), &trace.reader, &self.pdbs);
            trace.layouts = name_frames(std::mem::take(&mut trace.layouts), &trace.reader, &self.pdbs);
            trace.threads = trace.reader.threads();
        }
        Ok(())
    }

    /// The paths of the traces, with commas.
    pub(crate) fn title(&self) -> String {
        let names: Vec<String> = self.all.iter().map(|trace| trace.path.display().to_string()).collect();
        names.join(", ")
    }

    /// The report of each trace: its contents and losses.
    pub(crate) fn reports(&self) -> impl Iterator<Item = (&Path, &Report)> {
        self.all.iter().map(|trace| (trace.path.as_path(), trace.reader.report()))
    }

    /// The names that the traces of each machine share, and the clock of their time stamps.
    pub(crate) fn names(&self) -> impl Iterator<Item = (Arc<TraceNames>, Clock)> {
        let firsts = self.all.iter().enumerate().filter(|(place, trace)| {
            let mut before = self.all.iter().take(*place);
            !before.any(|other| other.reader.header().is_same_boot(trace.reader.header()))
        });
        firsts.map(|(_, trace)| (trace.reader.names(), *trace.reader.clock()))
    }

    /// The header and the clock of each trace.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&LogfileHeader, &Clock)> {
        self.all.iter().map(|trace| (trace.reader.header(), trace.reader.clock()))
    }

    /// The next event of all traces, and what its trace tells about it.
    pub(crate) fn next_of(&mut self) -> Option<Next<'_>> {
        let place = self.place()?;
        let trace = self.all.get_mut(place)?;
        let clock = *trace.reader.clock();
        let Trace { reader, decoder, layouts, threads, .. } = trace;
        Some(Next { event: reader.next_ref()?, decoder, layouts, trace: place, clock, threads })
    }

    /// The header of the first trace.
    pub(crate) fn header(&self) -> Option<&LogfileHeader> {
        self.all.first().map(|trace| trace.reader.header())
    }

    /// Removes the progress bar from the terminal, before other output.
    pub(crate) fn done(&self) {
        self.progress.finish();
    }

    /// Notes call stacks that the traces refer to but do not define, and files that were not closed. Fails if a part of the traces could not be read, or if a session lost events when it wrote them.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for (path, report) in self.reports().filter(|(_, report)| report.stacks_undefined > 0) {
            let references = counted(report.stacks_undefined, "reference");
            note(&format!("{}: {references} to call stacks without a definition; they are left out", path.display()));
        }
        for (path, _) in self.reports().filter(|(_, report)| report.is_unclosed) {
            note(&format!("{}: not closed by its recorder; its last events may be missing", path.display()));
        }
        let lossy = self.reports().filter(|(_, report)| report.has_session_losses());
        let lost: Vec<String> = lossy
            .map(|(path, report)| {
                let events = report.events_lost.into();
                let buffers = report.buffers_lost.into();
                let events = counted(events, "event");
                let buffers = counted(buffers, "buffer");
                format!("{}: the session that wrote it lost {events} and {buffers}", path.display())
            })
            .collect();
        let damaged: Vec<String> = self
            .reports()
            .filter_map(|(path, report)| Some(format!("{}: {}", path.display(), report.damage()?)))
            .collect();
        match (damaged.is_empty(), lost.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(Failure::Lost(format!("the trace is incomplete: {}", lost.join("; ")))),
            (false, _) => Err(Failure::Damaged([damaged, lost].concat().join("; "))),
        }
    }
}

/// Notes traces whose ids have another meaning than those of the first trace, if there are names that they could share.
fn note_machines(readers: &[(PathBuf, Reader<Watched>)]) {
    let Some(((first, one), others)) = readers.split_first() else { return };
    if readers.iter().all(|(_, reader)| reader.names().is_empty()) {
        return;
    }
    for (path, _) in others.iter().filter(|(_, other)| one.header().boot_time != other.header().boot_time) {
        let path = path.display();
        let first = first.display();
        note(&format!(
            "{path} has another boot time than {first}: they are of different machines, or of different starts of one, and share \
             no names"
        ));
    }
}

/// Makes the decoder name the frames of stacks, processes, threads, files and registry keys, with what the trace has reported so
/// far.
fn name_frames(decoder: Decoder, reader: &Reader<Watched>, pdbs: &Arc<Pdbs>) -> Decoder {
    let frames = Frames { images: reader.images(), methods: reader.methods(), pdbs: Arc::clone(pdbs) };
    let decoder = if frames.images.is_empty() && frames.methods.is_empty() {
        decoder
    } else {
        decoder.with_names(Arc::new(frames))
    };
    let names = reader.names();
    if names.is_empty() { decoder } else { decoder.with_trace_names(names) }
}

/// Opens a file. A trace is read twice: first for the order of its buffers and the schemas at its end, then for its events.
/// Standard input can be read only once, so it is copied to a temporary file.
fn open(path: &Path, progress: &Progress) -> Result<(File, PathBuf), Failure> {
    if path.as_os_str() != "-" {
        let file = File::open(path).map_err(|source| Error::Io { action: "open", path: path.to_owned(), source })?;
        return Ok((file, path.to_owned()));
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot copy standard input: {error}"));
    let mut spool = tempfile::tempfile().map_err(named)?;
    io::copy(&mut progress.watch(io::stdin().lock()), &mut spool).map_err(named)?;
    spool.rewind().map_err(named)?;
    Ok((spool, PathBuf::from("(standard input)")))
}
