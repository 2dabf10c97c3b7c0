//! Windows Management Instrumentation: providers and instances of the framework's devices.

use etw_types::{Guid, NtStatus};

use super::Handle;
use super::attributes::Attributes;
use super::device::with_device;
use super::object::{self, Data, create, created};
use crate::kernel::io::wmi::{self, WmiOperation, WmiRequest};
use crate::kernel::{self, Answer, call_back, kernel};
use crate::layout::{WDF_WMI_INSTANCE_CONFIG, WDF_WMI_PROVIDER_CONFIG};
use crate::memory::{Code, GuestPtr};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};

/// `WDF_WMI_PROVIDER_CONTROL`.
const EVENTS: u32 = 1;
const INSTANCES: u32 = 2;

pub(super) const FUNCTIONS: &[Routine] = &[
    // Arguments: device, configuration, attributes, place for the provider.
    routine!("WdfWmiProviderCreate", PASSIVE, |call| {
        let attributes = Attributes::read(call.ptr(3))?;
        created(new_provider(call, call.ptr(2), &attributes), call.ptr(4))
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfWmiProviderGetDevice", DISPATCH, |call| provider(call.handle(1)).device),
    // Arguments: provider, control: events or instances.
    routine!("WdfWmiProviderIsEnabled", DISPATCH, |call| {
        let provider = provider(call.handle(1));
        match call.u32(2) {
            EVENTS => provider.events,
            INSTANCES => provider.instances,
            _ => false,
        }
    }),
    // Tracing through WMI is not supported, so there is no handle.
    fixed("WdfWmiProviderGetTracingHandle", DISPATCH, 0),
    // Arguments: device, configuration, attributes, place for the instance.
    routine!("WdfWmiInstanceCreate", PASSIVE, create_instance).fails(NtStatus::InsufficientResources),
    routine!("WdfWmiInstanceRegister", PASSIVE, |call| {
        with_instance(call.handle(1), |instance| instance.registered = true);
        NtStatus::Success
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfWmiInstanceDeregister", PASSIVE, |call| {
        with_instance(call.handle(1), |instance| instance.registered = false);
    }),
    routine!("WdfWmiInstanceGetDevice", DISPATCH, |call| provider(instance(call.handle(1)).provider).device),
    routine!("WdfWmiInstanceGetProvider", DISPATCH, |call| instance(call.handle(1)).provider),
    // Arguments: instance, size, data.
    routine!("WdfWmiInstanceFireEvent", DISPATCH, |call| {
        let instance = instance(call.handle(1));
        let data = call.ptr::<u8>(3).array(call.u32(2).into());
        if !data.is_empty() {
            data.read()?;
        }
        wmi::event(provider(instance.provider).guid, data.len());
        done(())
    })
    .fails(NtStatus::InsufficientResources),
];

/// A provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provider {
    device: Handle,
    guid: Guid,
    /// The minimum number of bytes of a query's buffer.
    least: u32,
    control: GuestPtr<Code>,
    events: bool,
    instances: bool,
}

/// An instance of a provider.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    provider: Handle,
    registered: bool,
    /// A query returns the instance's context.
    context: bool,
    query: GuestPtr<Code>,
    set: GuestPtr<Code>,
    set_item: GuestPtr<Code>,
    method: GuestPtr<Code>,
}

fn with_provider<R>(handle: Handle, body: impl FnOnce(&mut Provider) -> R) -> R {
    object::part(handle, |data| match data {
        Data::WmiProvider(provider) => Some(body(provider)),
        _ => None,
    })
}

fn provider(handle: Handle) -> Provider {
    with_provider(handle, |provider| *provider)
}

fn with_instance<R>(handle: Handle, body: impl FnOnce(&mut Instance) -> R) -> R {
    object::part(handle, |data| match data {
        Data::WmiInstance(instance) => Some(body(instance)),
        _ => None,
    })
}

fn instance(handle: Handle) -> Instance {
    with_instance(handle, |instance| *instance)
}

/// Returns the objects of a device for which `kind` returns a value, oldest first.
fn of_kind<T>(device: Handle, kind: impl Fn(&Data) -> Option<T>) -> Vec<(Handle, T)> {
    super::with(|framework| {
        let objects = framework.objects.iter().filter_map(|(handle, object)| Some((*handle, kind(&object.data)?)));
        objects.filter(|(handle, _)| framework.is_below(*handle, device)).collect()
    })
}

fn find(device: Handle, guid: Guid) -> Option<Handle> {
    let all = of_kind(device, |data| match data {
        Data::WmiProvider(provider) => Some(*provider),
        _ => None,
    });
    all.into_iter().find(|(_, provider)| provider.guid == guid).map(|(handle, _)| handle)
}

fn new_provider(call: &Call, config: GuestPtr<WDF_WMI_PROVIDER_CONFIG>, attributes: &Attributes) -> Outcome<Handle> {
    let (device, guid) = (call.handle(1), config.Guid().id()?);
    with_device(device, |_| ());
    if find(device, guid).is_some() {
        return fail(NtStatus::ObjectNameCollision);
    }
    let provider = Provider {
        device,
        guid,
        least: config.MinInstanceBufferSize().read()?,
        control: config.EvtWmiProviderFunctionControl().read()?,
        events: false,
        instances: false,
    };
    object::create_with(call.from, attributes, Some(device), Data::WmiProvider(provider))
}

fn create_instance(call: &Call) -> Outcome {
    let config = call.ptr::<WDF_WMI_INSTANCE_CONFIG>(2).read()?;
    let (given, described) = (Handle::new(config.Provider), config.ProviderConfig);
    let owner = match (given, described.non_null()) {
        (Handle::NULL, Some(described)) => new_provider(call, described, &Attributes::default())?,
        (Handle::NULL, None) => return fail(NtStatus::InvalidParameter),
        (given, _) => {
            provider(given);
            given
        }
    };
    let instance = Instance {
        provider: owner,
        registered: config.Register != 0,
        context: config.UseContextForQuery != 0,
        query: config.EvtWmiInstanceQueryInstance,
        set: config.EvtWmiInstanceSetInstance,
        set_item: config.EvtWmiInstanceSetItem,
        method: config.EvtWmiInstanceExecuteMethod,
    };
    let handle = create(call, call.ptr(3), Some(owner), Data::WmiInstance(instance))?;
    created(Ok(handle), call.ptr(4))
}

/// Sends a WMI request to a framework device.
pub(crate) fn ask(device: Handle, asked: &WmiRequest) -> Outcome<Answer> {
    let Some(owner) = object::exists(device).then(|| find(device, asked.guid)).flatten() else {
        return fail(NtStatus::WmiGuidNotFound);
    };
    if let WmiOperation::Events(on) | WmiOperation::Collection(on) = asked.operation {
        return Ok(control(owner, matches!(asked.operation, WmiOperation::Events(_)), on));
    }
    let instances = of_kind(device, |data| match data {
        Data::WmiInstance(instance) if instance.provider == owner && instance.registered => Some(*instance),
        _ => None,
    });
    let Some((handle, instance)) = instances.get(asked.instance as usize).copied() else {
        return fail(NtStatus::WmiInstanceNotFound);
    };
    if instance.context && asked.operation == WmiOperation::Query {
        let context = object::lookup(handle, |object| object.contexts.first().map(|(_, memory)| *memory));
        let output = context.unwrap_or_default().array(provider(owner).least.into()).read()?;
        return Ok(Answer { status: NtStatus::Success, information: output.len() as u64, output, reached: true });
    }
    let room = asked.output.max(asked.input.len() as u32);
    let buffer: GuestPtr<u8> = kernel::lock(&kernel().pool).try_new_objects(u64::from(room.max(1)))?;
    let used: GuestPtr<u32> = kernel::lock(&kernel().pool).new_object();
    buffer.write_all(&asked.input)?;
    let (length, place, count) = (asked.input.len() as u64, buffer.address(), used.address());
    let (name, callback, arguments) = match asked.operation {
        WmiOperation::Query => {
            ("EvtWmiInstanceQueryInstance", instance.query, vec![handle.as_int(), room.into(), place, count])
        }
        WmiOperation::Set => ("EvtWmiInstanceSetInstance", instance.set, vec![handle.as_int(), length, place]),
        WmiOperation::SetItem(item) => {
            ("EvtWmiInstanceSetItem", instance.set_item, vec![handle.as_int(), item.into(), length, place])
        }
        WmiOperation::Method(method) => (
            "EvtWmiInstanceExecuteMethod",
            instance.method,
            vec![handle.as_int(), method.into(), length, room.into(), place, count],
        ),
        WmiOperation::Events(_) | WmiOperation::Collection(_) => return fail(NtStatus::InvalidDeviceRequest),
    };
    let short = asked.operation == WmiOperation::Query && room < provider(owner).least;
    let status = match callback.non_null() {
        None => NtStatus::InvalidDeviceRequest,
        Some(_) if short => NtStatus::BufferTooSmall,
        Some(callback) => NtStatus::from_int(call_back(name, PASSIVE, callback, &arguments) as u32),
    };
    let output = if status.is_error() { Vec::new() } else { buffer.array(used.read()?.min(room).into()).read()? };
    for address in [buffer.address(), used.address()] {
        kernel::lock(&kernel().pool).free_object(address);
    }
    Ok(Answer { status, information: output.len() as u64, output, reached: !callback.is_null() })
}

/// Enables or disables the events or the data collection of a provider.
fn control(owner: Handle, events: bool, on: bool) -> Answer {
    let callback = with_provider(owner, |provider| {
        if events {
            provider.events = on;
        } else {
            provider.instances = on;
        }
        provider.control
    });
    let mut status = NtStatus::Success;
    if let Some(callback) = callback.non_null() {
        let control = if events { EVENTS } else { INSTANCES };
        let arguments = [owner.as_int(), control.into(), on.into()];
        status = NtStatus::from_int(call_back("EvtWmiProviderFunctionControl", PASSIVE, callback, &arguments) as u32);
    }
    Answer { status, reached: true, ..Answer::default() }
}
