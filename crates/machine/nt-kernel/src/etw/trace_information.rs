//! `WmiQueryTraceInformation`: what providers of the older kinds, such as those of WPP, ask about sessions.

use etw_engine::Session;
use etw_types::NtStatus;
use nt_processor::layout::{UNICODE_STRING, WNODE_HEADER};
use nt_processor::memory::{GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{ANY, Out, Outcome, done, fail, routines};
use windows_constants::tracing::{
    AllLoggerHandlesClass, GlobalLoggerHandleClass, TraceEnableFlagsClass, TraceEnableLevelClass,
    TraceHandleByNameClass, TraceHandleClass, TraceIdClass,
};

use crate::kernel;

/// The session whose handle is `GlobalLoggerHandleClass`.
const GLOBAL_LOGGER: &str = "GlobalLogger";
/// The size of a `TRACEHANDLE`.
const HANDLE_SIZE: usize = size_of::<u64>();

routines! { pub(super) ROUTINES;
    /// The other classes are reserved for the system, or return tables of routines whose layout is not public: those of
    /// the disk, of filters and of the framework, which goes on without it.
    #[irql(ANY)]
    fn WmiQueryTraceInformation(
        class: i32,
        information: GuestSlice<u8>,
        required: Out<u32>,
        buffer: GuestPtr<Opaque>,
    ) -> Outcome<NtStatus> {
        let bytes = match class {
            TraceIdClass => trace_handle(buffer)?.logger_id().to_le_bytes().to_vec(),
            TraceEnableFlagsClass => trace_handle(buffer)?.enable_flags().to_le_bytes().to_vec(),
            TraceEnableLevelClass => trace_handle(buffer)?.level().to_le_bytes().to_vec(),
            TraceHandleClass => by_id(input::<u32>(buffer)?.read()?)?.to_vec(),
            GlobalLoggerHandleClass => by_name(GLOBAL_LOGGER, NtStatus::NotFound)?.to_vec(),
            TraceHandleByNameClass => by_name(&input::<UNICODE_STRING>(buffer)?.text()?, NtStatus::InvalidParameter)?.to_vec(),
            AllLoggerHandlesClass => return all_handles(information, required),
            _ => return fail(NtStatus::InvalidInfoClass),
        };
        required.set_if_wanted(bytes.len() as u32)?;
        let is_flag = matches!(class, TraceEnableFlagsClass | TraceEnableLevelClass);
        let has_room = information.len() == bytes.len() as u64 || is_flag && information.len() > bytes.len() as u64;
        if !has_room {
            return fail(NtStatus::InfoLengthMismatch);
        }
        information.write(&bytes)?;
        done(NtStatus::Success)
    }
}

/// A `TRACEHANDLE` as a provider gets it: a `TRACE_ENABLE_CONTEXT`, which is the logger ID, the level, a byte for the system,
/// and the enable flags.
#[derive(Clone, Copy)]
struct TraceHandle(u64);

impl TraceHandle {
    const fn logger_id(self) -> u32 {
        self.0 as u16 as u32
    }

    const fn level(self) -> u32 {
        (self.0 >> 16) as u8 as u32
    }

    const fn enable_flags(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Returns the input of a class that needs one.
fn input<T>(buffer: GuestPtr<Opaque>) -> Outcome<GuestPtr<T>> {
    buffer.non_null().map(GuestPtr::cast).map_or_else(|| fail(NtStatus::InvalidParameterMix), done)
}

/// Returns `HistoricalContext`, which shares its place with `Version` and `Linkage`. It must name a session.
fn trace_handle(buffer: GuestPtr<Opaque>) -> Outcome<TraceHandle> {
    let node = input::<WNODE_HEADER>(buffer)?.read()?;
    let handle = TraceHandle(u64::from(node.Linkage) << 32 | u64::from(node.Version));
    by_id(handle.logger_id()).map(|_| handle)
}

/// Returns the handle of a session as drivers see it: its logger ID, with neither a level nor enable flags.
fn handle_of(session: &Session) -> u64 {
    u64::from(session.handle() as u16)
}

/// Returns the handle of the session with a logger ID. That of the kernel logger is 0.
fn by_id(id: u32) -> Outcome<[u8; HANDLE_SIZE]> {
    let mut handles = kernel().engine.sessions().into_iter().map(|session| handle_of(&session));
    let handle = handles.find(|handle| *handle == u64::from(id));
    handle.map_or_else(|| fail(NtStatus::InvalidHandle), |handle| done(handle.to_le_bytes()))
}

fn by_name(name: &str, missing: NtStatus) -> Outcome<[u8; HANDLE_SIZE]> {
    let session = kernel().engine.find_session(name);
    session.map_or_else(|_| fail(missing), |session| done(handle_of(&session).to_le_bytes()))
}

/// Stores the handles of as many sessions as there is room for.
fn all_handles(information: GuestSlice<u8>, required: Out<u32>) -> Outcome<NtStatus> {
    let handles: Vec<u64> = kernel().engine.sessions().iter().map(handle_of).collect();
    required.set_if_wanted((handles.len() * HANDLE_SIZE) as u32)?;
    let room = information.len() / HANDLE_SIZE as u64;
    let stored: Vec<u8> = handles.iter().take(room as usize).flat_map(|handle| handle.to_le_bytes()).collect();
    information.write(&stored)?;
    done(if room < handles.len() as u64 { NtStatus::MoreEntries } else { NtStatus::Success })
}
