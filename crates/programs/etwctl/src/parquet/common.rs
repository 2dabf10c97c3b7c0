//! The columns that every file has.

use std::sync::Arc;

use etw_etl::{EventRef, FileTime, Names, Process};
use etw_types::{EventDescriptor, Guid};

use super::column::Column;
use super::fields::nanoseconds;
use super::kind::{Kind, Value};

/// The names and types of the columns.
pub(super) const COMMON: [(&str, Kind); 26] = [
    ("time", Kind::Nanoseconds),
    ("provider", Kind::Text),
    ("provider_id", Kind::Text),
    ("event", Kind::Text),
    ("kind", Kind::Text),
    ("id", Kind::Integer(16, false)),
    ("version", Kind::Integer(8, false)),
    ("level", Kind::Integer(8, false)),
    ("opcode", Kind::Integer(8, false)),
    ("task", Kind::Integer(16, false)),
    ("keyword", Kind::Integer(64, false)),
    ("pid", Kind::Integer(32, false)),
    ("tid", Kind::Integer(32, false)),
    ("cpu", Kind::Integer(16, false)),
    ("activity", Kind::Text),
    ("related", Kind::Text),
    ("message", Kind::Text),
    ("stack", Kind::Integer(64, false)),
    ("raw", Kind::Bytes),
    ("process", Kind::Text),
    ("parent_pid", Kind::Integer(32, false)),
    ("session_id", Kind::Integer(32, false)),
    ("command_line", Kind::Text),
    ("thread", Kind::Text),
    ("file", Kind::Text),
    ("key", Kind::Text),
];

/// The number of the common columns from `provider` on that are the same in all rows: `provider`, `provider_id`, `event`, `kind`,
/// `id` and `version`.
const SAME: usize = 6;

/// Number of rows after which the columns take their heads, while these are in the processor's cache.
const FULL: usize = 1024;

/// What all events of a file have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) provider: Option<String>,
    pub(super) class: Option<String>,
    pub(super) event: Option<String>,
    pub(super) kind: &'static str,
    pub(super) id: u16,
    pub(super) version: u8,
}

/// What a row has besides its header and its fields.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) names: &'a Names,
    pub(super) message: Option<&'a str>,
    /// The event's data, if the fields do not represent it exactly.
    pub(super) raw: Option<&'a [u8]>,
}

/// Rows whose values in some columns are those of the row before. They are counted, and added when the values change.
#[derive(Debug)]
struct Run<K> {
    last: Option<K>,
    rows: usize,
}

impl<K> Default for Run<K> {
    fn default() -> Self {
        Self { last: None, rows: 0 }
    }
}

impl<K> Run<K> {
    /// Counts a row if it has the same values as the last one.
    #[inline]
    fn continues(&mut self, is_same: impl FnOnce(&K) -> bool) -> bool {
        let continues = self.last.as_ref().is_some_and(is_same);
        self.rows += usize::from(continues);
        continues
    }

    /// Adds the counted rows and returns their approximate memory cost in bytes.
    fn settle<const N: usize>(&mut self, columns: [&mut Column; N]) -> usize {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 { 0 } else { columns.into_iter().map(|column| column.repeat(rows)).sum() }
    }

    /// Begins a run with other values.
    fn begin<const N: usize>(&mut self, values: K, columns: [&mut Column; N]) -> usize {
        self.last = Some(values);
        self.settle(columns)
    }
}

/// What is different in most rows.
#[derive(Clone, Copy, Debug)]
struct Head {
    time: FileTime,
    process: Option<u32>,
    thread: Option<u32>,
    cpu: u16,
}

/// The rows that the common columns do not have yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    heads: Vec<Head>,
    descriptor: Run<EventDescriptor>,
    activity: Run<Option<Guid>>,
    process: Run<Option<Arc<Process>>>,
    thread: Run<Option<Arc<str>>>,
    file: Run<Option<Arc<str>>>,
    key: Run<Option<Arc<str>>>,
    /// Rows without a stack, and rows without a related activity, a message or data.
    without_stack: usize,
    without_rest: usize,
    frames: Vec<u64>,
}

/// Returns whether two names are the same one.
fn is_same<T: ?Sized>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

impl Pending {
    /// Adds a row and returns its approximate memory cost in bytes.
    pub(super) fn add(
        &mut self,
        columns: &mut [Column; COMMON.len()],
        event: &EventRef<'_>,
        content: &Content<'_>,
    ) -> usize {
        let header = &event.header;
        let names = content.names;
        let text = |id: Guid| id.to_string();
        // In the order of `COMMON`. Those without a name are filled in when the rows are written.
        #[rustfmt::skip]
        let [
            _, _, _, _, _, _, _, level, opcode, task, keyword, _, _, _, activity, related, message, stack, raw,
            process, parent_pid, session_id, command_line, thread, file, key,
        ] = columns;
        let process_id = header.process_id;
        let thread_id = header.thread_id;
        self.heads.push(Head { time: header.time, process: process_id, thread: thread_id, cpu: header.cpu });
        let mut cost = size_of::<Head>();
        let descriptor = &header.descriptor;
        if !self.descriptor.continues(|last| last == descriptor) {
            cost += self.descriptor.begin(*descriptor, [&mut *level, &mut *opcode, &mut *task, &mut *keyword]);
            cost += level.add_integer(Some(descriptor.level.as_int().into()));
            cost += opcode.add_integer(Some(descriptor.opcode.as_int().into()));
            cost += task.add_integer(Some(descriptor.task.into()));
            cost += keyword.add_integer(Some(descriptor.keyword.bits().cast_signed()));
        }
        if !self.activity.continues(|last| *last == header.activity) {
            cost += self.activity.begin(header.activity, [&mut *activity]);
            cost += activity.add_text(header.activity.map(text).as_deref());
        }
        let related_id = event.related();
        if related_id.is_none() && content.message.is_none() && content.raw.is_none() {
            self.without_rest += 1;
        } else {
            self.settle_rest([&mut *related, &mut *message, &mut *raw]);
            cost += related.add_text(related_id.map(text).as_deref());
            cost += message.add_text(content.message);
            cost += raw.add(content.raw.map(|raw| Value::Bytes(raw.into())));
        }
        if event.copy_stack(&mut self.frames) {
            stack.add_nulls(std::mem::take(&mut self.without_stack));
            cost += stack.add_integers(self.frames.iter().map(|frame| frame.cast_signed()));
        } else {
            self.without_stack += 1;
        }
        if !self.process.continues(|last| is_same(last.as_ref(), names.process.as_ref())) {
            let columns = [&mut *process, &mut *parent_pid, &mut *session_id, &mut *command_line];
            cost += self.process.begin(names.process.clone(), columns);
            let about = names.process.as_deref();
            cost += process.add_text(about.map(|process| &*process.name));
            cost += parent_pid.add_integer(about.and_then(|process| process.parent).map(Into::into));
            cost += session_id.add_integer(about.and_then(|process| process.session).map(Into::into));
            cost += command_line.add_text(about.and_then(|process| process.command_line.as_deref()));
        }
        let others = [
            (&mut self.thread, thread, &names.thread),
            (&mut self.file, file, &names.file),
            (&mut self.key, key, &names.key),
        ];
        for (run, column, name) in others {
            if !run.continues(|last| is_same(last.as_ref(), name.as_ref())) {
                cost += run.begin(name.clone(), [&mut *column]);
                cost += column.add_text(name.as_deref());
            }
        }
        cost
    }

    /// Returns whether the columns should take the heads.
    pub(super) const fn is_full(&self) -> bool {
        self.heads.len() >= FULL
    }

    /// Returns the memory of the heads in bytes.
    pub(super) const fn size(&self) -> usize {
        self.heads.len() * size_of::<Head>()
    }

    /// Moves the heads to their columns, and returns the approximate memory cost in bytes.
    pub(super) fn settle_heads(&mut self, columns: &mut [Column; COMMON.len()]) -> usize {
        let [time, _, _, _, _, _, _, _, _, _, _, pid, tid, cpu, ..] = columns;
        let heads = self.heads.iter();
        let mut cost = time.extend_optional(heads.clone().map(|head| nanoseconds(head.time.0)));
        cost += pid.extend_optional(heads.clone().map(|head| head.process.map(Into::into)));
        cost += tid.extend_optional(heads.clone().map(|head| head.thread.map(Into::into)));
        cost += cpu.extend(heads.map(|head| head.cpu.into()));
        self.heads.clear();
        cost
    }

    fn settle_rest(&mut self, columns: [&mut Column; 3]) {
        let rows = std::mem::take(&mut self.without_rest);
        for column in columns {
            column.add_nulls(rows);
        }
    }

    /// Adds what is missing in `rows` rows, before they are written.
    pub(super) fn settle(&mut self, columns: &mut [Column; COMMON.len()], identity: &Identity, rows: usize) {
        #[rustfmt::skip]
        let [
            _, same @ .., level, opcode, task, keyword, _, _, _, activity, related, message, stack, raw,
            process, parent_pid, session_id, command_line, thread, file, key,
        ] = columns;
        self.descriptor.settle([level, opcode, task, keyword]);
        self.activity.settle([activity]);
        self.settle_rest([related, message, raw]);
        stack.add_nulls(self.without_stack);
        self.process.settle([process, parent_pid, session_id, command_line]);
        self.thread.settle([thread]);
        self.file.settle([file]);
        self.key.settle([key]);
        *self = Self::default();
        let Identity { provider, class, event, kind, id, version } = identity;
        let text = |text: Option<&str>| text.map(|text| Value::Bytes(text.as_bytes().to_vec().into()));
        let number = |number: u16| Some(Value::Integer(number.into()));
        let values: [_; SAME] = [
            text(provider.as_deref()),
            text(class.as_deref()),
            text(event.as_deref()),
            text(Some(kind)),
            number(*id),
            number((*version).into()),
        ];
        for (column, value) in same.iter_mut().zip(values) {
            column.fill(value, rows);
        }
    }
}
