//! Shared by the tests: a provider whose callback records its notifications.
#![allow(dead_code, reason = "each scenario uses a part")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use etw_engine::{Block, Callback, Engine, EventWrite, Notification};
use etw_etl::format::record::Layout;
use etw_etl::{Event, Reader};
use etw_types::{ControlCode, EventDescriptor, Guid, Keyword, Level, NtStatus};

pub(crate) const PROVIDER: Guid = Guid::from_name("Engine-Test");
pub(crate) const OTHER: Guid = Guid::from_name("Engine-Test-Other");
pub(crate) const GROUP: Guid = Guid::from_name("Engine-Test-Group");

/// A notification as the callback received it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) control: ControlCode,
    pub(crate) level: u8,
    pub(crate) any: u64,
    pub(crate) all: u64,
    pub(crate) source: Guid,
    pub(crate) filter: Option<(u32, Vec<u8>)>,
}

impl Note {
    pub(crate) fn from_notification(notification: &Notification<'_>) -> Self {
        Self {
            control: notification.control,
            level: notification.level.as_int(),
            any: notification.any,
            all: notification.all,
            source: notification.source,
            filter: notification.filter.map(|filter| (filter.kind, filter.data.clone())),
        }
    }

    pub(crate) fn enabled(level: u8, any: u64, all: u64) -> Self {
        Self { control: ControlCode::EnableProvider, level, any, all, source: Guid::ZERO, filter: None }
    }

    pub(crate) fn disabled() -> Self {
        Self { control: ControlCode::DisableProvider, ..Self::enabled(0, 0, 0) }
    }
}

/// The notifications of one callback.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    pub(crate) fn callback(&self) -> Callback {
        let notes = self.clone();
        Arc::new(move |notification| notes.add(Note::from_notification(notification)))
    }

    pub(crate) fn add(&self, note: Note) {
        self.0.lock().unwrap().push(note);
    }

    /// Returns the notifications since the last call.
    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// Registers a GUID with a callback that records its notifications.
pub(crate) fn register(engine: &Engine, provider: Guid) -> (u64, Notes) {
    let notes = Notes::default();
    let handle = engine.register(provider, Some(notes.callback()), |_| {}).unwrap();
    (handle, notes)
}

pub(crate) fn descriptor(level: Level, keyword: u64) -> EventDescriptor {
    EventDescriptor::new(level, Keyword::from_bits(keyword))
}

/// Writes an event with one block of payload.
pub(crate) fn write(engine: &Engine, handle: u64, level: Level, keyword: u64, payload: &[u8]) -> NtStatus {
    engine.write(&EventWrite::new(handle, descriptor(level, keyword)), &[Block::data(payload)])
}

/// A file in the system's temporary folder, which is removed when this is dropped.
pub(crate) struct TempFile(PathBuf);

impl TempFile {
    /// Creates a path that no other test uses; `name` may contain `%d`.
    pub(crate) fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("etw-engine-{}-{name}.etl", std::process::id())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path with `%d` replaced by `number`.
    pub(crate) fn numbered(&self, number: u32) -> PathBuf {
        self.0.to_string_lossy().replace("%d", &number.to_string()).into()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        for path in (1..=64).map(|number| self.numbered(number)).chain([self.0.clone()]) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns the events of a file that providers wrote, ordered by time. The file must be intact.
pub(crate) fn read_events(path: &Path) -> Vec<Event> {
    let reader = Reader::open(path).unwrap();
    assert!(reader.report().is_whole(), "{}", reader.report());
    reader.filter(|event| event.header.layout == Layout::Event).collect()
}
