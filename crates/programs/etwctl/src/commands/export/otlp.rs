//! Logs and spans in the JSON encoding of the OpenTelemetry protocol.

use std::collections::{BTreeMap, HashMap};

use etw_etl::decode::{Node, Scalar};
use etw_etl::{Decoded, EventRef, FileTime};
use etw_types::{Guid, Level};
use serde_json::{Map, Value, json};

/// The number of logs and spans in one request.
const FULL: usize = 512;
/// The maximum number of activities whose trace is remembered.
const MAX_ACTIVITIES: usize = 1_000_000;
/// 100 ns units between 1601 and 1970.
const TO_1970: i64 = 116_444_736_000_000_000;

/// Nanoseconds since 1970, as the protocol writes them: a string.
fn nanos(time: FileTime) -> Value {
    u64::try_from(time.0.saturating_sub(TO_1970)).unwrap_or_default().saturating_mul(100).to_string().into()
}

/// The id of a trace: the activity that it began with.
fn trace_id(activity: &Guid) -> String {
    format!("{:032x}", u128::from_be_bytes(activity.to_bytes_le()))
}

/// The id of a span: eight bytes of its activity, which must not be 0.
fn span_id(activity: &Guid) -> String {
    let bytes = activity.to_bytes_le();
    let first = bytes.first_chunk::<8>().copied();
    let second = bytes.last_chunk::<8>().copied();
    let word = |bytes: Option<[u8; 8]>| bytes.map(u64::from_le_bytes).unwrap_or_default();
    format!("{:016x}", (word(first) ^ word(second).rotate_left(17)).max(1))
}

/// The activity that each activity descends from.
#[derive(Debug, Default)]
pub(super) struct Traced {
    roots: HashMap<Guid, Guid>,
}

impl Traced {
    /// Remembers the related activity of an event as the parent of its activity.
    pub(super) fn note(&mut self, event: &EventRef<'_>) {
        let (Some(own), Some(parent)) = (event.header.activity, event.related()) else { return };
        if self.roots.len() < MAX_ACTIVITIES && own != parent {
            let root = self.root(&parent);
            self.roots.entry(own).or_insert(root);
        }
    }

    fn root(&self, activity: &Guid) -> Guid {
        self.roots.get(activity).copied().unwrap_or(*activity)
    }
}

/// An activity that has begun.
#[derive(Debug)]
pub(super) struct Span {
    scope: String,
    name: String,
    activity: Guid,
    root: Guid,
    parent: Option<Guid>,
    start: FileTime,
    attributes: Vec<Value>,
}

impl Span {
    /// The activity that an event begins. One without an id gets one from its thread and its time.
    pub(super) fn new(event: &EventRef<'_>, decoded: &Decoded, traced: &Traced) -> Self {
        let header = &event.header;
        let place =
            u64::from(header.process_id.unwrap_or_default()) << 32 | u64::from(header.thread_id.unwrap_or_default());
        let made = || Guid::from_u128(u128::from(place) << 64 | u128::from(header.stamp));
        let activity = header.activity.unwrap_or_else(made);
        Self {
            scope: scope(event, decoded),
            name: decoded.event.clone().unwrap_or_else(|| event.label()),
            activity,
            root: traced.root(&activity),
            parent: event.related().filter(|parent| *parent != activity),
            start: event.header.time,
            attributes: attributes(event, decoded),
        }
    }
}

/// Logs and spans that wait to be sent, by provider.
#[derive(Debug)]
pub(super) struct Batch {
    resource: Value,
    logs: BTreeMap<String, Vec<Value>>,
    spans: BTreeMap<String, Vec<Value>>,
    held: usize,
    counts: (u64, u64),
}

impl Batch {
    pub(super) fn new(session: &str, computer: Option<&str>) -> Self {
        let mut attributes = vec![text("service.name", session), text("os.type", "windows")];
        attributes.extend(computer.map(|name| text("host.name", name)));
        let resource = json!({ "attributes": attributes });
        Self { resource, logs: BTreeMap::new(), spans: BTreeMap::new(), held: 0, counts: (0, 0) }
    }

    pub(super) fn log(&mut self, event: &EventRef<'_>, decoded: &Decoded, traced: &Traced) {
        let name = decoded.event.clone().unwrap_or_else(|| event.label());
        let (number, severity) = severity(event.header.descriptor.level);
        let mut log = json!({
            "timeUnixNano": nanos(event.header.time),
            "severityNumber": number,
            "severityText": severity,
            "body": { "stringValue": decoded.message().unwrap_or(name) },
            "attributes": attributes(event, decoded),
        });
        if let (Some(activity), Value::Object(log)) = (event.header.activity, &mut log) {
            log.insert("traceId".to_owned(), trace_id(&traced.root(&activity)).into());
            log.insert("spanId".to_owned(), span_id(&activity).into());
        }
        self.logs.entry(scope(event, decoded)).or_default().push(log);
        self.held += 1;
        self.counts.0 += 1;
    }

    /// Adds an activity that ends with an event.
    pub(super) fn span(&mut self, span: &Span, stop: &EventRef<'_>) {
        let mut value = json!({
            "traceId": trace_id(&span.root),
            "spanId": span_id(&span.activity),
            "name": span.name,
            "kind": 1,
            "startTimeUnixNano": nanos(span.start),
            "endTimeUnixNano": nanos(stop.header.time.max(span.start)),
            "attributes": span.attributes,
        });
        if let (Some(parent), Value::Object(value)) = (&span.parent, &mut value) {
            value.insert("parentSpanId".to_owned(), span_id(parent).into());
        }
        self.spans.entry(span.scope.clone()).or_default().push(value);
        self.held += 1;
        self.counts.1 += 1;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.held >= FULL
    }

    /// The number of all logs and spans so far.
    pub(super) const fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// The requests with what waits: the last part of the path that they are sent to, and their content.
    pub(super) fn take(&mut self) -> Vec<(&'static str, Value)> {
        self.held = 0;
        let scoped = |scopes: BTreeMap<String, Vec<Value>>, key: &str| -> Vec<Value> {
            let scope = |(name, records)| json!({ "scope": { "name": name }, key: records });
            scopes.into_iter().map(scope).collect()
        };
        let logs = scoped(std::mem::take(&mut self.logs), "logRecords");
        let spans = scoped(std::mem::take(&mut self.spans), "spans");
        let mut requests = Vec::new();
        if !logs.is_empty() {
            requests.push(("logs", json!({ "resourceLogs": [{ "resource": self.resource, "scopeLogs": logs }] })));
        }
        if !spans.is_empty() {
            requests.push(("traces", json!({ "resourceSpans": [{ "resource": self.resource, "scopeSpans": spans }] })));
        }
        requests
    }
}

/// The provider.
fn scope(event: &EventRef<'_>, decoded: &Decoded) -> String {
    let id = || event.class().map(|class| class.to_string());
    decoded.provider.clone().or_else(id).unwrap_or_else(|| "-".to_owned())
}

/// The number and the name of a severity.
fn severity(level: Level) -> (u8, &'static str) {
    match level.as_int() {
        1 => (21, "FATAL"),
        2 => (17, "ERROR"),
        3 => (13, "WARN"),
        5.. => (5, "DEBUG"),
        _ => (9, "INFO"),
    }
}

fn text(key: &str, text: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": text } })
}

fn number(key: &str, number: impl Into<i64>) -> Value {
    json!({ "key": key, "value": { "intValue": number.into().to_string() } })
}

/// What an event has, with the names of the semantic conventions where there are any. Fields are below `etw.field`.
fn attributes(event: &EventRef<'_>, decoded: &Decoded) -> Vec<Value> {
    let header = &event.header;
    let names = &decoded.names;
    let name = decoded.event.clone().unwrap_or_else(|| event.label());
    let mut all = vec![
        text("event.name", &name),
        number("etw.id", header.descriptor.id),
        number("etw.opcode", header.descriptor.opcode.as_int()),
    ];
    all.extend(header.process_id.map(|id| number("process.pid", id)));
    if let Some(process) = &names.process {
        all.push(text("process.executable.name", &process.name));
        all.extend(process.command_line.as_deref().map(|line| text("process.command_line", line)));
    }
    all.extend(header.thread_id.map(|id| number("thread.id", id)));
    all.extend(names.thread.as_deref().map(|name| text("thread.name", name)));
    all.extend(names.file.as_deref().map(|path| text("file.path", path)));
    all.extend(names.key.as_deref().map(|path| text("registry.key", path)));
    all.extend(
        decoded
            .fields
            .iter()
            .map(|field| json!({ "key": format!("etw.field.{}", field.name), "value": value(&field.node) })),
    );
    all
}

/// A value in the encoding of the protocol. Integers beyond 63 bits are text.
fn value(node: &Node) -> Value {
    match node {
        Node::Value(Scalar::Bool(value)) => json!({ "boolValue": value }),
        Node::Value(Scalar::Integer(number)) => match i64::try_from(*number) {
            Ok(number) => json!({ "intValue": number.to_string() }),
            Err(_) => json!({ "stringValue": number.to_string() }),
        },
        Node::Value(Scalar::F32(number)) if number.is_finite() => json!({ "doubleValue": f64::from(*number) }),
        Node::Value(Scalar::F64(number)) if number.is_finite() => json!({ "doubleValue": number }),
        Node::Value(Scalar::Text(text) | Scalar::Word(text)) => json!({ "stringValue": text }),
        Node::Array(nodes) => json!({ "arrayValue": { "values": nodes.iter().map(value).collect::<Vec<_>>() } }),
        Node::Struct(fields) => {
            let member = |name: &str, node: &Node| json!({ "key": name, "value": value(node) });
            let members: Vec<Value> = fields.iter().map(|field| member(&field.name, &field.node)).collect();
            Value::Object(Map::from_iter([("kvlistValue".to_owned(), json!({ "values": members }))]))
        }
        node => json!({ "stringValue": node.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;

    use super::{span_id, trace_id};

    #[test]
    fn ids_have_the_length_of_the_protocol_and_are_never_zero() {
        let activity = Guid::from_u128(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(trace_id(&activity), "33221100554477668899aabbccddeeff");
        assert_eq!(span_id(&activity).len(), 16);
        assert_eq!(span_id(&Guid::from_u128(0)).as_str(), "0000000000000001");
    }
}
