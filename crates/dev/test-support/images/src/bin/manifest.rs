//! Events by descriptor, events that are built at run time, and activities.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{EventDataDescriptor, EventDescriptor, InType, Keyword, Level, OutType, WriteFlags};
use wdk_etw::{define_provider, start_activity, write_event};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Manifest", set_information(Off));

const EVENT: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_id_version(7, 1);

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { PROVIDER.register() };
    if PROVIDER.query_event_enabled(&EVENT) || PROVIDER.query_enabled(Level::Error, Keyword::NONE) {
        write_by_descriptor(input);
    }
    write_assembled(input);
    write_activity(input);
    status.as_int()
}

fn unload() {
    PROVIDER.unregister();
}

fn write_by_descriptor(input: Input<'_>) {
    let activity = PROVIDER.new_activity_id();
    let data = [EventDataDescriptor::new(input.bytes)];
    PROVIDER.write(&EVENT, Some(&activity), None, &data);
    PROVIDER.write_ex(&EVENT, 0, WriteFlags::NONE, None, Some(&activity), &data);
    PROVIDER.write_string(Level::Warning, Keyword::NONE, None, input.units);
}

fn write_assembled(input: Input<'_>) {
    let (mut metadata, mut payload) = ([0; 128], [0; 64]);
    let name = str::from_utf8(input.bytes).unwrap_or_default();
    let event = EventBuilder::new(&mut metadata, &mut payload, name, u32::from(input.path.length))
        .hex32(name, 7)
        .str8(name, name)
        .str16(name, input.units)
        .structure(name, 2, 0)
        .array(name, InType::U8, OutType::Hex, 1, input.seed, input.bytes)
        .bool8("bool", input.seed == 3);
    PROVIDER.write_built(&EVENT, None, None, event);
}

fn write_activity(input: Input<'_>) {
    let outer = start_activity!(PROVIDER, "Outer", level(Verbose));
    let inner = start_activity!(PROVIDER, "Inner", related_id(outer.id()), usize("seed", &input.seed));
    write_event!(PROVIDER, "Between", activity_id(inner.id()));
    inner.stop();
}
