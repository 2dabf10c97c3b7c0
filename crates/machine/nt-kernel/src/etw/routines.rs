//! The ETW routines.

use std::sync::{Arc, Mutex};

use etw_engine::{
    Buffer, Callback, Enable, Engine, EventWrite, Finding, Notification, Origin, Routine as Called, Session,
};
use etw_types::{EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus};
use nt_processor::cpu::thread;
use nt_processor::image::Leaving;
use nt_processor::layout::{EVENT_DATA_DESCRIPTOR, EVENT_DESCRIPTOR, EVENT_FILTER_DESCRIPTOR, GUID};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque, OrStop as _};
use nt_processor::sorted::{SortedMap, SortedSet};
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::tracing::EVENT_ACTIVITY_CTRL_CREATE_ID;

use super::data::EventData;
use crate::config::Config;
use crate::sync::process;
use crate::{Kernel, call_back, kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NtStatus::NoMemory)]
    fn EtwRegister(
        &call,
        provider: GuestPtr<GUID>,
        callback: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        place: GuestPtr<u64>,
    ) -> Outcome<NtStatus> {
        register(call, provider, callback, context.address(), place)
    }

    #[irql(PASSIVE)]
    fn EtwUnregister(handle: u64) -> NtStatus {
        unregister(handle)
    }

    #[irql(PASSIVE), fails(NtStatus::NotSupported)]
    fn EtwSetInformation(handle: u64, class: i32, data: GuestSlice<u8>) -> Outcome<NtStatus> {
        set_information(handle, class, data)
    }

    #[irql(ANY)]
    fn EtwEventEnabled(handle: u64, event: GuestPtr<EVENT_DESCRIPTOR>) -> Result<bool, Fault> {
        let Kernel { engine, etw, .. } = kernel();
        Ok(report(engine, etw, engine.event_enabled(handle, &descriptor(event)?)))
    }

    #[irql(ANY)]
    fn EtwProviderEnabled(handle: u64, level: u8, keyword: u64) -> bool {
        let Kernel { engine, etw, .. } = kernel();
        report(engine, etw, engine.provider_enabled(handle, Level::from_int(level), Keyword::from_bits(keyword)))
    }

    #[irql(ANY), fails(NtStatus::NoMemory), keeps_nothing]
    fn EtwWrite(
        handle: u64,
        event: GuestPtr<EVENT_DESCRIPTOR>,
        activity: GuestPtr<GUID>,
        count: u32,
        data: GuestPtr<EVENT_DATA_DESCRIPTOR>,
    ) -> Outcome<NtStatus> {
        write(Called::Write, (handle, event), (0, 0), (activity, GuestPtr::NULL), (count, data))
    }

    #[irql(ANY), fails(NtStatus::NoMemory), keeps_nothing]
    fn EtwWriteTransfer(
        handle: u64,
        event: GuestPtr<EVENT_DESCRIPTOR>,
        activity: GuestPtr<GUID>,
        related: GuestPtr<GUID>,
        count: u32,
        data: GuestPtr<EVENT_DATA_DESCRIPTOR>,
    ) -> Outcome<NtStatus> {
        write(Called::WriteTransfer, (handle, event), (0, 0), (activity, related), (count, data))
    }

    #[irql(ANY), fails(NtStatus::NoMemory), keeps_nothing]
    fn EtwWriteEx(
        handle: u64,
        event: GuestPtr<EVENT_DESCRIPTOR>,
        filter: u64,
        flags: u32,
        activity: GuestPtr<GUID>,
        related: GuestPtr<GUID>,
        count: u32,
        data: GuestPtr<EVENT_DATA_DESCRIPTOR>,
    ) -> Outcome<NtStatus> {
        write(Called::WriteEx, (handle, event), (filter, flags), (activity, related), (count, data))
    }

    #[irql(ANY), fails(NtStatus::NoMemory), keeps_nothing]
    fn EtwWriteString(
        handle: u64,
        level: u8,
        keyword: u64,
        activity: GuestPtr<GUID>,
        string: GuestPtr<u16>,
    ) -> Outcome<NtStatus> {
        let Kernel { engine, etw, .. } = kernel();
        let level = Level::from_int(level);
        let keyword = Keyword::from_bits(keyword);
        let activity = optional_guid(activity)?;
        let text = string.terminated()?;
        done(report(engine, etw, engine.write_string(handle, level, keyword, activity, &text)))
    }

    #[irql(ANY)]
    #[limit(if code == EVENT_ACTIVITY_CTRL_CREATE_ID { ANY } else { APC })]
    fn EtwActivityIdControl(code: u32, place: GuestPtr<GUID>) -> Result<NtStatus, Fault> {
        let Kernel { engine, etw, .. } = kernel();
        let mut id = place.id()?;
        // A dispatch routine runs on the thread of its client, which can store an id. System threads cannot.
        let result = if process::is_client() {
            engine.user_activity_id_control(code, &mut id)
        } else {
            engine.activity_id_control(code, &mut id)
        };
        if result.is_success() {
            place.set_id(id)?;
        }
        Ok(report(engine, etw, result))
    }
}

/// The delay of a write when the host looks for races, in units of 100 ns.
const LATE: u64 = 1000;

/// The state that the engine does not have: the threads that are writing, and the findings that were already reported.
pub struct Writers {
    /// The threads that are inside a write, by registration handle.
    inside: SortedMap<u64, Vec<u32>>,
    /// The threads that are inside an enable callback.
    calling: Vec<u32>,
    /// The return address of the call that registered each handle.
    registered: SortedMap<u64, u64>,
    /// The number of the engine's findings that were reported.
    reported: usize,
    /// The session that receives the events of all providers, if there is one.
    session: Option<Session>,
    /// The providers that are enabled in that session.
    traced: SortedSet<Guid>,
    /// The number of successful writes.
    written: u64,
}

impl Writers {
    /// Creates the state. If `trace_all` is set, a session records the events of all providers.
    pub fn new(engine: &Engine, trace_all: bool) -> Self {
        Self {
            inside: SortedMap::new(),
            calling: Vec::new(),
            registered: SortedMap::new(),
            reported: 0,
            session: trace_all.then(|| engine.start_session("nt-host")),
            traced: SortedSet::new(),
            written: 0,
        }
    }

    /// Returns the number of events that were written successfully.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Returns the session that receives the events of all providers, if there is one.
    pub fn session(&self) -> Option<Session> {
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
fn report<T>(engine: &Engine, etw: &Mutex<Writers>, result: T) -> T {
    let findings = engine.findings();
    let new: Vec<Finding> = {
        let mut writers = lock(etw);
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

fn register(
    call: &Call,
    provider: GuestPtr<GUID>,
    target: GuestPtr<Code>,
    context: u64,
    place: GuestPtr<u64>,
) -> Outcome<NtStatus> {
    if provider.is_null() || place.is_null() || (target.is_null() && context != 0) {
        return fail(NtStatus::InvalidParameter);
    }
    let Kernel { config, engine, etw, .. } = kernel();
    let provider = provider.id()?;
    trace(config, etw, provider);
    let callback = target.non_null().map(|target| -> Callback {
        Arc::new(move |notification: &Notification<'_>| notify(etw, target, context, notification))
    });
    let origin = Origin { image: format!("{}.sys", config.name), ..Origin::kernel() };
    // The engine may call the enable callback before it returns. The handle must be stored before that.
    let publish = |handle| place.write(handle).or_stop();
    let registered = engine.register_from(origin, provider, callback, publish);
    if let Ok(handle) = registered {
        lock(etw).registered.insert(handle, call.from);
    }
    Ok(report(engine, etw, registered.err().unwrap_or(NtStatus::Success)))
}

/// Enables a provider in the session that receives all events, if there is one.
fn trace(config: &Config, etw: &Mutex<Writers>, provider: Guid) {
    let session = {
        let mut writers = lock(etw);
        if writers.session.is_some() && writers.traced.insert(provider) { writers.session() } else { None }
    };
    if let Some(session) = session {
        let property = config.enable_property();
        session.enable(provider, Enable { property, ..Enable::default() });
    }
}

/// Calls the driver's enable callback.
fn notify(etw: &Mutex<Writers>, target: GuestPtr<Code>, context: u64, notification: &Notification<'_>) {
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
    lock(etw).calling.push(thread::number());
    call_back("enable callback", PASSIVE, target, &arguments);
    let mut writers = lock(etw);
    if let Some(position) = writers.calling.iter().position(|calling| *calling == thread::number()) {
        writers.calling.swap_remove(position);
    }
}

fn unregister(handle: u64) -> NtStatus {
    let Kernel { engine, etw, .. } = kernel();
    let writer = {
        let mut writers = lock(etw);
        writers.registered.remove(&handle);
        let inside = writers.inside.get(&handle).into_iter().flatten();
        // Unregistering waits for running enable callbacks, so their writes do not race with it.
        inside.copied().find(|writer| *writer != thread::number() && !writers.calling.contains(writer))
    };
    if writer.is_some() {
        verify::find(
            Rule::WriteRacesUnregister,
            format_args!("unregisters while another thread writes an event with this registration"),
        );
    }
    report(engine, etw, engine.unregister(handle))
}

fn set_information(handle: u64, class: i32, data: GuestSlice<u8>) -> Outcome<NtStatus> {
    let length = data.len() as u32;
    let is_read = !data.start().is_null() && length <= Buffer::MAX;
    let bytes = if is_read { data.read()? } else { Vec::new() };
    let buffer = match length {
        _ if is_read => Buffer::Bytes(&bytes),
        _ if data.start().is_null() => Buffer::Null(length),
        _ => Buffer::TooLong(length),
    };
    let Kernel { engine, etw, .. } = kernel();
    Ok(report(engine, etw, engine.set_information(handle, EventInfoClass::from_int(class.cast_unsigned()), buffer)))
}

fn write(
    routine: Called,
    (handle, descriptor_at): (u64, GuestPtr<EVENT_DESCRIPTOR>),
    (filter, flags): (u64, u32),
    (activity, related): (GuestPtr<GUID>, GuestPtr<GUID>),
    (count, data): (u32, GuestPtr<EVENT_DATA_DESCRIPTOR>),
) -> Outcome<NtStatus> {
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
    let Kernel { config, engine, etw, scheduler, .. } = kernel();
    lock(etw).inside.get_or_default(handle).push(me);
    if config.races && thread::irql() < DISPATCH {
        // The other threads run as far as they can before this write continues.
        let soon = scheduler.now() + LATE;
        scheduler.wait_until(soon);
    }
    let result = engine.write(&event, &blocks);
    let mut writers = lock(etw);
    writers.written += u64::from(result.is_success());
    if let Some(inside) = writers.inside.get_mut(&handle)
        && let Some(position) = inside.iter().position(|thread| *thread == me)
    {
        inside.swap_remove(position);
    }
    drop(writers);
    Ok(report(engine, etw, result))
}

/// Reports the registrations of an image that still exist, and removes them.
pub fn report_leaks(leaving: Leaving) {
    let Kernel { engine, etw, .. } = kernel();
    for registration in engine.registrations() {
        let from = lock(etw).registered.get(&registration.handle).copied().unwrap_or_default();
        if !leaving.owns(from) {
            continue;
        }
        lock(etw).registered.remove(&registration.handle);
        let provider = registration.provider;
        let traits = registration.traits.as_deref().and_then(|traits| etw_types::traits::validate(traits).ok());
        let name = traits.map(|traits| format!(" {}", String::from_utf8_lossy(traits.name()))).unwrap_or_default();
        let what = format_args!("does not unregister provider{name} {{{provider}}}");
        verify::find_at(Rule::RegistrationLeak, Some("EtwRegister"), from, what);
        engine.unregister(registration.handle);
    }
}
