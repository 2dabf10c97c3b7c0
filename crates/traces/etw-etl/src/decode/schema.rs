//! Decoding with schemas from the trace, from files and from the kernel's built-in classes.

use std::sync::Arc;

use etw_manifest::built_in::BuiltIn;
use etw_manifest::{EventSchema, Field as SchemaField, Layers, Schema};
use etw_types::tracelogging::Value;

use super::decoded::Decoded;
use super::flat::{Flat, OwnSchemas};
use super::flat_values::{FlatValue, FlatValues};
use super::frames::FrameNames;
use super::links::Links;
use super::lookup::{Lookup, Resolved};
use super::names::{NameSource, Names, Process};
use super::own::decode;
use super::recent_names::{NONE, RecentNames};
use super::sinks::{Count, List, Show, Tree};
use super::walk::walk;
use crate::event::EventRef;
use crate::format::event::{EVENT_HEADER_FLAG_CLASSIC_HEADER, EVENT_HEADER_FLAG_STRING_ONLY};
use crate::format::record::Layout;

/// Decodes events of any kind, and caches schema lookups.
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
/// use etw_etl::{Decoded, Decoder, FrameNames, Kind};
/// use etw_manifest::{Layers, built_in::BuiltIn};
/// use std::sync::Arc;
///
/// /// Names addresses, as symbol files would.
/// #[derive(Debug)]
/// struct Functions;
///
/// impl FrameNames for Functions {
///     fn names(&self, _process: u32, address: u64) -> Vec<String> {
///         vec![format!("driver!read+{:#x}", address - 0x1000)]
///     }
/// }
///
/// let event = traced("Read", Opcode::Info).with_stack(&[0x1004]);
/// // A file's own schemas come with `Decoder::from_reader(&reader, files)`.
/// let mut decoder = Decoder::new(Layers::new()).with_names(Arc::new(Functions));
/// decoder.push(Arc::new(BuiltIn));
/// let decoded: Decoded = decoder.decode(&event.as_ref());
/// assert_eq!(decoded.field("Length").map(ToString::to_string).as_deref(), Some("512"));
/// assert_eq!(decoded.frames, ["driver!read+0x4"]);
/// assert_eq!(decoder.frames(&event.as_ref()), decoded.frames);
/// assert_eq!(decoder.names(&event.as_ref(), &decoded), decoded.names);
///
/// // TraceLogging events describe themselves: no schema, and no message of a manifest.
/// assert!(decoder.schema(&event.as_ref()).is_none() && decoded.message().is_none());
/// assert!(decoder.provider_name(&event.as_ref()).is_none());
/// assert_eq!(Kind::TraceLogging.as_str(), "tracelogging");
/// let identity: etw_etl::Identity = decoder.identify(&event.as_ref());
/// assert!(identity.has_schema && identity.is_whole);
/// ```
#[derive(Debug)]
pub struct Decoder {
    lookup: Lookup,
    own: OwnSchemas,
    frames: Option<Arc<dyn FrameNames>>,
    names: Option<Arc<dyn NameSource>>,
    recent: RecentNames,
}

impl Default for Decoder {
    /// Uses the kernel's built-in classes only.
    fn default() -> Self {
        let mut layers = Layers::new();
        layers.push(Arc::new(BuiltIn));
        Self::new(layers)
    }
}

impl Decoder {
    /// Looks up schemas in these sources.
    #[must_use]
    pub fn new(layers: Layers) -> Self {
        let lookup = Lookup::new(layers);
        let own = OwnSchemas::default();
        let recent = RecentNames::default();
        Self { lookup, own, frames: None, names: None, recent }
    }

    /// Names the frames of stacks with `frames`.
    #[must_use]
    pub fn with_names(self, frames: Arc<dyn FrameNames>) -> Self {
        Self { frames: Some(frames), ..self }
    }

    /// Leaves the frames of stacks without names, which takes time for each address.
    #[must_use]
    pub fn without_frames(self) -> Self {
        Self { frames: None, ..self }
    }

    /// Names processes, threads, files and registry keys with `names`.
    #[must_use]
    pub fn with_trace_names(self, names: Arc<dyn NameSource>) -> Self {
        Self { names: Some(names), recent: RecentNames::default(), ..self }
    }

    /// Returns the functions of an event's stack, innermost first. An address without a name is shown in hexadecimal. Returns
    /// nothing if no address has a name.
    #[must_use]
    pub fn frames(&self, event: &EventRef<'_>) -> Vec<String> {
        let (Some(names), Some(stack)) = (&self.frames, event.stack()) else { return Vec::new() };
        let process = event.stack_process().unwrap_or(0);
        let mut is_any = false;
        let mut frames = Vec::with_capacity(stack.len());
        for address in stack {
            let found = names.names_at(process, event.header.stamp, address);
            is_any |= !found.is_empty();
            if found.is_empty() {
                frames.push(format!("{address:#x}"));
            }
            frames.extend(found);
        }
        if is_any { frames } else { Vec::new() }
    }

    /// Adds a source that is searched after all others, and clears the cache so that unknown events are looked up again.
    pub fn push(&mut self, source: Arc<dyn Schema>) {
        self.lookup.push(source);
    }

    /// Returns the schema of an event, if there is one. TraceLogging events are self-describing and need none.
    pub fn schema(&mut self, event: &EventRef<'_>) -> Option<Arc<EventSchema>> {
        self.lookup.find_for(event)?.1.map(|known| Arc::clone(&known.schema))
    }

    /// Returns the name of an event's provider, or of a kernel event's class, even if the event itself is unknown.
    #[must_use]
    pub fn provider_name(&self, event: &EventRef<'_>) -> Option<Arc<str>> {
        self.lookup.layers.provider_name(&event.class()?)
    }

    /// Decodes an event as far as its schema is known.
    pub fn decode(&mut self, event: &EventRef<'_>) -> Decoded {
        let mut decoded = self.decode_fields(event);
        if self.frames.is_some() {
            decoded.frames = self.frames(event);
        }
        if self.names.is_some() {
            decoded.names = self.names(event, &decoded);
        }
        decoded
    }

    /// Returns a process at the time of an event, if the trace says so.
    #[must_use]
    pub fn process(&self, id: u32, stamp: u64) -> Option<Arc<Process>> {
        self.names.as_ref()?.process(id, stamp)
    }

    /// Returns the name of a thread at the time of an event, if the trace says so.
    #[must_use]
    pub fn thread(&self, id: u32, stamp: u64) -> Option<Arc<str>> {
        self.names.as_ref()?.thread(id, stamp)
    }

    /// Returns the functions that contain an address of a process at the time of an event, the innermost inlined function first;
    /// without symbols, the image and the offset.
    #[must_use]
    pub fn frame(&self, process: u32, stamp: u64, address: u64) -> Vec<String> {
        self.frames.as_ref().map(|frames| frames.names_at(process, stamp, address)).unwrap_or_default()
    }

    /// Returns the names that belong to an event.
    pub fn names(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> Names {
        let Some(names) = &self.names else { return Names::default() };
        let found = self.lookup.find_for(event).and_then(|(_, found)| found);
        found.map_or(&Links::default(), |known| &known.links).names(&**names, event, decoded)
    }

    /// Decodes an event whose fields are single values or arrays of numbers, without a tree and without text. Returns `None` for
    /// every other event: [`decode`](Self::decode) decodes all.
    ///
    /// ```no_run
    /// use etw_etl::{Decoder, FixedValues, Flat, FlatValue, NumberPlace, Reader};
    ///
    /// let mut reader = Reader::open("trace.etl")?;
    /// let mut decoder = Decoder::from_reader(&reader, None).without_frames();
    /// let mut message = String::new();
    /// while let Some(event) = reader.next_ref() {
    ///     let Some(flat) = decoder.flat(&event) else {
    ///         println!("{}", decoder.decode(&event));
    ///         continue;
    ///     };
    ///     if flat.write_message(&mut message) {
    ///         println!("{} {message}", flat.schema.name);
    ///     }
    ///     for (field, value) in flat.fields() {
    ///         match value {
    ///             FlatValue::One(_, value) => println!("{}={value}", field.name),
    ///             FlatValue::Many(_) => println!("{}={}", field.name, value.node(field)),
    ///         }
    ///     }
    ///     // Most kernel events are numbers at the same places of each payload.
    ///     if let Some(FixedValues { places, payload, array }) = flat.fixed() {
    ///         for NumberPlace { offset, in_type } in *places {
    ///             println!("{in_type:?} {:?}", &payload[*offset..]);
    ///         }
    ///         println!("then {array:?}");
    ///     }
    ///     let Flat { schema, is_whole, .. } = &flat;
    ///     println!("{} of {} fields, {is_whole}, {:?}", flat.field_count(), schema.fields.len(), flat.names);
    /// }
    /// # Ok::<(), etw_etl::Error>(())
    /// ```
    pub fn flat<'a>(&mut self, event: &EventRef<'a>) -> Option<Flat<'_, 'a>> {
        let Self { lookup, own, names, recent, .. } = self;
        let source = names.as_deref();
        if event.header.layout == Layout::Event
            && event.header.flags & (EVENT_HEADER_FLAG_STRING_ONLY | EVENT_HEADER_FLAG_CLASSIC_HEADER) == 0
            && let Some(parts) = event.parts()
        {
            let (schema, items, is_whole) = own.flat(&parts)?;
            let names = source.map_or(&NONE, |source| recent.find(source, event, &Links::default(), |_| None));
            return Some(Flat { schema, is_whole, names, values: FlatValues::Each(items) });
        }
        let (pointer, found) = lookup.find_for(event)?;
        let Resolved { schema, plan, links } = found.filter(|known| known.plan.is_flat())?;
        let payload = event.payload();
        let (values, is_whole) = if let Some((fixed, is_whole)) = plan.fixed(payload) {
            (FlatValues::Fixed(fixed), is_whole)
        } else {
            let walked = walk(schema, plan, pointer, payload, &mut List);
            (FlatValues::Each(walked.fields), walked.rest.is_empty() && walked.error.is_none())
        };
        let single = |place| match values.get(place)? {
            FlatValue::One(_, value) => Some(value),
            FlatValue::Many(_) => None,
        };
        let names = source.map_or(&NONE, |source| recent.find(source, event, links, single));
        Some(Flat { schema, is_whole, names, values })
    }

    fn decode_fields(&mut self, event: &EventRef<'_>) -> Decoded {
        let Some((pointer, found)) = self.lookup.find_for(event) else { return decode(event) };
        let Some(Resolved { schema, plan, .. }) = found else {
            let provider = event.class().and_then(|class| self.lookup.layers.provider_name(&class));
            return Decoded { provider: provider.as_deref().map(String::from), ..decode(event) };
        };
        let payload = event.payload();
        let walked = walk(schema, plan, pointer, payload, &mut Tree);
        let is_whole = walked.rest.is_empty() && walked.error.is_none();
        Decoded {
            provider: Some(String::from(&*schema.provider)),
            event: Some(String::from(&*schema.name)),
            tag: 0,
            fields: walked.fields,
            raw: if is_whole { None } else { Some(payload.to_vec()) },
            error: walked.error,
            frames: Vec::new(),
            names: Names::default(),
            schema: Some(Arc::clone(schema)),
        }
    }

    /// Decodes the values of an event that has a schema and passes them to `each` one by one, without allocating a tree. Use this
    /// to read only a few fields, or very many events. For TraceLogging events, use [`EventRef::visit`]. Returns the schema and
    /// whether it covers every byte of the payload, or `None` if there is no schema.
    ///
    /// ```no_run
    /// use etw_etl::{Decoder, Reader};
    ///
    /// let mut reader = Reader::open("trace.etl")?;
    /// let mut decoder = Decoder::from_reader(&reader, None);
    /// while let Some(event) = reader.next_ref() {
    ///     let _ = decoder.visit(&event, &mut |field, value| println!("{}={value}", field.name));
    /// }
    /// # Ok::<(), etw_etl::Error>(())
    /// ```
    pub fn visit<'a>(
        &mut self,
        event: &EventRef<'a>,
        each: &mut impl FnMut(&SchemaField, Value<'a>),
    ) -> Option<(&EventSchema, bool)> {
        let (pointer, found) = self.lookup.find_for(event)?;
        let Resolved { schema, plan, .. } = found?;
        let payload = event.payload();
        if let Some((fixed, is_whole)) = plan.fixed(payload) {
            for (field, place) in schema.fields.iter().zip(fixed.places) {
                // Two calls, because a value that may come from a function is in memory, and copying it stalls the processor.
                if let Some(value) = place.number(payload) {
                    each(field, value);
                } else if let Some(value) = place.read(payload) {
                    each(field, value);
                }
            }
            if let (Some(array), Some(field)) = (fixed.array, schema.fields.get(fixed.places.len())) {
                array.iter().for_each(|(_, value)| each(field, value));
            }
            return Some((schema, is_whole));
        }
        let walked = walk(schema, plan, pointer, payload, &mut Show(each));
        Some((schema, walked.rest.is_empty() && walked.error.is_none()))
    }

    /// Returns the names of an event, and whether its schema covers every byte, without building any fields.
    pub fn identify(&mut self, event: &EventRef<'_>) -> Identity {
        let Some((pointer, found)) = self.lookup.find_for(event) else {
            // A self-describing event.
            let decoded = decode(event);
            return Identity {
                provider: decoded.provider.map(Into::into),
                is_whole: decoded.raw.is_none() && decoded.error.is_none(),
                has_schema: decoded.event.is_some() || !decoded.fields.is_empty(),
                event: decoded.event.map(Into::into),
            };
        };
        let Some(Resolved { schema, plan, .. }) = found else {
            let provider = event.class().and_then(|class| self.lookup.layers.provider_name(&class));
            return Identity { provider, event: None, has_schema: false, is_whole: event.payload().is_empty() };
        };
        let walked = walk(schema, plan, pointer, event.payload(), &mut Count);
        Identity {
            provider: Some(Arc::clone(&schema.provider)),
            event: Some(Arc::clone(&schema.name)),
            has_schema: true,
            is_whole: walked.rest.is_empty() && walked.error.is_none(),
        }
    }
}

/// The names of an event, and how completely it is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The provider's name.
    pub provider: Option<Arc<str>>,
    /// The event's name.
    pub event: Option<Arc<str>>,
    /// Whether a schema is known.
    pub has_schema: bool,
    /// Whether the schema covers every byte of the payload.
    pub is_whole: bool,
}

impl Decoded {
    /// Returns the event's message with its fields inserted, if its schema has one.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let message = self.schema.as_ref()?.message.as_ref()?;
        Some(etw_manifest::message::format(message, |number| {
            let field = self.fields.get(number.checked_sub(1)?)?;
            Some(field.node.clone().into_insert(field.in_type, field.out_type))
        }))
    }
}

#[cfg(test)]
mod tests;
