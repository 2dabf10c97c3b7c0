//! Writes an event from its values and its metadata.

use tracing_core::Metadata;
use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{EventDataDescriptor, EventDescriptor, Guid, InType, Mode, OutType, Provider};

use crate::sites;
use crate::values::{Shape, Values};

/// Size of the buffer for metadata that is not in the table of call sites.
const METADATA_SIZE: usize = 512;

/// The metadata of an event whose names do not fit or contain a NUL. The event has only its target and the number of
/// missing fields.
static TOO_LONG: &[u8] = b"\x17\0\0event\0target\0\x97\x23cut\0\x08";

const _: () = assert!(TOO_LONG.len() == 0x17);

/// The parts of an event other than its metadata and its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    pub(crate) site: &'static Metadata<'static>,
    pub(crate) descriptor: EventDescriptor,
    pub(crate) activity: Option<&'a Guid>,
    pub(crate) related: Option<&'a Guid>,
}

/// Writes an event of a call site.
pub(crate) fn write<M: Mode>(provider: &Provider<M>, header: &Header<'_>, values: &Values<M>) -> M::Status {
    match sites::find(header.site, &values.shape) {
        Some(encoded) => send(provider, header, encoded, values.bytes(), values.shape.cut),
        None => write_new(provider, header, values),
    }
}

/// Writes an event of a call site that is not in the table. It is a separate function, because it needs a large buffer
/// on the stack.
#[cold]
#[inline(never)]
fn write_new<M: Mode>(provider: &Provider<M>, header: &Header<'_>, values: &Values<M>) -> M::Status {
    let shape = &values.shape;
    let mut buffer = [0; METADATA_SIZE];
    let encoded = encode(&mut buffer, header.site, shape);
    if encoded.is_empty() {
        let fields = u32::try_from(shape.fields().count()).unwrap_or(u32::MAX);
        return send(provider, header, TOO_LONG, &[], shape.cut.saturating_add(fields));
    }
    sites::keep(header.site, shape, encoded);
    send(provider, header, encoded, values.bytes(), shape.cut)
}

fn send<M: Mode>(provider: &Provider<M>, header: &Header<'_>, encoded: &[u8], values: &[u8], cut: u32) -> M::Status {
    let target = header.site.target();
    // A target is never longer than 65535 bytes. If it were, it would be left out.
    let (length, target) = u16::try_from(target.len()).map_or((0, ""), |length| (length, target));
    let length = length.to_le_bytes();
    let cut_bytes = cut.to_le_bytes();
    let data = [
        provider.traits_descriptor(),
        EventDataDescriptor::event_metadata(encoded),
        EventDataDescriptor::new(values),
        EventDataDescriptor::new(&length),
        EventDataDescriptor::new(target.as_bytes()),
        EventDataDescriptor::new(if cut == 0 { &[] } else { &cut_bytes }),
    ];
    provider.write_wanted(&header.descriptor, header.activity, header.related, &data)
}

/// Encodes the metadata of a call site for events of `shape`. Returns an empty slice if it does not fit.
fn encode<'a>(buffer: &'a mut [u8], metadata: &Metadata<'_>, shape: &Shape) -> &'a [u8] {
    let mut builder = EventBuilder::new(buffer, &mut [], metadata.name(), 0);
    for (index, kind) in shape.fields() {
        let name = metadata.fields().iter().nth(index).map_or("", |field| field.name());
        let (in_type, out_type) = kind.types();
        builder = builder.field(name, in_type, out_type, 0, b"");
    }
    builder = builder.field("target", InType::Str8, OutType::Utf8, 0, b"");
    if shape.cut != 0 {
        builder = builder.field("cut", InType::U32, OutType::Default, 0, b"");
    }
    builder.finish().map_or(&[], |(metadata, _)| metadata)
}
