//! Writing: values and metadata become an event.

use tracing_core::Metadata;
use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{EventDataDescriptor, EventDescriptor, Guid, InType, Keyword, Mode, Opcode, OutType, Provider};

use crate::level::etw_level;
use crate::sites;
use crate::values::{Shape, Values};

/// Metadata that is not kept is encoded here.
const METADATA_SIZE: usize = 512;

/// The metadata of an event whose names do not fit, or contain a NUL: it says at least where it comes from.
static TOO_LONG: &[u8] = b"\x12\0\0event\0target\0\x97\x23";

const _: () = assert!(TOO_LONG.len() == 0x12);

/// The ids of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    pub(crate) activity: Option<Guid>,
    pub(crate) related: Option<Guid>,
}

/// Writes an event of a call site.
pub(crate) fn write<M: Mode>(
    provider: &Provider<M>,
    metadata: &'static Metadata<'static>,
    keyword: Keyword,
    opcode: Opcode,
    ids: Ids,
    values: &Values<M>,
) -> M::Status {
    let shape = &values.shape;
    if let Some(encoded) = sites::find(metadata, shape) {
        return send(provider, metadata, keyword, opcode, ids, encoded, values);
    }
    let mut buffer = [0; METADATA_SIZE];
    let encoded = encode(&mut buffer, metadata, shape);
    if encoded.is_empty() {
        return send(provider, metadata, keyword, opcode, ids, TOO_LONG, &Values::new());
    }
    sites::keep(metadata, shape, encoded);
    send(provider, metadata, keyword, opcode, ids, encoded, values)
}

/// The metadata of a call site for events of `shape`; empty if it is too long.
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

fn send<M: Mode>(
    provider: &Provider<M>,
    metadata: &'static Metadata<'static>,
    keyword: Keyword,
    opcode: Opcode,
    ids: Ids,
    encoded: &[u8],
    values: &Values<M>,
) -> M::Status {
    let descriptor = EventDescriptor { opcode, ..EventDescriptor::new(etw_level(*metadata.level()), keyword) };
    let target = metadata.target();
    // A path of modules is not as long as this.
    let target = target.get(..target.len().min(usize::from(u16::MAX))).unwrap_or_default();
    let length = u16::try_from(target.len()).unwrap_or_default().to_le_bytes();
    let cut = values.shape.cut.to_le_bytes();
    provider.write(
        &descriptor,
        ids.activity.as_ref(),
        ids.related.as_ref(),
        &[
            provider.traits_descriptor(),
            EventDataDescriptor::event_metadata(encoded),
            EventDataDescriptor::new(values.bytes()),
            EventDataDescriptor::new(&length),
            EventDataDescriptor::new(target.as_bytes()),
            EventDataDescriptor::new(if values.shape.cut == 0 { &[] } else { &cut }),
        ],
    )
}
