//! Matches stop events with their start events.
//!
//! Events with the same activity id belong together. Events without an activity id belong together if they have the same provider
//! and thread and nest. Anything else is not paired: a start without a stop has an open end and is never extended to the end of
//! the trace. Kernel and classic events are not paired, because the thread in their header is not the one that they describe.
//!
//! Events of a manifest are told apart by their tasks and ids, never by the names that a schema has for them: another version of a
//! manifest changes no pair. TraceLogging events have no ids; their names are their identity.

use std::collections::HashMap;

use etw_types::{Guid, Opcode};

use crate::decode::{Decoded, Field, Node, Scalar};
use crate::event::{EventRef, Kind};
use crate::format::event::EVENT_HEADER_FLAG_CLASSIC_HEADER;
use crate::format::record::Layout;

/// Suffixes of an event name that say whether something begins or ends.
const ENDINGS: [&str; 20] = [
    "started",
    "stopped",
    "start",
    "stop",
    "begin",
    "began",
    "ended",
    "end",
    "entered",
    "enter",
    "entry",
    "exited",
    "exit",
    "leave",
    "completed",
    "complete",
    "finished",
    "finish",
    "done",
    "return",
];
/// Names of fields that hold the name of the traced function.
const FUNCTION_FIELDS: [&str; 3] = ["Function", "FunctionName", "Func"];

/// Whether an event begins or ends an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The operation begins.
    Start,
    /// The operation ends.
    Stop,
}

impl Role {
    /// Returns the role of an event, or `None` if it neither starts nor stops anything, or is a kernel or classic event.
    #[must_use]
    pub fn from_event(event: &EventRef<'_>) -> Option<Self> {
        let header = &event.header;
        if header.layout != Layout::Event || header.flags & EVENT_HEADER_FLAG_CLASSIC_HEADER != 0 {
            return None;
        }
        match header.descriptor.opcode {
            Opcode::Start => Some(Self::Start),
            Opcode::Stop => Some(Self::Stop),
            _ => None,
        }
    }
}

/// The key under which a stop looks for its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Activity(Option<Guid>, Guid),
    Thread(Option<Guid>, Option<u32>, Option<u32>),
}

impl Key {
    fn from_event(event: &EventRef<'_>) -> Self {
        let header = &event.header;
        match header.activity {
            Some(activity) => Self::Activity(header.provider, activity),
            None => Self::Thread(header.provider, header.process_id, header.thread_id),
        }
    }
}

/// A start whose stop has not been seen yet.
#[derive(Debug)]
struct Open<T> {
    id: u16,
    version: u8,
    task: u16,
    name: Option<String>,
    function: Option<String>,
    cost: usize,
    value: T,
}

/// The result of a stop.
#[derive(Debug)]
pub struct Stopped<T> {
    /// The value that was kept for the matching start, or `None` if there is no such start.
    pub start: Option<T>,
    /// Starts that can no longer have a stop because an enclosing operation ended.
    pub open: Vec<T>,
}

/// Starts whose stops have not been seen yet, each with a value of the caller.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::pair::{Pairs, Role, Stopped, base};
///
/// let (start, stop) = (traced("ReadStart", Opcode::Start), traced("ReadStop", Opcode::Stop));
/// let (start, stop) = (start.as_ref(), stop.as_ref());
/// assert_eq!((Role::from_event(&start), Role::from_event(&stop)), (Some(Role::Start), Some(Role::Stop)));
/// assert_eq!(base("ReadStart"), base("ReadStop"));
///
/// // Room for values of 1000 bytes; what is kept for a start comes back with its stop.
/// let mut pairs = Pairs::new(1000);
/// assert_eq!(pairs.start(&start, &start.decode(), "first", 5), None);
/// assert!(!pairs.repeats(&start), "another version of the event would repeat it");
/// let Stopped { start: found, open } = pairs.stop(&stop, &stop.decode());
/// assert_eq!((found, open.len()), (Some("first"), 0));
/// assert!(pairs.finish().is_empty());
/// ```
#[derive(Debug)]
pub struct Pairs<T> {
    open: HashMap<Key, Vec<Open<T>>>,
    held: usize,
    most: usize,
}

impl<T> Pairs<T> {
    /// Creates an empty set. The costs of all kept values may add up to at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { open: HashMap::new(), held: 0, most }
    }

    /// Keeps a value for a start. Returns the value if there is no room.
    pub fn start(&mut self, event: &EventRef<'_>, decoded: &Decoded, value: T, cost: usize) -> Option<T> {
        if self.held + cost > self.most {
            return Some(value);
        }
        self.held += cost;
        let open = Open {
            id: event.header.descriptor.id,
            version: event.header.descriptor.version,
            task: event.header.descriptor.task,
            name: own_name(event, decoded),
            function: function(&decoded.fields),
            cost,
            value,
        };
        self.open.entry(Key::from_event(event)).or_default().push(open);
        None
    }

    /// Returns whether an event starts what the last open start has started, in another version of the event. The .NET runtime
    /// writes several versions of its events, so that older readers understand one of them, but each stop once.
    #[must_use]
    pub fn repeats(&self, event: &EventRef<'_>) -> bool {
        let descriptor = &event.header.descriptor;
        let last = self.open.get(&Key::from_event(event)).and_then(|opens| opens.last());
        last.is_some_and(|last| {
            last.id != 0
                && last.id == descriptor.id
                && last.task == descriptor.task
                && last.version != descriptor.version
        })
    }

    /// Finds the start that belongs to a stop.
    pub fn stop(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> Stopped<T> {
        let key = Key::from_event(event);
        let Some(opens) = self.open.get_mut(&key) else { return Stopped { start: None, open: Vec::new() } };
        let task = event.header.descriptor.task;
        let id = event.header.descriptor.id;
        let name = own_name(event, decoded);
        // Tools that generate manifests give a stop the id after that of its start.
        let is_next = |open: &Open<T>| open.id != 0 && open.id.checked_add(1) == Some(id);
        let is_named = |open: &Open<T>| open.name.is_none() || name.is_none() || open.name == name;
        let place = if matches!(key, Key::Activity(..)) {
            let next = opens.iter().rposition(|open| open.task == task && is_next(open));
            let named = || opens.iter().rposition(|open| open.task == task && is_named(open));
            next.or_else(named).or_else(|| opens.iter().rposition(|open| open.task == task))
        } else {
            let function = function(&decoded.fields);
            let nests = |open: &Open<T>| {
                let is_function = open.function.is_none() || function.is_none() || open.function == function;
                open.task == task && (task != 0 || is_named(open)) && is_function
            };
            let next = opens.iter().rposition(|open| nests(open) && is_next(open));
            next.or_else(|| opens.iter().rposition(nests))
        };
        let Some(place) = place else { return Stopped { start: None, open: Vec::new() } };
        // On a thread operations nest, so whatever began later must have ended before.
        let later = if matches!(key, Key::Thread(..)) { opens.split_off(place + 1) } else { Vec::new() };
        let start = opens.remove(place);
        if opens.is_empty() {
            self.open.remove(&key);
        }
        self.held -= start.cost + later.iter().map(|open| open.cost).sum::<usize>();
        Stopped { start: Some(start.value), open: later.into_iter().map(|open| open.value).collect() }
    }

    /// Returns the values of the starts that had no stop, in no particular order.
    pub fn finish(&mut self) -> Vec<T> {
        self.held = 0;
        std::mem::take(&mut self.open).into_values().flatten().map(|open| open.value).collect()
    }
}

/// Returns a name without the suffix that says whether something begins or ends.
#[must_use]
pub fn base(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let ending = ENDINGS.iter().find(|ending| lower.ends_with(*ending)).map_or(0, |ending| ending.len());
    let base = name.get(..name.len() - ending).unwrap_or(name);
    base.trim_end_matches(['/', '_', '-', '.', ':', ' ']).to_owned()
}

/// Returns the name that an event has without a schema, without its suffix.
fn own_name(event: &EventRef<'_>, decoded: &Decoded) -> Option<String> {
    let is_own = event.kind() == Kind::TraceLogging;
    decoded.event.as_deref().filter(|_| is_own).map(base)
}

fn function(fields: &[Field]) -> Option<String> {
    let field = fields.iter().find(|field| FUNCTION_FIELDS.iter().any(|name| field.name.eq_ignore_ascii_case(name)))?;
    match &field.node {
        Node::Value(Scalar::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use etw_types::tracelogging::EventBuilder;
    use etw_types::{EventDescriptor, Guid, Opcode};

    use super::{Pairs, Role, base};
    use crate::testing::{TRAITS, descriptor, read};
    use crate::{Decoded, Event, EventData, ExtendedItem};

    fn event(opcode: Opcode, name: &str, function: &str, activity: u128, thread_id: u32) -> Event {
        let mut metadata = vec![0; 256];
        let mut payload = vec![0; 256];
        let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).str8("Function", function);
        let (metadata, payload) = builder.finish().unwrap();
        let items = ExtendedItem::trace_logging(TRAITS, metadata);
        let descriptor = descriptor().with_opcode(opcode);
        let activity = Guid::from_u128(activity);
        read(&EventData { descriptor, activity, thread_id, items: &items, payload, ..EventData::default() })
    }

    /// The start of a stop, and the starts that the stop leaves open.
    type Stop = (Option<usize>, Vec<usize>);

    /// Pairs events in order. Returns, for each stop, the number of its start and of the starts that it leaves open; and the
    /// starts that had no stop at the end.
    fn pair(events: &[Event]) -> (Vec<Stop>, Vec<usize>) {
        let mut pairs = Pairs::new(1000);
        let mut stopped = Vec::new();
        for (number, event) in events.iter().enumerate() {
            let decoded = event.decode();
            if event.header.descriptor.opcode == Opcode::Start {
                assert_eq!(pairs.start(&event.as_ref(), &decoded, number, 1), None);
            } else {
                let found = pairs.stop(&event.as_ref(), &decoded);
                stopped.push((found.start, found.open));
            }
        }
        let mut open = pairs.finish();
        open.sort_unstable();
        (stopped, open)
    }

    #[test]
    fn threads_pair_what_nests_and_nothing_else() {
        let start = |function: &str, thread| event(Opcode::Start, "Enter", function, 0, thread);
        let stop = |function: &str, thread| event(Opcode::Stop, "Exit", function, 0, thread);
        let nested = [start("a", 1), start("b", 1), stop("b", 1), stop("a", 1)];
        assert_eq!(pair(&nested), (vec![(Some(1), vec![]), (Some(0), vec![])], vec![]));
        let missing = [start("a", 1), start("b", 1), stop("a", 1)];
        assert_eq!(pair(&missing), (vec![(Some(0), vec![1])], vec![]), "b has an open end");
        let others = [start("a", 1), stop("b", 1), stop("a", 2)];
        assert_eq!(pair(&others), (vec![(None, vec![]), (None, vec![])], vec![0]));
    }

    #[test]
    fn activities_pair_on_any_thread_and_need_not_nest() {
        let start = |name: &str, activity| event(Opcode::Start, name, "", activity, 1);
        let stop = |name: &str, activity| event(Opcode::Stop, name, "", activity, 2);
        let crossed =
            [start("ReadStart", 1), start("WriteStart", 1), stop("ReadStop", 1), stop("Done", 1), stop("x", 2)];
        assert_eq!(pair(&crossed), (vec![(Some(0), vec![]), (Some(1), vec![]), (None, vec![])], vec![]));
    }

    #[test]
    fn a_start_in_two_versions_is_one_start() {
        let versioned = |opcode, id, version| {
            let mut event = event(opcode, "a", "", 0, 1);
            event.header.descriptor.id = id;
            event.header.descriptor.version = version;
            event
        };
        let mut pairs = Pairs::new(10);
        let first = versioned(Opcode::Start, 1, 1);
        assert!(!pairs.repeats(&first.as_ref()));
        assert_eq!(pairs.start(&first.as_ref(), &first.decode(), (), 1), None);
        assert!(pairs.repeats(&versioned(Opcode::Start, 1, 2).as_ref()));
        assert!(!pairs.repeats(&first.as_ref()), "the same version again is another operation");
        assert!(!pairs.repeats(&versioned(Opcode::Start, 3, 2).as_ref()), "another event");
        assert_eq!(pairs.stop(&versioned(Opcode::Stop, 2, 1).as_ref(), &first.decode()).start, Some(()));
        assert!(pairs.finish().is_empty());
    }

    /// An event of a manifest, and the name that a schema has for it.
    fn manifest(opcode: Opcode, id: u16, activity: u128, name: &str) -> (Event, Decoded) {
        let descriptor = EventDescriptor { id, opcode, ..EventDescriptor::default() };
        let activity = Guid::from_u128(activity);
        let event = read(&EventData { descriptor, thread_id: 1, activity, ..EventData::default() });
        (event, Decoded { event: Some(name.to_owned()), ..Decoded::default() })
    }

    #[test]
    fn what_a_schema_calls_events_changes_no_pair() {
        for activity in [0, 1] {
            let pair = |names: [&str; 4]| {
                let mut pairs = Pairs::new(1000);
                for (id, name) in [(1, names[0]), (3, names[1])] {
                    let (start, decoded) = manifest(Opcode::Start, id, activity, name);
                    assert_eq!(pairs.start(&start.as_ref(), &decoded, id, 1), None);
                }
                [(4, names[2]), (2, names[3])].map(|(id, name)| {
                    let (stop, decoded) = manifest(Opcode::Stop, id, activity, name);
                    pairs.stop(&stop.as_ref(), &decoded).start
                })
            };
            assert_eq!(pair(["ReadStart", "WriteStart", "WriteStop", "ReadStop"]), [Some(3), Some(1)]);
            assert_eq!(pair(["a", "b", "c", "d"]), [Some(3), Some(1)]);
            assert_eq!(pair(["ReadStart", "WriteStart", "ReadStop", "WriteStop"]), [Some(3), Some(1)]);
        }
    }

    #[test]
    fn a_stop_of_a_manifest_belongs_to_the_start_with_the_id_before_it() {
        let mut pairs = Pairs::new(1000);
        for id in [1, 3] {
            let (start, decoded) = manifest(Opcode::Start, id, 1, "");
            assert_eq!(pairs.start(&start.as_ref(), &decoded, id, 1), None);
        }
        let (stop, decoded) = manifest(Opcode::Stop, 2, 1, "");
        assert_eq!(pairs.stop(&stop.as_ref(), &decoded).start, Some(1), "although the other one began later");
    }

    #[test]
    fn no_room_means_no_pair() {
        let mut pairs = Pairs::new(10);
        let event = event(Opcode::Start, "Start", "", 1, 1);
        assert_eq!(pairs.start(&event.as_ref(), &event.decode(), "first", 6), None);
        assert_eq!(pairs.start(&event.as_ref(), &event.decode(), "second", 6), Some("second"));
    }

    #[test]
    fn what_is_paired_makes_room_again() {
        let mut pairs = Pairs::new(10);
        let start = |thread| event(Opcode::Start, "Start", "", 0, thread);
        let stop = |thread| event(Opcode::Stop, "Stop", "", 0, thread);
        let keep = |pairs: &mut Pairs<u32>, thread, cost| {
            let event = start(thread);
            pairs.start(&event.as_ref(), &event.decode(), thread, cost).is_none()
        };
        assert!(keep(&mut pairs, 1, 6));
        assert!(keep(&mut pairs, 2, 4));
        assert!(!keep(&mut pairs, 3, 1));
        let event = stop(1);
        assert_eq!(pairs.stop(&event.as_ref(), &event.decode()).start, Some(1));
        assert!(!keep(&mut pairs, 3, 7));
        assert!(keep(&mut pairs, 3, 1));
        // The outer stop ends both starts of its thread.
        assert!(keep(&mut pairs, 4, 2));
        assert!(keep(&mut pairs, 4, 3));
        assert_eq!(pairs.finish().len(), 4);
        assert!(keep(&mut pairs, 1, 10));
    }

    #[test]
    fn an_outer_stop_makes_room_for_what_it_leaves_open() {
        let mut pairs = Pairs::new(10);
        let [outer, inner] = ["outer", "inner"].map(|function| event(Opcode::Start, "Enter", function, 0, 1));
        assert_eq!(pairs.start(&outer.as_ref(), &outer.decode(), "outer", 4), None);
        assert_eq!(pairs.start(&inner.as_ref(), &inner.decode(), "inner", 6), None);
        let stop = event(Opcode::Stop, "Exit", "outer", 0, 1);
        let stopped = pairs.stop(&stop.as_ref(), &stop.decode());
        assert_eq!(stopped.start, Some("outer"));
        assert_eq!(stopped.open, vec!["inner"]);
        assert_eq!(pairs.start(&outer.as_ref(), &outer.decode(), "again", 10), None);
    }

    #[test]
    fn tasks_and_names_tell_operations_apart() {
        let of = |opcode, name: &str, task, activity, thread_id| {
            let mut event = event(opcode, name, "", activity, thread_id);
            event.header.descriptor.task = task;
            event
        };
        for activity in [0, 1] {
            let start = |name: &str, task| of(Opcode::Start, name, task, activity, 1);
            let stop = |name: &str, task| of(Opcode::Stop, name, task, activity, 1);
            let none = (None, vec![]);
            // A task is a better name than that of an event, which may differ if there is a task.
            assert_eq!(pair(&[start("a", 5), stop("b", 5)]).0, [(Some(0), vec![])]);
            assert_eq!(pair(&[start("a", 5), stop("a", 6)]), (vec![none.clone()], vec![0]));
            assert_eq!(pair(&[start("a", 5), stop("a", 0)]), (vec![none.clone()], vec![0]));
            assert_eq!(pair(&[start("a", 0), start("a", 0), stop("a", 0)]).0, [(Some(1), vec![])], "the last one");
            let other = pair(&[start("a", 0), stop("b", 0)]).0;
            assert_eq!(other, if activity == 0 { vec![none] } else { vec![(Some(0), vec![])] });
        }
    }

    #[test]
    fn an_event_without_a_name_or_a_function_pairs_with_any() {
        let of = |start_is_named: bool, stop_is_named: bool| {
            let mut pairs = Pairs::new(10);
            let decoded = |event: &Event, is_named: bool| if is_named { event.decode() } else { Decoded::default() };
            let start = event(Opcode::Start, "a", "f", 0, 1);
            assert_eq!(pairs.start(&start.as_ref(), &decoded(&start, start_is_named), (), 1), None);
            let stop = event(Opcode::Stop, "b", "g", 0, 1);
            pairs.stop(&stop.as_ref(), &decoded(&stop, stop_is_named)).start.is_some()
        };
        assert!(of(false, false));
        assert!(of(true, false));
        assert!(of(false, true));
        assert!(!of(true, true));
    }

    #[test]
    fn only_events_with_a_role_are_paired() {
        let role = |flags, opcode| {
            let data = EventData { flags, descriptor: descriptor().with_opcode(opcode), ..EventData::default() };
            Role::from_event(&read(&data).as_ref())
        };
        assert_eq!([Opcode::Start, Opcode::Stop].map(|opcode| role(0, opcode)), [Some(Role::Start), Some(Role::Stop)]);
        assert_eq!(role(0, Opcode::Info), None);
        assert_eq!(role(0x100, Opcode::Start), None);
        let kernel = crate::testing::read_record(&[2, 0, 0x11, 0xC0, 0x10, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0], 0);
        assert_eq!(kernel.header.descriptor.opcode, Opcode::Start);
        assert_eq!(Role::from_event(&kernel.as_ref()), None);
    }

    #[test]
    fn words_for_start_and_stop_are_removed_from_names() {
        for (name, without) in
            [("Task/Start", "Task"), ("ReadDone", "Read"), ("Begin", ""), ("FOO_EXIT", "FOO"), ("Ünd", "Ünd")]
        {
            assert_eq!(base(name), without);
        }
    }
}
