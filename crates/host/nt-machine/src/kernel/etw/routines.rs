//! The ETW routines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use etw_engine::{
    Buffer, Callback, Enable, Engine, EventWrite, Finding, Notification, Origin, Routine as Called, Session,
};
use etw_types::{EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus};

use super::data::EventData;
use crate::cpu::thread;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::{EVENT_DATA_DESCRIPTOR, EVENT_DESCRIPTOR, EVENT_FILTER_DESCRIPTOR, GUID};
use crate::memory::OrStop as _;
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{ANY, APC, Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine!("EtwRegister", PASSIVE, register).fails(NtStatus::NoMemory),
    routine!("EtwUnregister", PASSIVE, unregister),
    routine!("EtwSetInformation", PASSIVE, set_information).fails(NtStatus::NotSupported),
    routine!("EtwEventEnabled", ANY, |call| {
        let descriptor = descriptor(call.ptr(1))?;
        done(report(kernel().engine.event_enabled(call.arg(0), &descriptor)))
    }),
    routine!("EtwProviderEnabled", ANY, |call| {
        let (level, keyword) = (Level::from_int(call.u8(1)), Keyword::from_bits(call.arg(2)));
        report(kernel().engine.provider_enabled(call.arg(0), level, keyword))
    }),
    // Arguments: handle and descriptor; then, depending on the routine, filter, flags, activity and related activity;
    // then count and data.
    routine!("EtwWrite", ANY, |call| {
        write(call, Called::Write, (0, 0), (call.ptr(2), GuestPtr::NULL), (call.u32(3), call.ptr(4)))
    })
    .fails(NtStatus::NoMemory)
    .keeps_nothing(),
    routine!("EtwWriteTransfer", ANY, |call| {
        write(call, Called::WriteTransfer, (0, 0), (call.ptr(2), call.ptr(3)), (call.u32(4), call.ptr(5)))
    })
    .fails(NtStatus::NoMemory)
    .keeps_nothing(),
    routine!("EtwWriteEx", ANY, |call| {
        let filter = (call.arg(2), call.u32(3));
        write(call, Called::WriteEx, filter, (call.ptr(4), call.ptr(5)), (call.u32(6), call.ptr(7)))
    })
    .fails(NtStatus::NoMemory)
    .keeps_nothing(),
    routine!("EtwWriteString", ANY, |call| {
        let (level, keyword) = (Level::from_int(call.u8(1)), Keyword::from_bits(call.arg(2)));
        let (activity, text) = (optional_guid(call.ptr(3))?, call.ptr::<u16>(4).terminated()?);
        done(report(kernel().engine.write_string(call.arg(0), level, keyword, activity, &text)))
    })
    .fails(NtStatus::NoMemory)
    .keeps_nothing(),
    routine!("EtwActivityIdControl", APC, |call| {
        let mut id = call.ptr::<GUID>(1).id()?;
        let result = kernel().engine.activity_id_control(call.u32(0), &mut id);
        if result.is_success() {
            call.ptr::<GUID>(1).set_id(id)?;
        }
        done(report(result))
    }),
];

/// The delay of a write when the host looks for races, in units of 100 ns.
const LATE: u64 = 1000;

/// The state that the engine does not have: the threads that are writing, and the findings that were already reported.
pub(crate) struct Writers {
    /// The threads that are inside a write, by registration handle.
    inside: BTreeMap<u64, Vec<u32>>,
    /// The threads that are inside an enable callback.
    calling: Vec<u32>,
    /// The return address of the call that registered each handle.
    registered: BTreeMap<u64, u64>,
    /// The number of the engine's findings that were reported.
    reported: usize,
    /// The session that receives the events of all providers, if there is one.
    session: Option<Session>,
    /// The providers that are enabled in that session.
    traced: BTreeSet<Guid>,
    /// The number of successful writes.
    written: u64,
}

impl Writers {
    pub(crate) fn new(engine: &Engine, trace_all: bool) -> Self {
        Self {
            inside: BTreeMap::new(),
            calling: Vec::new(),
            registered: BTreeMap::new(),
            reported: 0,
            session: trace_all.then(|| engine.start_session("nt-host")),
            traced: BTreeSet::new(),
            written: 0,
        }
    }

    /// Returns the number of events that were written successfully.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Returns the session that receives the events of all providers, if there is one.
    pub(crate) fn session(&self) -> Option<Session> {
        self.session.clone()
    }
}

fn optional_guid(place: GuestPtr<GUID>) -> Result<Option<Guid>, Fault> {
    place.non_null().map(GuestPtr::<GUID>::id).transpose()
}

fn descriptor(place: GuestPtr<EVENT_DESCRIPTOR>) -> Result<EventDescriptor, Fault> {
    let descriptor = place.read()?;
    Ok(EventDescriptor {
        id: descriptor.Id,
        version: descriptor.Version,
        channel: etw_types::Channel::from_int(descriptor.Channel),
        level: Level::from_int(descriptor.Level),
        opcode: etw_types::Opcode::from_int(descriptor.Opcode),
        task: descriptor.Task,
        keyword: Keyword::from_bits(descriptor.Keyword),
    })
}

/// Reports the engine's new findings, and returns `result`.
fn report<T>(result: T) -> T {
    let findings = kernel().engine.findings();
    let new: Vec<Finding> = {
        let mut writers = lock(&kernel().etw);
        let new = findings.get(writers.reported..).unwrap_or_default().to_vec();
        writers.reported = findings.len();
        new
    };
    for finding in new {
        let rule = match finding {
            Finding::StaleHandle { .. } => Rule::StaleRegistration,
            _ => Rule::EtwMisuse,
        };
        verify::find(rule, format_args!("{}", describe(&finding)));
    }
    result
}

fn describe(finding: &Finding) -> String {
    match finding {
        Finding::RegisterInCallback { provider } => {
            format!("{provider} is registered in its own callback, which hangs on Windows")
        }
        Finding::UnregisterInCallback { provider, .. } => {
            format!("{provider} is unregistered in its own callback, which hangs on Windows")
        }
        Finding::JoinGroupInCallback { provider, .. } => {
            format!("{provider} joins a group in its own callback, which hangs on Windows")
        }
        Finding::StaleHandle { handle, .. } => format!("registration handle {handle:#x} is already unregistered"),
        Finding::UnknownHandle { handle, .. } => format!("{handle:#x} is not a registration handle"),
        Finding::UnreadableData { index, .. } => format!("data descriptor {index} has a size but no address"),
        Finding::SizeChanged { index, .. } => {
            format!("the size of data descriptor {index} changed during the call: bug check 0x11D")
        }
        other => format!("{other:?}"),
    }
}

/// Arguments: provider, callback, context, place for the handle.
fn register(call: &Call) -> Outcome<NtStatus> {
    let (target, context, place) = (call.ptr::<Code>(1), call.arg(2), call.ptr::<u64>(3));
    if call.arg(0) == 0 || place.is_null() || (target.is_null() && context != 0) {
        return fail(NtStatus::InvalidParameter);
    }
    let provider = call.ptr::<GUID>(0).id()?;
    trace(provider);
    let callback = target.non_null().map(|target| -> Callback {
        Arc::new(move |notification: &Notification<'_>| notify(target, context, notification))
    });
    let origin = Origin { image: format!("{}.sys", kernel().config.name), ..Origin::kernel() };
    // The engine may call the enable callback before it returns. The handle must be stored before that.
    let publish = |handle| place.write(handle).or_stop();
    let registered = kernel().engine.register_from(origin, provider, callback, publish);
    if let Ok(handle) = registered {
        lock(&kernel().etw).registered.insert(handle, call.from);
    }
    Ok(report(registered.err().unwrap_or(NtStatus::Success)))
}

/// Enables a provider in the session that receives all events, if there is one.
fn trace(provider: Guid) {
    let session = {
        let mut writers = lock(&kernel().etw);
        if writers.session.is_some() && writers.traced.insert(provider) { writers.session() } else { None }
    };
    if let Some(session) = session {
        let property = kernel().config.enable_property();
        session.enable(provider, Enable { property, ..Enable::default() });
    }
}

/// Calls the driver's enable callback.
fn notify(target: GuestPtr<Code>, context: u64, notification: &Notification<'_>) {
    let source = notification.source.to_bytes_le();
    let filter = notification.filter.map(|filter| EVENT_FILTER_DESCRIPTOR {
        Ptr: filter.data.as_ptr().expose_provenance() as u64,
        Size: u32::try_from(filter.data.len()).unwrap_or(u32::MAX),
        Type: filter.kind,
    });
    let filter = filter.as_ref().map_or(0, |filter| std::ptr::from_ref(filter).expose_provenance() as u64);
    let arguments = [
        source.as_ptr().expose_provenance() as u64,
        notification.control.as_int().into(),
        notification.level.as_int().into(),
        notification.any,
        notification.all,
        filter,
        context,
    ];
    lock(&kernel().etw).calling.push(thread::number());
    call_back("enable callback", PASSIVE, target, &arguments);
    let mut writers = lock(&kernel().etw);
    if let Some(position) = writers.calling.iter().position(|calling| *calling == thread::number()) {
        writers.calling.swap_remove(position);
    }
}

fn unregister(call: &Call) -> NtStatus {
    let handle = call.arg(0);
    let writer = {
        let mut writers = lock(&kernel().etw);
        writers.registered.remove(&handle);
        let inside = writers.inside.get(&handle).into_iter().flatten();
        // Unregistering waits for running enable callbacks, so their writes do not race with it.
        inside.copied().find(|writer| *writer != thread::number() && !writers.calling.contains(writer))
    };
    if writer.is_some() {
        verify::find(
            Rule::WriteRacesUnregister,
            format_args!("another thread is writing an event with this registration"),
        );
    }
    report(kernel().engine.unregister(handle))
}

/// Arguments: handle, class, data, length of the data.
fn set_information(call: &Call) -> Outcome<NtStatus> {
    let (data, length) = (call.ptr::<u8>(2), call.u32(3));
    let is_read = !data.is_null() && length <= Buffer::MAX;
    let bytes = if is_read { data.array(length.into()).read()? } else { Vec::new() };
    let buffer = match length {
        _ if is_read => Buffer::Bytes(&bytes),
        _ if data.is_null() => Buffer::Null(length),
        _ => Buffer::TooLong(length),
    };
    Ok(report(kernel().engine.set_information(call.arg(0), EventInfoClass::from_int(call.u32(1)), buffer)))
}

fn write(
    call: &Call,
    routine: Called,
    (filter, flags): (u64, u32),
    (activity, related): (GuestPtr<GUID>, GuestPtr<GUID>),
    (count, data): (u32, GuestPtr<EVENT_DATA_DESCRIPTOR>),
) -> Outcome<NtStatus> {
    let (handle, descriptor_at) = (call.arg(0), call.ptr::<EVENT_DESCRIPTOR>(1));
    if descriptor_at.is_null() {
        return fail(NtStatus::InvalidParameter);
    }
    let event = EventWrite {
        routine,
        handle,
        descriptor: descriptor(descriptor_at)?,
        filter,
        flags,
        activity: Some(optional_guid(activity)?.unwrap_or(Guid::ZERO)),
        related: optional_guid(related)?,
    };
    let blocks = EventData::new(data, count);
    let me = thread::number();
    lock(&kernel().etw).inside.entry(handle).or_default().push(me);
    let engine = &kernel().engine;
    if kernel().config.races && thread::irql() < DISPATCH {
        // The other threads run as far as they can before this write continues.
        let soon = kernel().scheduler.now() + LATE;
        kernel().scheduler.wait_until(soon);
    }
    let result = engine.write(&event, &blocks);
    let mut writers = lock(&kernel().etw);
    writers.written += u64::from(result.is_success());
    if let Some(inside) = writers.inside.get_mut(&handle)
        && let Some(position) = inside.iter().position(|thread| *thread == me)
    {
        inside.swap_remove(position);
    }
    drop(writers);
    Ok(report(result))
}

/// Reports the registrations that still exist, and removes them.
pub(crate) fn report_leaks() {
    let engine = &kernel().engine;
    for registration in engine.registrations() {
        let from = lock(&kernel().etw).registered.remove(&registration.handle).unwrap_or_default();
        let provider = registration.provider;
        let traits = registration.traits.as_deref().and_then(|traits| etw_types::traits::validate(traits).ok());
        let name = traits.map(|traits| format!(" {}", String::from_utf8_lossy(traits.name()))).unwrap_or_default();
        let what = format_args!("provider{name} {{{provider}}} was not unregistered");
        verify::find_at(Rule::RegistrationLeak, Some("EtwRegister"), from, what);
        engine.unregister(registration.handle);
    }
}
