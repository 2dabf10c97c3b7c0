//! A checked event: its options and fields, and the limits that apply to them together.

use proc_macro2::Span;
use syn::{Expr, LitStr};

use super::field::{self, Code, Field, FieldMeta, Tag};
use super::limits::{self, Budget};
use super::names::{CHANNEL, LEVEL, OPCODE};
use super::options::{Args, Named, named, reject_nul, tag};
use super::result::{RESULT, ResultField};
use super::suggest::nearest;
use super::table::{FieldType, Shape};
use crate::errors::Errors;
use crate::parse::{EventSyntax, Item};

/// The macro that an event belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// `write_event!`.
    Single,
    /// `start_activity!`: the macro sets opcode and activity id.
    Activity,
    /// `stop_activity!`: has only fields; everything else comes from the start event.
    Stop,
}

/// A checked event.
pub(crate) struct Event {
    /// The path of the provider, or the scope for `stop_activity!`.
    pub(crate) provider: Expr,
    /// The event's name. Empty for `stop_activity!`, because the scope has it.
    pub(crate) name: LitStr,
    /// `level(…)`, with the option's span.
    pub(crate) level: Option<(Span, Named)>,
    /// Every `keyword(…)`, with the option's span.
    pub(crate) keywords: Vec<(Span, Expr)>,
    /// `opcode(…)`, with the option's span.
    pub(crate) opcode: Option<(Span, Named)>,
    /// `channel(…)`, with the option's span.
    pub(crate) channel: Option<(Span, Named)>,
    /// `task(…)`.
    pub(crate) task: Option<Expr>,
    /// `id_version(…)`.
    pub(crate) id_version: Option<(Expr, Expr)>,
    /// `tag(…)`.
    pub(crate) tag: Option<Tag>,
    /// `activity_id(…)`, with the option's span.
    pub(crate) activity_id: Option<(Span, Expr)>,
    /// `related_id(…)`, with the option's span.
    pub(crate) related_id: Option<(Span, Expr)>,
    /// `result(…)`: the field of the stop event whose value the scope stores.
    pub(crate) result: Option<ResultField>,
    /// The fields, in a flat list.
    pub(crate) fields: Vec<Field>,
    /// `debug()`.
    pub(crate) debug: bool,
}

/// The options of an event, in the order of the documentation.
const OPTIONS: [&str; 10] =
    ["level", "keyword", "opcode", "task", "channel", "id_version", "tag", "activity_id", "related_id", "debug"];

/// The additional option of `start_activity!`.
const RESULT_OPTION: &str = "result";

impl Event {
    /// Checks the parsed input. Reports everything that is wrong to `errors`.
    pub(crate) fn check(syntax: EventSyntax, kind: EventKind, errors: &mut Errors) -> Self {
        reject_nul(&syntax.name, errors);
        let mut event = Self {
            provider: syntax.provider,
            name: syntax.name,
            level: None,
            keywords: Vec::new(),
            opcode: None,
            channel: None,
            task: None,
            id_version: None,
            tag: None,
            activity_id: None,
            related_id: None,
            result: None,
            fields: Vec::new(),
            debug: false,
        };
        let name_span = event.name.span();
        let mut totals = Totals::new(kind);
        totals.metadata.add(event.name.value().len() + 1, name_span, errors);
        for item in syntax.items {
            if let Some(field_type) = FieldType::find(&item.name.to_string()) {
                event.field(item, field_type, &mut totals, errors);
            } else {
                event.option(item, kind, errors);
            }
        }
        let tag_size = event.tag.as_ref().map_or(1, Tag::min_size);
        totals.metadata.add(tag_size, name_span, errors);
        if kind == EventKind::Activity {
            event.check_stop(errors);
        }
        event
    }

    /// Checks that the name and the result of the stop event leave room for what `stop_activity!` adds.
    fn check_stop(&self, errors: &mut Errors) {
        let result = self.result.as_ref().and_then(|result| result.field.meta.as_ref()).map_or(0, FieldMeta::min_size);
        if limits::LONGEST_TAG + self.name.value().len() + 1 + result > limits::ACTIVITY_BYTES {
            errors.add(
                self.name.span(),
                "the name of an activity and that of its result have at most 240 bytes together",
            );
        }
    }

    /// Reads one field and, if it is a struct, the fields in it.
    fn field(&mut self, item: Item, kind: FieldType, totals: &mut Totals, errors: &mut Errors) {
        let Some(read) = field::read(item, kind, errors) else {
            return;
        };
        let index = self.fields.len();
        totals.count(&read.field, errors);
        self.fields.push(read.field);
        if let Some(nested) = read.nested {
            let count = self.struct_fields(nested, totals, errors);
            if count > 0
                && let Some(outer) = self.fields.get_mut(index)
                && let Some(meta) = outer.meta.as_mut()
            {
                meta.out_type = Some(Code::Known(count));
                totals.metadata.add(usize::from(meta.tag.is_none()), outer.span, errors);
            }
        }
    }

    /// Reads the fields of a struct. Returns the number of its direct fields.
    fn struct_fields(&mut self, items: Vec<Item>, totals: &mut Totals, errors: &mut Errors) -> u8 {
        let mut count = Budget::new(0, limits::STRUCT_FIELDS, "a struct has at most 127 fields");
        for item in items {
            let name = item.name.to_string();
            let span = item.span();
            let Some(kind) = FieldType::find(&name) else {
                errors.add(span, unknown(&name, true));
                continue;
            };
            match kind.shape {
                Shape::RawStruct(_) => {
                    errors.add(span, format!("`{name}` is not allowed inside `struct`; use `struct` here as well"));
                }
                Shape::RawData => {}
                _ => count.add(1, span, errors),
            }
            self.field(item, kind, totals, errors);
        }
        u8::try_from(count.used()).unwrap_or(0)
    }

    /// Reads one option of the event.
    fn option(&mut self, item: Item, kind: EventKind, errors: &mut Errors) {
        let name = item.name.to_string();
        let span = item.span();
        if !OPTIONS.contains(&name.as_str()) && name != RESULT_OPTION {
            errors.add(span, unknown(&name, false));
            return;
        }
        if let Some(message) = misplaced(&name, kind) {
            errors.add(span, message);
            return;
        }
        if self.is_set(&name) {
            errors.add(span, format!("`{name}` is given twice"));
        }
        let mut args = Args::from_item(item);
        match name.as_str() {
            "debug" => self.debug = true,
            "level" => {
                self.level = args
                    .value("a level, for example `Warning`, `Level::Warning` or `3`", errors)
                    .map(|value| (span, named(value, &LEVEL, errors)));
            }
            "opcode" => {
                self.opcode = args
                    .value("an opcode, for example `Start`, `Opcode::Start` or `1`", errors)
                    .map(|value| (span, named(value, &OPCODE, errors)));
            }
            "channel" => {
                self.channel = args
                    .value("a channel, for example `TraceLogging`, `Channel::TraceLogging` or `11`", errors)
                    .map(|value| (span, named(value, &CHANNEL, errors)));
            }
            "keyword" => {
                self.keywords.extend(args.value("a constant `u64`, for example `0x10`", errors).map(|v| (span, v)));
            }
            "task" => self.task = args.value("a constant `u16`, for example `7`", errors),
            "id_version" => {
                let id = args.value("an id, a constant `u16`, and a version, a constant `u8`", errors);
                let version = id.as_ref().and_then(|_| {
                    args.value("a version after the id, a constant `u8`, for example `id_version(100, 0)`", errors)
                });
                self.id_version = id.zip(version);
            }
            "tag" => {
                self.tag = args.value("a number from 0 to 0x0FFFFFFF", errors).map(|value| tag(value, span, errors));
            }
            "activity_id" => {
                self.activity_id = args.value("a reference to a `Guid` or to `[u8; 16]`", errors).map(|v| (span, v));
            }
            RESULT_OPTION => {
                self.result = args.value(RESULT, errors).and_then(|value| ResultField::read(&value, errors));
            }
            _ => {
                self.related_id = args.value("a reference to a `Guid` or to `[u8; 16]`", errors).map(|v| (span, v));
            }
        }
        args.finish(errors);
    }

    /// Returns whether an option that is allowed only once has been given already.
    fn is_set(&self, name: &str) -> bool {
        match name {
            "level" => self.level.is_some(),
            "opcode" => self.opcode.is_some(),
            "channel" => self.channel.is_some(),
            "task" => self.task.is_some(),
            "id_version" => self.id_version.is_some(),
            "tag" => self.tag.is_some(),
            "activity_id" => self.activity_id.is_some(),
            "related_id" => self.related_id.is_some(),
            RESULT_OPTION => self.result.is_some(),
            _ => false,
        }
    }
}

/// The message for an option that this macro does not accept.
fn misplaced(name: &str, kind: EventKind) -> Option<String> {
    match (kind, name) {
        (EventKind::Activity, "opcode" | "activity_id") => {
            Some(format!("`start_activity!` sets `{name}` itself; use `write_event!` to choose it"))
        }
        (EventKind::Single, RESULT_OPTION) => Some("`result` is an option of `start_activity!`".to_owned()),
        (EventKind::Stop, name) if name != "debug" => {
            Some(format!("`stop_activity!` takes fields only: `{name}` is that of the activity's start"))
        }
        _ => None,
    }
}

/// The message for a word that is neither an option nor a field type.
fn unknown(name: &str, in_struct: bool) -> String {
    if in_struct && OPTIONS.contains(&name) {
        return format!("`{name}` is an option of the event and not allowed inside `struct`");
    }
    let types: Vec<String> = FieldType::all_names().collect();
    let candidates = types.iter().map(String::as_str);
    if let Some(near) = nearest(name, candidates) {
        return format!("unknown field type `{name}`; did you mean `{near}`?");
    }
    if !in_struct && let Some(near) = nearest(name, OPTIONS) {
        return format!("unknown option `{name}`; did you mean `{near}`?");
    }
    let options = if in_struct { String::new() } else { format!("options are `{}`; ", OPTIONS.join("`, `")) };
    let bases: Vec<&str> = FieldType::base_names().collect();
    let bases = bases.join("`, `");
    format!("unknown field type `{name}`; {options}field types are `{bases}`; most of fixed size also with `_slice`")
}

/// The running totals of one event.
struct Totals {
    metadata: Budget,
    fields: Budget,
    descriptors: Budget,
    /// Whether further fixed-size values can share the last descriptor.
    open: bool,
}

impl Totals {
    const fn new(kind: EventKind) -> Self {
        let (metadata, descriptors) = match kind {
            EventKind::Stop => (
                Budget::new(
                    2,
                    limits::STOP_BYTES,
                    "the names and types of the fields are larger than 1024 bytes, which `stop_activity!` has on its stack",
                ),
                limits::METADATA_DESCRIPTORS + 1,
            ),
            _ => (
                Budget::new(
                    2,
                    limits::METADATA_BYTES,
                    "the event's metadata (its name, field names and types) is larger than 65535 bytes",
                ),
                limits::METADATA_DESCRIPTORS,
            ),
        };
        Self {
            metadata,
            fields: Budget::new(0, limits::FIELDS, "an event has at most 128 fields"),
            descriptors: Budget::new(
                descriptors,
                limits::DESCRIPTORS,
                "the event needs more than 128 data descriptors: one for each string, slice or raw value, one for each \
                 run of fixed-size values, and two for metadata",
            ),
            open: false,
        }
    }

    /// Adds one field.
    fn count(&mut self, field: &Field, errors: &mut Errors) {
        if let Some(meta) = &field.meta {
            self.fields.add(1, field.span, errors);
            self.metadata.add(meta.min_size(), field.span, errors);
        }
        for part in field.shape.parts() {
            let shared = self.open && part.is_fixed();
            self.descriptors.add(usize::from(!shared), field.span, errors);
            self.open = part.is_fixed();
        }
    }
}
