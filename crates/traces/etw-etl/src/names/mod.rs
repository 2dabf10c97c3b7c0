//! The names in a trace: processes, threads, files, registry keys, services and drives.
//!
//! Kernel events have ids and addresses. Other events of the trace say what these mean at a time: the events of processes and
//! threads, the names of file objects, the rundown of registry keys, and the volume mapping of merging tools. Memory is bounded:
//! names beyond the limits are left out.

mod lives;
mod processes;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use etw_types::tracelogging::Value;
use etw_types::{Guid, InType, OutType};

use crate::decode::{Decoder, NameSource, Process, Scalar, show};
use crate::event::EventRef;
use crate::format::record::Layout;
use lives::{Change, Lives};
use processes::Processes;

/// Maximum number of events that are remembered.
const MAX_EVENTS: usize = 0x10_0000;
/// Maximum memory for names, in bytes.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Maximum number of drives.
const MAX_DRIVES: usize = 256;

/// The kernel's manifest provider of processes.
pub(crate) const KERNEL_PROCESS: Guid = Guid::from_u128(0x22fb_2cd6_0e7b_422b_a0c7_2fad_1fd0_e716);
/// The class of events that map devices to drives.
pub(crate) const SYS_CONFIG: Guid = Guid::from_u128(0x9b79_ee91_b5fd_41c0_a243_4248_e266_e9d0);
/// The type of its event that maps one.
const VOLUME_MAPPING: u8 = 35;

/// The names in a trace. A [`Reader`](crate::Reader) has found them: `reader.names()`.
///
/// ```
/// use etw_etl::{NameSource, Names, Process, TraceNames};
/// use std::sync::Arc;
///
/// let trace = TraceNames::default();
/// assert!(trace.is_empty() && trace.processes().next().is_none() && trace.services(4).next().is_none());
/// assert_eq!(trace.computer(), None);
/// assert!(trace.thread(8, 0).is_none() && trace.file(0xFFFF_8000_0000_0000, 0).is_none());
/// // A name holds for a time, so it need not be looked up for each event.
/// assert_eq!((trace.process_life(4, 9), trace.thread_life(8, 9)), ((None, 0..=u64::MAX), (None, 0..=u64::MAX)));
/// assert!(trace.key(0x99, 0).is_none() && trace.with_drive("\\Device\\HarddiskVolume1\\a.txt").is_none());
///
/// // A decoder puts the names of an event into `Decoded::names`.
/// let process: Option<Arc<Process>> = NameSource::process(&trace, 4, 0);
/// let decoder = etw_etl::Decoder::default().with_trace_names(Arc::new(trace));
/// assert_eq!(process, decoder.process(4, 0));
/// assert!(decoder.thread(8, 0).is_none() && decoder.frame(4, 0, 0x1000).is_empty());
/// assert_eq!(etw_etl::Decoded::default().names, Names::default());
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceNames {
    processes: Processes,
    threads: Lives<u32>,
    files: Lives<u64>,
    keys: Lives<u64>,
    /// Path of a device with a backslash at its end, and the drive.
    drives: Vec<(Box<str>, Box<str>)>,
    services: BTreeMap<u32, BTreeSet<Arc<str>>>,
    computer: Option<Arc<str>>,
    /// Each name once, because many events have the same one.
    strings: HashSet<Arc<str>>,
    bytes: usize,
    events: usize,
}

impl TraceNames {
    /// Adds an event of a kernel class that names something. Ignores all other events. Call [`sort`](Self::sort) after the last
    /// one.
    pub(crate) fn add(&mut self, decoder: &mut Decoder, event: &EventRef<'_>) {
        if self.events >= MAX_EVENTS || self.bytes >= MAX_BYTES {
            return;
        }
        let Some((subject, change)) = subject(event) else { return };
        let mut values = Values::default();
        decoder.visit(event, &mut |field, value| match &*field.name {
            "ProcessId" | "ProcessID" => values.process = number(value),
            "ParentId" | "ParentProcessID" => values.parent = number(value),
            "SessionId" | "SessionID" => values.session = number(value),
            "TThreadId" | "ThreadId" => values.thread = number(value),
            "FileObject" | "KeyHandle" => values.object = number(value),
            "ImageFileName" | "ImageName" | "ThreadName" | "FileName" | "OpenPath" | "KeyName" | "ServiceName"
            | "NtPath" | "ComputerName" => {
                values.name = Some(text(value));
            }
            "CommandLine" | "DosPath" => values.detail = Some(text(value)),
            _ => {}
        });
        self.insert(subject, change, event.header.stamp, values);
    }

    fn insert(&mut self, subject: Subject, change: Change, stamp: u64, values: Values) {
        let Some(name) = values.name.filter(|name| !name.is_empty()) else { return };
        let small = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
        self.events += 1;
        match subject {
            Subject::Process => {
                let Some(id) = small(values.process) else { return };
                // The manifest provider has a path.
                let name = name.rsplit('\\').next().unwrap_or_default().to_owned();
                let command_line = values.detail.filter(|line| !line.is_empty()).map(|line| self.shared(&line));
                let parent = small(values.parent);
                let session = small(values.session).filter(|id| *id != u32::MAX);
                let process =
                    Process { id, name: self.shared(&name), parent, session, command_line, ..Process::default() };
                self.processes.add(stamp, change, process);
            }
            Subject::Thread => {
                let Some(id) = small(values.thread) else { return };
                let name = self.shared(&name);
                self.threads.add(id, stamp, change, name);
            }
            Subject::File => {
                let Some(object) = values.object else { return };
                let name = self.shared(&name);
                self.files.add(object, stamp, change, name);
            }
            Subject::Key => {
                let Some(handle) = values.object else { return };
                let name = self.shared(&name);
                self.keys.add(handle, stamp, change, name);
            }
            Subject::Service => {
                // A service that does not run has the process 0.
                let Some(process) = small(values.process).filter(|id| *id != 0) else { return };
                let name = self.shared(&name);
                self.services.entry(process).or_default().insert(name);
            }
            Subject::Computer => self.computer = Some(name.into()),
            Subject::Drive => {
                let drive = values.detail.filter(|drive| !drive.is_empty() && self.drives.len() < MAX_DRIVES);
                if let Some(drive) = drive {
                    self.drives.push((name.into(), drive.into()));
                }
            }
        }
    }

    /// Adds the names of another trace, whose time stamps are converted. Call [`sort`](Self::sort) afterwards.
    pub(crate) fn absorb(&mut self, other: &Self, stamp: &dyn Fn(u64) -> u64) {
        self.processes.absorb(&other.processes, stamp);
        self.threads.absorb(&other.threads, stamp);
        self.files.absorb(&other.files, stamp);
        self.keys.absorb(&other.keys, stamp);
        self.drives.extend_from_slice(&other.drives);
        for (process, services) in &other.services {
            self.services.entry(*process).or_default().extend(services.iter().cloned());
        }
        if self.computer.is_none() {
            self.computer.clone_from(&other.computer);
        }
    }

    /// Returns the name, stored once.
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.strings.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.bytes += name.len() + 64;
        self.strings.insert(Arc::clone(&name));
        name
    }

    /// Brings the events into the order of time.
    pub(crate) fn sort(&mut self) {
        self.processes.sort();
        self.threads.sort();
        self.files.sort();
        self.keys.sort();
        self.drives.sort();
        self.drives.dedup();
        if !self.drives.is_empty() {
            self.files.rename(|path| with_drive(&self.drives, path));
        }
    }

    /// Returns whether the trace names nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
            && self.threads.is_empty()
            && self.files.is_empty()
            && self.keys.is_empty()
            && self.drives.is_empty()
    }

    /// Returns all processes of the trace, ordered by id and time.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.processes.all()
    }

    /// Returns the name of the computer that wrote the trace.
    #[must_use]
    pub fn computer(&self) -> Option<&str> {
        self.computer.as_deref()
    }

    /// Returns the services that run in a process.
    pub fn services(&self, process: u32) -> impl Iterator<Item = &str> {
        self.services.get(&process).into_iter().flatten().map(|name| &**name)
    }
}

impl NameSource for TraceNames {
    fn process(&self, id: u32, stamp: u64) -> Option<Arc<Process>> {
        self.process_life(id, stamp).0
    }

    fn process_life(&self, id: u32, stamp: u64) -> (Option<Arc<Process>>, RangeInclusive<u64>) {
        self.processes.life(id, stamp)
    }

    fn thread(&self, id: u32, stamp: u64) -> Option<Arc<str>> {
        self.threads.get(id, stamp)
    }

    fn thread_life(&self, id: u32, stamp: u64) -> (Option<Arc<str>>, RangeInclusive<u64>) {
        self.threads.life(id, stamp)
    }

    fn file(&self, object: u64, stamp: u64) -> Option<Arc<str>> {
        self.files.get(object, stamp)
    }

    fn key(&self, handle: u64, stamp: u64) -> Option<Arc<str>> {
        self.keys.get(handle, stamp)
    }

    fn with_drive(&self, path: &str) -> Option<String> {
        with_drive(&self.drives, path)
    }
}

/// Returns a path with the drive letter of its device, if it has one of these devices.
fn with_drive(drives: &[(Box<str>, Box<str>)], path: &str) -> Option<String> {
    drives.iter().find_map(|(device, drive)| {
        let (start, rest) = path.split_at_checked(device.len())?;
        start.eq_ignore_ascii_case(device).then(|| format!("{drive}{rest}"))
    })
}

/// What an event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Process,
    Thread,
    File,
    Key,
    Service,
    Computer,
    Drive,
}

/// Returns what an event names, and whether that begins or ends with the event. The hook id of a kernel event, or the provider and the
/// id of another one, decide: the name of an event is what a schema calls it.
fn subject(event: &EventRef<'_>) -> Option<(Subject, Change)> {
    let header = &event.header;
    let id = header.descriptor.id;
    if !header.layout.is_kernel() {
        return match header.provider? {
            KERNEL_PROCESS if header.layout == Layout::Event => match id {
                1 => Some((Subject::Process, Change::Begins)),
                2 => Some((Subject::Process, Change::Ends)),
                15 => Some((Subject::Process, Change::Present)),
                _ => None,
            },
            SYS_CONFIG if header.descriptor.opcode.as_int() == VOLUME_MAPPING => {
                Some((Subject::Drive, Change::Present))
            }
            _ => None,
        };
    }
    match id {
        // Start, end, the two rundown events, and the end of the object.
        0x0301 => Some((Subject::Process, Change::Begins)),
        0x0302 => Some((Subject::Process, Change::Ends)),
        0x0303 | 0x0304 | 0x0327 => Some((Subject::Process, Change::Present)),
        // Start, end, the two rundown events, and a new name.
        0x0501 | 0x0548 => Some((Subject::Thread, Change::Begins)),
        0x0502 => Some((Subject::Thread, Change::Ends)),
        0x0503 | 0x0504 => Some((Subject::Thread, Change::Present)),
        // Name, creation, deletion, rundown, and the creation of a file object.
        0x0420 | 0x0440 => Some((Subject::File, Change::Begins)),
        0x0423 => Some((Subject::File, Change::Ends)),
        0x0400 | 0x0424 => Some((Subject::File, Change::Present)),
        // Creation of a key control block, and the two rundown events.
        0x0916 => Some((Subject::Key, Change::Begins)),
        0x0918 | 0x0919 => Some((Subject::Key, Change::Present)),
        0x0B0A => Some((Subject::Computer, Change::Present)),
        0x0B0F => Some((Subject::Service, Change::Present)),
        _ => None,
    }
}

/// The values of an event that [`TraceNames`] uses.
#[derive(Debug, Default)]
struct Values {
    process: Option<u64>,
    parent: Option<u64>,
    session: Option<u64>,
    thread: Option<u64>,
    object: Option<u64>,
    name: Option<String>,
    detail: Option<String>,
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) | Value::Hex(number) => Some(number),
        _ => None,
    }
}

fn text(value: Value<'_>) -> String {
    match show(InType::Invalid, OutType::Default, value) {
        Scalar::Text(text) => text,
        other => other.to_string(),
    }
}
