//! The names that belong to an event: its process, its thread, and the file or the registry key that it is about.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A process of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// The process id, which is used again after the process has ended.
    pub id: u32,
    /// The file name of its image.
    pub name: Arc<str>,
    /// The process that created it.
    pub parent: Option<u32>,
    /// The terminal session.
    pub session: Option<u32>,
    /// The command line.
    pub command_line: Option<Arc<str>>,
    /// The time stamp of its start, in the session's clock, if it started during the trace.
    pub start: Option<u64>,
    /// The time stamp of its end, if it ended during the trace.
    pub end: Option<u64>,
}

/// The names that belong to an event, as far as the trace says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The process.
    pub process: Option<Arc<Process>>,
    /// The thread's name.
    pub thread: Option<Arc<str>>,
    /// The path of the file that the event is about, with a drive letter if the trace has it.
    pub file: Option<Arc<str>>,
    /// The path of the registry key that the event is about.
    pub key: Option<Arc<str>>,
}

impl Names {
    /// Returns the names other than the process: what each is, and the name.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("thread", &self.thread), ("file", &self.file), ("key", &self.key)]
            .into_iter()
            .filter_map(|(what, name)| Some((what, name.as_deref()?)))
    }
}

/// Knows the names of processes, threads, files and registry keys at the time of an event: a time stamp in the session's clock.
pub trait NameSource: fmt::Debug + Send + Sync {
    /// Returns the process with an id.
    fn process(&self, id: u32, stamp: u64) -> Option<Arc<Process>>;
    /// Returns the name of the thread with an id.
    fn thread(&self, id: u32, stamp: u64) -> Option<Arc<str>>;
    /// Returns the process with an id, and the time stamps for which the answer is the same. Without an implementation, that is
    /// only known for `stamp`.
    fn process_life(&self, id: u32, stamp: u64) -> (Option<Arc<Process>>, RangeInclusive<u64>) {
        (self.process(id, stamp), stamp..=stamp)
    }
    /// Returns the name of the thread with an id, and the time stamps for which the answer is the same.
    fn thread_life(&self, id: u32, stamp: u64) -> (Option<Arc<str>>, RangeInclusive<u64>) {
        (self.thread(id, stamp), stamp..=stamp)
    }
    /// Returns the path of a file object or file key.
    fn file(&self, object: u64, stamp: u64) -> Option<Arc<str>>;
    /// Returns the path of a registry key by its handle.
    fn key(&self, handle: u64, stamp: u64) -> Option<Arc<str>>;
    /// Returns the path with a drive letter instead of a device, if the drive is known.
    fn with_drive(&self, path: &str) -> Option<String>;
}
