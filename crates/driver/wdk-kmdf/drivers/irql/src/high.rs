//! What may be called at any IRQL, called at `HIGH_LEVEL`.

use core::ffi::c_void;

use wdk_etw::tracelogging::EventBuilder;
use wdk_etw::{
    ActivityScope, EnableRequest, EventDescriptor, FilterData, FixedText, Guid, IrpActivity, Kernel, Keyword, Level,
    NtStatus, Provider, ProviderBuffer, Registration, SetInformationMode, WriteFlags, compat, start_activity,
    stop_activity, write_event,
};
use wdk_kmdf::{
    ChildDevice, ChildInit, ControlDevice, ControlInit, DeviceBuilder, DeviceHandle, DeviceInit, DeviceRef, FileHandle,
    Interrupt, IoTarget, Isr, Memory, Output, OwnRequest, Passive, PdoInit, PendingRequest, PowerState, Queue,
    QueueConfig, RegistryKey, Request, Resources, SpinLock, StoppedRequest, Timer, UnicodeString, WaitLock, WmiBlock,
    WmiMethod, WorkItem, wide,
};

use crate::device::{Child, Irql};
use crate::{COMPAT, HIGH_LEVEL, NAMED, PROVIDER, ROUTINES, at};

const EVENT: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1));
const TEXT: [u16; 5] = wide(b"text\0");

/// Writes events in every way.
pub(crate) fn events() {
    let id = Guid::from_u128(7);
    at(HIGH_LEVEL, || {
        write_event!(PROVIDER, "High", u32("Number", &1), str8("Text", "text"));
        let _ = Provider::enabled(&PROVIDER, Level::Informational, 1);
        let _ = Provider::query_enabled(&PROVIDER, Level::Informational, 1);
        let _ = Provider::query_event_enabled(&PROVIDER, &EVENT);
        Provider::write(&PROVIDER, &EVENT, Some(&id), None, &[]);
        Provider::write_ex(
            &PROVIDER,
            &EVENT,
            0,
            WriteFlags::from_bits(WriteFlags::bits(WriteFlags::NONE)),
            None,
            None,
            &[],
        );
        Provider::write_string(&PROVIDER, Level::Informational, 1, None, &TEXT);
        let mut metadata = [0; 64];
        let mut payload = [0; 64];
        let event = EventBuilder::new(&mut metadata, &mut payload, "Built", 0).str8("Text", "text");
        Provider::write_built(&PROVIDER, &EVENT, None, None, event);
    });
}

/// Begins activities and ends them in every way.
pub(crate) fn activities() {
    at(HIGH_LEVEL, || {
        let _ = Provider::new_activity_id(&PROVIDER);
        let scope = start_activity!(PROVIDER, "Dropped");
        let _ = (ActivityScope::id(&scope), ActivityScope::is_active(&scope));
        drop(scope);
        ActivityScope::stop(start_activity!(PROVIDER, "Stopped"));
        let _ = ActivityScope::into_id(start_activity!(PROVIDER, "Taken"));
        stop_activity!(start_activity!(PROVIDER, "Fields"), u32("Field", &1));
        let mut scope = start_activity!(PROVIDER, "Result", result(ntstatus("Status")));
        ActivityScope::set_result(&mut scope, NtStatus::Success);
        let _ = ActivityScope::result(&scope);
        ActivityScope::stop_with(scope, NtStatus::Cancelled);
        let scope = start_activity!(PROVIDER, "Finished", result(ntstatus("Status")));
        let _ = ActivityScope::finish(scope, Ok::<(), NtStatus>(()));
    });
}

/// Reads what providers and texts have.
pub(crate) fn values() {
    at(HIGH_LEVEL, || {
        let provider: &Provider<Kernel> = &PROVIDER;
        let _ = (Provider::id(provider), Provider::name(provider), Provider::traits(provider));
        let _ = (Provider::is_registered(provider), Provider::traits_status(provider));
        let _: Provider<Kernel> = Provider::new(Guid::ZERO, PROVIDER.traits(), SetInformationMode::Off);
        let _: Provider<Kernel> = Provider::for_manifest(Guid::ZERO, b"Made");
        let _ = SetInformationMode::for_ntddi(0) == SetInformationMode::for_winver(0);
        let mut text: FixedText<16> = FixedText::new();
        FixedText::format(&mut text, format_args!("{}", 1));
        let _ = (FixedText::as_str(&text).len(), FixedText::cut(&text));
        let _: ProviderBuffer<64> = ProviderBuffer::new();
        let _ = ProviderBuffer::define(&NAMED, "Irql.Named", None);
        let _ = ProviderBuffer::get(&NAMED);
        let _ = compat::Provider::create_activity_id() == compat::Provider::guid_from_name("Irql.Driver");
        let _ = compat::Provider::raw_meta(&COMPAT);
    });
}

pub(crate) fn registration(registration: &Registration<Kernel>) {
    at(HIGH_LEVEL, || {
        let _ = Registration::provider(registration);
    });
}

/// Reads what a session requests, and returns the length of the filter. Runs in the enable callback.
pub(crate) fn request(request: &EnableRequest<'_>) -> Option<usize> {
    at(HIGH_LEVEL, || {
        let _ = (EnableRequest::source(request), EnableRequest::control(request), EnableRequest::level(request));
        let _ = (EnableRequest::match_any(request), EnableRequest::match_all(request));
        let _ = EnableRequest::context(request);
        let filter = EnableRequest::filter(request)?;
        let _ = FilterData::kind(&filter);
        Some(FilterData::bytes(&filter).len())
    })
}

/// Reads and sets the activity id of an IRP.
pub(crate) fn irp(irp: *mut c_void) {
    let id = Guid::from_u128(7);
    at(HIGH_LEVEL, || {
        drop(IrpActivity::new());
        // SAFETY: the driver owns the request of the IRP.
        let _ = unsafe { IrpActivity::set(&ROUTINES, irp, &id) };
        // SAFETY: as above.
        let _ = unsafe { IrpActivity::get(&ROUTINES, irp) };
    });
}

pub(crate) fn builder(init: DeviceInit<'_>) -> DeviceBuilder<'_, Irql> {
    at(HIGH_LEVEL, || {
        let _ = DeviceInit::raw(&init);
        let builder = DeviceBuilder::passive_level(DeviceInit::device::<Irql>(init));
        let _ = DeviceBuilder::raw(&builder);
        builder
    })
}

pub(crate) fn child(init: &ChildInit<'_, Child>) {
    at(HIGH_LEVEL, || {
        let _ = ChildInit::raw(init);
    });
}

pub(crate) fn description(init: &PdoInit<'_>) {
    at(HIGH_LEVEL, || {
        let _ = PdoInit::raw(init);
    });
}

pub(crate) fn control(init: &ControlInit<'_, Child>) {
    at(HIGH_LEVEL, || {
        let _ = ControlInit::raw(init);
    });
}

pub(crate) fn control_device(device: &ControlDevice<Child>) {
    at(HIGH_LEVEL, || {
        let _ = ControlDevice::raw(device);
    });
}

pub(crate) fn handles(device: &DeviceHandle<'_, Irql>, reference: &DeviceRef<Irql>, child: &ChildDevice<Child>) {
    at(HIGH_LEVEL, || {
        let _ = (DeviceHandle::raw(device), DeviceRef::raw(reference), ChildDevice::raw(child));
    });
}

pub(crate) fn objects(device: &Irql) {
    at(HIGH_LEVEL, || {
        let _ = (wdk_kmdf::DriverHandle::raw(device.driver), wdk_kmdf::ChildList::raw(&device.children));
        let _ = (Interrupt::raw(&device.interrupt), IoTarget::raw(&device.target), OwnRequest::raw(&device.own));
        let _ = (PendingRequest::raw(&device.pending), Queue::raw(&device.manual), Timer::raw(&device.timer));
        let _ = (WaitLock::raw(&device.wait_lock), WmiBlock::raw(&device.block), WorkItem::raw(&device.work));
        let _ = SpinLock::new(0);
        let _ = (Passive::current(), PowerState::as_int(PowerState::D0));
        let config = QueueConfig::default_queue(QueueConfig::sequential());
        let _ = QueueConfig::allow_zero_length(QueueConfig::not_power_managed(config));
        let _ = (QueueConfig::parallel(), QueueConfig::parallel_up_to(2));
    });
}

pub(crate) fn values_of(memory: &Memory, string: &UnicodeString, key: &RegistryKey<'_>) {
    at(HIGH_LEVEL, || {
        let _ = (Memory::raw(memory), UnicodeString::raw(string), RegistryKey::raw(key));
    });
}

pub(crate) fn file(file: &FileHandle<'_>) {
    at(HIGH_LEVEL, || {
        let _ = FileHandle::raw(file);
    });
}

pub(crate) fn resources(resources: &Resources<'_>) {
    at(HIGH_LEVEL, || {
        let _ = Resources::raw(resources);
    });
}

pub(crate) fn stopped(request: &StoppedRequest<'_>) {
    at(HIGH_LEVEL, || {
        let _ = (StoppedRequest::raw(request), StoppedRequest::is_removal(request));
    });
}

pub(crate) fn interrupt(isr: &Isr<'_>) {
    at(HIGH_LEVEL, || {
        let _ = Isr::raw(isr);
    });
}

pub(crate) fn method(method: &WmiMethod<'_>) {
    at(HIGH_LEVEL, || {
        let _ = WmiMethod::id(method);
    });
}

/// Reads what a request has, and replies with its input.
pub(crate) fn client(request: &mut Request) {
    at(HIGH_LEVEL, || {
        let _ = (Request::raw(request), Request::kind(request), Request::information(request));
        let _ = (Request::input_length(request), Request::output_length(request));
        let _ = Request::reply_with_input(request);
        Request::consume(request, 1);
    });
}

pub(crate) fn output(output: &Output<'_>) {
    at(HIGH_LEVEL, || {
        let _ = (Output::remaining(output), Output::written(output));
        let _: [u16; 4] = wide(b"wide");
    });
}
