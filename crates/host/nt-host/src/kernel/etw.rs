//! ETW: the driver's calls reach the engine, and the engine's callbacks the driver.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use etw_engine::{Callback, Enable, Engine, EventWrite, Finding, Notification, Origin, Routine as Called, Session};
use etw_symbols::memory::{RawBlocks, buffer};
use etw_types::{EventDescriptor, EventInfoClass, Guid, Keyword, Level, NtStatus};

use super::event_data::EventData;
use super::routine::{ANY, APC, Call, PASSIVE, Routine, routine};
use super::{call_back, kernel, lock};
use crate::cpu::thread;
use crate::memory::guest;
use crate::verify::{self, Rule};

pub(super) const ROUTINES: &[Routine] = &[
    routine("EtwRegister", PASSIVE, register).fails(0xC000_0017),
    routine("EtwUnregister", PASSIVE, unregister),
    routine("EtwSetInformation", PASSIVE, set_information).fails(0xC000_00BB),
    routine("EtwEventEnabled", ANY, |call| {
        let enabled = kernel().engine.event_enabled(call.arg(0), &descriptor(call.arg(1)));
        told(u64::from(enabled))
    }),
    routine("EtwProviderEnabled", ANY, |call| {
        let (level, keyword) = (Level::from_int(call.u8(1)), Keyword::from_bits(call.arg(2)));
        told(kernel().engine.provider_enabled(call.arg(0), level, keyword).into())
    }),
    routine("EtwWrite", ANY, |call| write(call, Called::Write, (0, 0), (call.arg(2), 0), (call.u32(3), call.arg(4))))
        .fails(0xC000_0017),
    routine("EtwWriteTransfer", ANY, |call| {
        write(call, Called::WriteTransfer, (0, 0), (call.arg(2), call.arg(3)), (call.u32(4), call.arg(5)))
    })
    .fails(0xC000_0017),
    routine("EtwWriteEx", ANY, |call| {
        let filter = (call.arg(2), call.u32(3));
        write(call, Called::WriteEx, filter, (call.arg(4), call.arg(5)), (call.u32(6), call.arg(7)))
    })
    .fails(0xC000_0017),
    routine("EtwWriteString", ANY, |call| {
        let (level, keyword) = (Level::from_int(call.u8(1)), Keyword::from_bits(call.arg(2)));
        let text = guest::terminated::<u16>(call.arg(4));
        status(kernel().engine.write_string(call.arg(0), level, keyword, optional_guid(call.arg(3)), &text))
    })
    .fails(0xC000_0017),
    routine("EtwActivityIdControl", APC, |call| {
        let mut id = guid(call.arg(1));
        let answer = kernel().engine.activity_id_control(call.u32(0), &mut id);
        if answer.is_success() {
            guest::put(call.arg(1), &id.to_bytes_le());
        }
        status(answer)
    }),
];

/// 100 ns units by which a write is late where races are looked for.
const LATE: u64 = 1000;

/// Writes of events that ETW accepted.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// How many events were written: calls that ETW answered with success.
pub(crate) fn written() -> u64 {
    WRITTEN.load(Ordering::Relaxed)
}

/// What is known beyond the engine: who is writing, and what was told already.
pub(crate) struct Writers {
    /// By handle: the threads that are inside a write.
    inside: BTreeMap<u64, Vec<u32>>,
    /// Threads that are inside an enable callback.
    calling: Vec<u32>,
    /// By handle: the driver's code that registered it.
    registered: BTreeMap<u64, u64>,
    /// The engine's findings that were reported.
    reported: usize,
    session: Option<Session>,
    traced: BTreeSet<Guid>,
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
        }
    }

    /// The session that takes everything.
    pub(crate) fn session(&self) -> Option<Session> {
        self.session.clone()
    }
}

fn guid(address: u64) -> Guid {
    let bytes = guest::bytes(address, 16);
    Guid::from_bytes_le(bytes.try_into().unwrap_or_default())
}

fn optional_guid(address: u64) -> Option<Guid> {
    (address != 0).then(|| guid(address))
}

/// `EVENT_DESCRIPTOR`.
fn descriptor(address: u64) -> EventDescriptor {
    EventDescriptor {
        id: guest::read(address),
        version: guest::read(address + 2),
        channel: etw_types::Channel::from_int(guest::read(address + 3)),
        level: Level::from_int(guest::read(address + 4)),
        opcode: etw_types::Opcode::from_int(guest::read(address + 5)),
        task: guest::read(address + 6),
        keyword: Keyword::from_bits(guest::read(address + 8)),
    }
}

fn status(status: NtStatus) -> u64 {
    told(status.as_int().into())
}

/// Reports what the engine found during this call, and hands the answer on.
fn told(answer: u64) -> u64 {
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
    answer
}

fn describe(finding: &Finding) -> String {
    match finding {
        Finding::RegisterInCallback { provider } => {
            format!("{provider} is registered in its own callback, where Windows hangs")
        }
        Finding::UnregisterInCallback { provider, .. } => {
            format!("{provider} is unregistered in its own callback, where Windows hangs")
        }
        Finding::JoinGroupInCallback { provider, .. } => {
            format!("{provider} joins a group in its own callback, where Windows hangs")
        }
        Finding::StaleHandle { handle, .. } => format!("handle {handle:#x} was unregistered before"),
        Finding::UnknownHandle { handle, .. } => format!("{handle:#x} was never a handle of a registration"),
        Finding::UnreadableData { index, .. } => format!("data descriptor {index} has a size and no address"),
        Finding::SizeChanged { index, .. } => {
            format!("the size of data descriptor {index} changed during the call: bug check 0x11D")
        }
        other => format!("{other:?}"),
    }
}

/// Arguments: provider, callback, context, place for the handle.
fn register(call: &Call) -> u64 {
    let (target, context, place) = (call.arg(1), call.arg(2), call.arg(3));
    if call.arg(0) == 0 || place == 0 || (target == 0 && context != 0) {
        return NtStatus::InvalidParameter.as_int().into();
    }
    let provider = guid(call.arg(0));
    trace(provider);
    let callback: Option<Callback> = (target != 0).then(|| -> Callback {
        Arc::new(move |notification: &Notification<'_>| notify(target, context, notification))
    });
    let origin = Origin { image: format!("{}.sys", kernel().config.name), ..Origin::kernel() };
    let publish = |handle| guest::write(place, handle);
    let registered = kernel().engine.register_from(origin, provider, callback, publish);
    if let Ok(handle) = registered {
        lock(&kernel().etw).registered.insert(handle, call.from);
    }
    status(registered.err().unwrap_or(NtStatus::Success))
}

/// Has the session that takes everything take this provider as well.
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
fn notify(target: u64, context: u64, notification: &Notification<'_>) {
    let source = notification.source.to_bytes_le();
    // EVENT_FILTER_DESCRIPTOR: address, size, type.
    let filter = notification.filter.map(|filter| {
        let size = u32::try_from(filter.data.len()).unwrap_or(u32::MAX);
        [filter.data.as_ptr().expose_provenance() as u64, u64::from(size) | u64::from(filter.kind) << 32]
    });
    let filter = filter.as_ref().map_or(0, |filter| filter.as_ptr().expose_provenance() as u64);
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

fn unregister(call: &Call) -> u64 {
    let handle = call.arg(0);
    let writer = {
        let mut writers = lock(&kernel().etw);
        writers.registered.remove(&handle);
        let inside = writers.inside.get(&handle).into_iter().flatten();
        // Unregistering waits for enable callbacks that run, hence what they write does not race with it.
        inside.copied().find(|writer| *writer != thread::number() && !writers.calling.contains(writer))
    };
    if writer.is_some() {
        verify::find(Rule::WriteRacesUnregister, format_args!("another thread writes an event with this registration"));
    }
    status(kernel().engine.unregister(handle))
}

fn set_information(call: &Call) -> u64 {
    let (data, length) = (std::ptr::with_exposed_provenance(call.arg(2) as usize), call.u32(3));
    // SAFETY: a bad address faults and does not come back; the buffer is used during this call only.
    let buffer = unsafe { buffer(data, length) };
    status(kernel().engine.set_information(call.arg(0), EventInfoClass::from_int(call.u32(1)), buffer))
}

fn write(
    call: &Call,
    routine: Called,
    (filter, flags): (u64, u32),
    (activity, related): (u64, u64),
    (count, data): (u32, u64),
) -> u64 {
    let (handle, descriptor_at) = (call.arg(0), call.arg(1));
    if descriptor_at == 0 {
        return NtStatus::InvalidParameter.as_int().into();
    }
    let event = EventWrite {
        routine,
        handle,
        descriptor: descriptor(descriptor_at),
        filter,
        flags,
        activity: Some(optional_guid(activity).unwrap_or(Guid::ZERO)),
        related: optional_guid(related),
    };
    let descriptors = std::ptr::with_exposed_provenance(data as usize);
    // SAFETY: bad addresses fault and do not come back; the blocks are used during this call only.
    let blocks = EventData(unsafe { RawBlocks::new(descriptors, count) });
    let me = thread::number();
    lock(&kernel().etw).inside.entry(handle).or_default().push(me);
    let engine = &kernel().engine;
    if kernel().config.races && thread::irql() < super::routine::DISPATCH {
        // Everybody else gets as far as they can before this write goes on.
        let soon = kernel().scheduler.now() + LATE;
        kernel().scheduler.wait(Some(soon), |_| None::<()>);
    }
    let answer = engine.write(&event, &blocks);
    if answer.is_success() {
        WRITTEN.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(inside) = lock(&kernel().etw).inside.get_mut(&handle)
        && let Some(position) = inside.iter().position(|thread| *thread == me)
    {
        inside.swap_remove(position);
    }
    status(answer)
}

/// Reports registrations that are still there, and ends them.
pub(super) fn report_leaks() {
    let engine = &kernel().engine;
    for registration in engine.registrations() {
        let from = lock(&kernel().etw).registered.remove(&registration.handle).unwrap_or_default();
        let provider = registration.provider;
        let what = format_args!("provider {provider} is not unregistered");
        verify::find_at(Rule::RegistrationLeak, Some("EtwRegister"), from, what);
        engine.unregister(registration.handle);
    }
}
