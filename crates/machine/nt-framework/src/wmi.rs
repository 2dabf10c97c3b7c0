//! Windows Management Instrumentation: providers and instances of the framework's devices.

use etw_types::{Guid, NtStatus};
use nt_kernel::io::wmi::{self, WmiOperation, WmiRequest};
use nt_kernel::{Answer, Kernel, call_back, kernel};
use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_WMI_INSTANCE_CONFIG, WDF_WMI_PROVIDER_CONFIG};
use nt_processor::memory::{Code, GuestPtr};
use nt_verifier::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};
use windows_constants::framework::{
    WdfWmiEventControl, WdfWmiInstanceControl, WdfWmiProviderEventOnly, WdfWmiProviderExpensive, WdfWmiProviderTracing,
};

use crate::device;
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::life;
use crate::object::{self, created, created_if_wanted};
use crate::state::with;
use crate::{Handle, structures};

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWmiProviderCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_WMI_PROVIDER_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        let attributes = Attributes::read(attributes, Options::WITHOUT_PARENT)?;
        object::needs_place(place);
        created(new_provider(call, device, config, &attributes), place)
    }

    #[irql(DISPATCH)]
    fn WdfWmiProviderGetDevice(handle: Handle) -> Handle {
        provider(handle).device
    }

    #[irql(DISPATCH)]
    fn WdfWmiProviderIsEnabled(handle: Handle, control: i32) -> bool {
        let provider = provider(handle);
        match control {
            WdfWmiEventControl => provider.events,
            WdfWmiInstanceControl => provider.instances,
            _ => false,
        }
    }

    /// Tracing through WMI is not supported, so there is no handle.
    #[irql(DISPATCH), fixed]
    fn WdfWmiProviderGetTracingHandle(provider: Handle) -> u64 {
        with_provider(provider, |_| 0)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWmiInstanceCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_WMI_INSTANCE_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created_if_wanted(create_instance(call, device, config, attributes), place)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWmiInstanceRegister(handle: Handle) -> NtStatus {
        with_instance(handle, |instance| instance.registered = true);
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfWmiInstanceDeregister(handle: Handle) {
        with_instance(handle, |instance| instance.registered = false);
    }

    #[irql(DISPATCH)]
    fn WdfWmiInstanceGetDevice(handle: Handle) -> Handle {
        provider(instance(handle).provider).device
    }

    #[irql(DISPATCH)]
    fn WdfWmiInstanceGetProvider(handle: Handle) -> Handle {
        instance(handle).provider
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfWmiInstanceFireEvent(handle: Handle, size: u32, data: GuestPtr<u8>) -> Outcome {
        let instance = instance(handle);
        let data = data.array(size.into());
        if !data.is_empty() {
            data.read()?;
        }
        wmi::event(provider(instance.provider).guid, data.len());
        done(())
    }
}

/// A provider.
#[derive(Clone, Copy, Debug)]
struct Provider {
    device: Handle,
    guid: Guid,
    flags: u32,
    /// The minimum number of bytes of a query's buffer.
    least: u32,
    control: GuestPtr<Code>,
    events: bool,
    instances: bool,
}

/// An instance of a provider.
#[derive(Clone, Copy, Debug)]
struct Instance {
    provider: Handle,
    registered: bool,
    /// The size of the instance's context, if a query returns the context.
    context: Option<u64>,
    query: GuestPtr<Code>,
    set: GuestPtr<Code>,
    set_item: GuestPtr<Code>,
    method: GuestPtr<Code>,
}

impl Kind for Provider {
    fn name(&self) -> &'static str {
        "WMI provider"
    }

    fn is_kept(&self) -> bool {
        true
    }
}

impl Kind for Instance {
    fn name(&self) -> &'static str {
        "WMI instance"
    }
}

fn with_provider<R>(handle: Handle, body: impl FnOnce(&mut Provider) -> R) -> R {
    object::part(handle, body)
}

fn provider(handle: Handle) -> Provider {
    with_provider(handle, |provider| *provider)
}

fn with_instance<R>(handle: Handle, body: impl FnOnce(&mut Instance) -> R) -> R {
    object::part(handle, body)
}

fn instance(handle: Handle) -> Instance {
    with_instance(handle, |instance| *instance)
}

/// Returns the objects of a kind that belong to a device and that `is_wanted` accepts.
fn below<T: Kind + Copy>(device: Handle, is_wanted: impl Fn(&T) -> bool) -> Vec<(Handle, T)> {
    with(|framework| {
        let objects = framework.all::<T>().filter(|(handle, _)| framework.is_below(*handle, device));
        objects.filter(|(_, data)| is_wanted(data)).map(|(handle, data)| (handle, *data)).collect()
    })
}

/// Returns the first provider of a device that has a GUID. Several may have the same one.
fn find(device: Handle, guid: Guid) -> Option<Handle> {
    below(device, |provider: &Provider| provider.guid == guid).first().map(|(handle, _)| *handle)
}

/// Checks the configuration as Microsoft's framework does (irphandlers/wmi/fxwmiprovider.cpp).
fn new_provider(
    call: &Call,
    device: Handle,
    config: GuestPtr<WDF_WMI_PROVIDER_CONFIG>,
    attributes: &Attributes,
) -> Outcome<Handle> {
    device::check(device);
    structures::WMI_PROVIDER_CONFIG.check(config)?;
    let guid = config.Guid().id()?;
    let flags = config.Flags().read()?;
    let control = config.EvtWmiProviderFunctionControl().read()?;
    let is_unknown = flags & !(WdfWmiProviderEventOnly | WdfWmiProviderExpensive | WdfWmiProviderTracing) != 0;
    let is_mixed = flags & WdfWmiProviderTracing != 0 && flags != WdfWmiProviderTracing;
    let is_never_called = !control.is_null() && flags & (WdfWmiProviderExpensive | WdfWmiProviderTracing) == 0;
    if is_unknown || is_mixed || is_never_called || guid == Guid::default() {
        return fail(NtStatus::InvalidParameter);
    }
    let provider = Provider {
        device,
        guid,
        flags,
        least: config.MinInstanceBufferSize().read()?,
        control,
        events: false,
        instances: false,
    };
    object::create_with(call.from, attributes, Some(device), provider)
}

fn create_instance(
    call: &Call,
    device: Handle,
    config: GuestPtr<WDF_WMI_INSTANCE_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome<Handle> {
    structures::WMI_INSTANCE_CONFIG.check(config)?;
    let config = config.read()?;
    let given = Handle::new(config.Provider);
    let described = config.ProviderConfig;
    let owner = match (given.non_null(), described.non_null()) {
        (None, Some(described)) => new_provider(call, device, described, &Attributes::default())?,
        (Some(given), None) => given,
        _ => return fail(NtStatus::InvalidParameter),
    };
    new_instance(call, &config, attributes, owner).inspect_err(|_| {
        if given.is_null() {
            life::delete(owner);
        }
    })
}

/// Checks the configuration as Microsoft's framework does (irphandlers/wmi/fxwmiinstance.cpp).
fn new_instance(
    call: &Call,
    config: &WDF_WMI_INSTANCE_CONFIG,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    owner: Handle,
) -> Outcome<Handle> {
    let Provider { flags, least, .. } = provider(owner);
    let sets = !config.EvtWmiInstanceSetInstance.is_null() || !config.EvtWmiInstanceSetItem.is_null();
    let has_callback =
        sets || !config.EvtWmiInstanceQueryInstance.is_null() || !config.EvtWmiInstanceExecuteMethod.is_null();
    let uses_context = config.UseContextForQuery != 0;
    let attributes = Attributes::read(attributes, Options::WITHOUT_PARENT)?;
    let context = attributes.context.map(|context| context.size);
    if flags & WdfWmiProviderEventOnly != 0 && (uses_context || has_callback)
        || uses_context && (sets || context.is_none())
    {
        return fail(NtStatus::InvalidParameter);
    }
    if uses_context && context.is_some_and(|size| size < least.into()) {
        return fail(NtStatus::BufferTooSmall);
    }
    let instance = Instance {
        provider: owner,
        registered: config.Register != 0,
        context: context.filter(|_| uses_context),
        query: config.EvtWmiInstanceQueryInstance,
        set: config.EvtWmiInstanceSetInstance,
        set_item: config.EvtWmiInstanceSetItem,
        method: config.EvtWmiInstanceExecuteMethod,
    };
    object::create_with(call.from, &attributes, Some(owner), instance)
}

/// Sends a WMI request to a framework device. The statuses are those of Microsoft's framework
/// (irphandlers/wmi/fxwmiirphandler.cpp).
pub fn request(device: Handle, requested: &WmiRequest) -> Outcome<Answer> {
    let sets = matches!(requested.operation, WmiOperation::Set | WmiOperation::SetItem(_));
    let result = query_instance(device, requested)?;
    if sets && result.status == NtStatus::BufferTooSmall {
        return fail(NtStatus::WmiSetFailure);
    }
    Ok(result)
}

fn query_instance(device: Handle, requested: &WmiRequest) -> Outcome<Answer> {
    let Kernel { pool, .. } = kernel();
    let Some(owner) = object::exists(device).then(|| find(device, requested.guid)).flatten() else {
        return fail(NtStatus::WmiGuidNotFound);
    };
    if let WmiOperation::Events(on) | WmiOperation::Collection(on) = requested.operation {
        return Ok(control(owner, matches!(requested.operation, WmiOperation::Events(_)), on));
    }
    let instances = below(device, |instance: &Instance| instance.provider == owner && instance.registered);
    let Some((handle, instance)) = instances.get(requested.instance as usize).copied() else {
        return fail(NtStatus::WmiInstanceNotFound);
    };
    let least = u64::from(provider(owner).least);
    // The number of bytes that the framework itself requires.
    let needed = match requested.operation {
        WmiOperation::Query => (u64::from(requested.output), instance.context.unwrap_or(least)),
        WmiOperation::Set => (requested.input.len() as u64, least),
        _ => (0, 0),
    };
    let short = needed.0 < needed.1;
    let too_small =
        || Ok(Answer { status: NtStatus::BufferTooSmall, information: needed.1, output: Vec::new(), reached: true });
    if let Some(size) = instance.context.filter(|_| requested.operation == WmiOperation::Query) {
        if short {
            return too_small();
        }
        let context = object::lookup(handle, |object| object.contexts.first().map(|(_, memory)| *memory));
        let output = context.unwrap_or_default().array(size).read()?;
        return Ok(Answer { status: NtStatus::Success, information: output.len() as u64, output, reached: true });
    }
    let callback = match requested.operation {
        WmiOperation::Query => instance.query,
        WmiOperation::Set => instance.set,
        WmiOperation::SetItem(_) => instance.set_item,
        _ => instance.method,
    };
    if callback.is_null() {
        let sets = matches!(requested.operation, WmiOperation::Set | WmiOperation::SetItem(_));
        return fail(if sets { NtStatus::WmiReadOnly } else { NtStatus::InvalidDeviceRequest });
    }
    if short {
        return too_small();
    }
    let room = requested.output.max(requested.input.len() as u32);
    let buffer: GuestPtr<u8> = nt_kernel::lock(pool).try_new_objects(u64::from(room.max(1)))?;
    let used: GuestPtr<u32> = nt_kernel::lock(pool).new_object();
    buffer.write_all(&requested.input)?;
    let length = requested.input.len() as u64;
    let place = buffer.address();
    let count = used.address();
    let (name, arguments) = match requested.operation {
        WmiOperation::Query => ("EvtWmiInstanceQueryInstance", vec![handle.as_int(), room.into(), place, count]),
        WmiOperation::Set => ("EvtWmiInstanceSetInstance", vec![handle.as_int(), length, place]),
        WmiOperation::SetItem(item) => ("EvtWmiInstanceSetItem", vec![handle.as_int(), item.into(), length, place]),
        WmiOperation::Method(method) => {
            ("EvtWmiInstanceExecuteMethod", vec![handle.as_int(), method.into(), length, room.into(), place, count])
        }
        WmiOperation::Events(_) | WmiOperation::Collection(_) => return fail(NtStatus::InvalidDeviceRequest),
    };
    let status = NtStatus::from_int(call_back(name, PASSIVE, callback, &arguments) as u32);
    let used_bytes = used.read()?;
    let output = if status.is_error() { Vec::new() } else { buffer.array(used_bytes.min(room).into()).read()? };
    for address in [buffer.address(), used.address()] {
        nt_kernel::lock(pool).free_object(address);
    }
    let information = if status == NtStatus::BufferTooSmall { used_bytes.into() } else { output.len() as u64 };
    Ok(Answer { status, information, output, reached: true })
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
        let control = if events { WdfWmiEventControl } else { WdfWmiInstanceControl };
        let arguments = [owner.as_int(), control.cast_unsigned().into(), on.into()];
        status = NtStatus::from_int(call_back("EvtWmiProviderFunctionControl", PASSIVE, callback, &arguments) as u32);
    }
    if status.is_error() {
        with_provider(owner, |provider| *(if events { &mut provider.events } else { &mut provider.instances }) = false);
    }
    Answer { status, reached: true, ..Answer::default() }
}
