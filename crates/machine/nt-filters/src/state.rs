//! The filter manager's state, and the lock around it. The lock is never held while driver code runs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use etw_types::NtStatus;
use nt_kernel::{kernel, lock};
use nt_processor::layer_state::LayerState;
use nt_processor::layout::{
    DRIVER_OBJECT, FILE_OBJECT, FLT_CALLBACK_DATA, FLT_CALLBACK_DATA_QUEUE, FLT_CONTEXT_REGISTRATION,
    FLT_FILE_NAME_INFORMATION, FLT_FILTER, FLT_INSTANCE, FLT_IO_PARAMETER_BLOCK, FLT_PORT, FLT_REGISTRATION,
    FLT_VOLUME, IO_STATUS_BLOCK, MDL,
};
use nt_processor::memory::{Code, GuestPtr};
use nt_processor::sorted::{SortedMap, SortedSet};

/// The callback data of an operation.
pub(super) type Data = GuestPtr<FLT_CALLBACK_DATA>;
/// A registered minifilter, an instance, a volume, a port.
pub(super) type FilterId = GuestPtr<FLT_FILTER>;
pub(super) type InstanceId = GuestPtr<FLT_INSTANCE>;
pub(super) type VolumeId = GuestPtr<FLT_VOLUME>;
pub(super) type PortId = GuestPtr<FLT_PORT>;
/// A file object.
pub(super) type File = GuestPtr<FILE_OBJECT>;

/// The filter manager of a machine.
#[derive(Default)]
pub struct Manager(Mutex<State>);

static MANAGER: LayerState<Manager> = LayerState::new();

/// Makes this the filter manager of this process. Later calls have no effect.
pub fn attach(manager: &'static Manager) {
    MANAGER.attach(manager);
}

/// Locks the state.
pub(super) fn state() -> MutexGuard<'static, State> {
    lock(&MANAGER.get().0)
}

/// Changes an operation. Returns `None` if there is no such operation.
pub(super) fn with<R>(data: Data, change: impl FnOnce(&mut Operation) -> R) -> Option<R> {
    state().operations.get_mut(&data).map(change)
}

/// Wakes the threads that wait for a change of the state.
pub(super) fn changed() {
    kernel().scheduler.change(|_| ());
}

/// Everything that the filter manager knows.
#[derive(Default)]
pub(super) struct State {
    pub(super) filters: SortedMap<FilterId, Filter>,
    /// The instances on the volume, the highest altitude first.
    pub(super) instances: Vec<Instance>,
    /// The status with which the last setup callback refused the volume.
    pub(super) refusal: Option<NtStatus>,
    /// The volume; NULL before the first filter registers.
    pub(super) volume: VolumeId,
    pub(super) contexts: SortedMap<u64, Context>,
    /// The contexts that are set, by what they are set on.
    pub(super) attached: SortedMap<Holder, u64>,
    pub(super) names: SortedMap<GuestPtr<FLT_FILE_NAME_INFORMATION>, NameReferences>,
    /// The files whose names are in the name cache.
    pub(super) cached: SortedSet<File>,
    pub(super) ports: SortedMap<PortId, Port>,
    pub(super) connections: SortedMap<PortId, Connection>,
    pub(super) operations: SortedMap<Data, Operation>,
    /// The names of operations that minifilters have asked for.
    pub(super) operation_names: SortedMap<u8, GuestPtr<u8>>,
    /// For files that a minifilter opened, the instance below which their operations start.
    pub(super) opened_below: SortedMap<File, InstanceId>,
}

/// A registered minifilter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) driver: GuestPtr<DRIVER_OBJECT>,
    /// The name of its service.
    pub(super) name: String,
    pub(super) registration: FLT_REGISTRATION,
    pub(super) operations: SortedMap<u8, Callbacks>,
    pub(super) contexts: Vec<FLT_CONTEXT_REGISTRATION>,
    pub(super) is_started: bool,
    pub(super) is_going: bool,
    /// The call that registered it.
    pub(super) from: u64,
}

/// The callbacks for an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callbacks {
    pub(super) pre: GuestPtr<Code>,
    pub(super) post: GuestPtr<Code>,
}

/// An instance of a minifilter on the volume.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) object: InstanceId,
    pub(super) filter: FilterId,
    pub(super) name: String,
    pub(super) altitude: String,
    pub(super) is_going: bool,
}

/// What a context is set on, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    /// The filter for a volume context, otherwise the instance.
    pub(super) owner: u64,
    /// `FLT_…_CONTEXT`.
    pub(super) kind: u16,
    /// The volume, the instance, the stream or the file object.
    pub(super) object: u64,
}

/// A context.
#[derive(Clone, Debug)]
pub(super) struct Context {
    pub(super) kind: u16,
    pub(super) filter: FilterId,
    pub(super) cleanup: GuestPtr<Code>,
    pub(super) free: GuestPtr<Code>,
    pub(super) references: i64,
    pub(super) holder: Option<Holder>,
    pub(super) is_pageable: bool,
    /// The call that allocated it, and the last one that got a reference.
    pub(super) from: u64,
}

/// The references to name information.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameReferences {
    pub(super) count: i64,
    pub(super) from: u64,
}

/// A server port.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) filter: FilterId,
    pub(super) name: String,
    pub(super) cookie: u64,
    pub(super) connect: GuestPtr<Code>,
    pub(super) disconnect: GuestPtr<Code>,
    pub(super) message: GuestPtr<Code>,
    pub(super) most: u32,
    pub(super) from: u64,
}

/// The connection of a client to a server port.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) server: PortId,
    pub(super) filter: FilterId,
    pub(super) cookie: u64,
    pub(super) disconnect: GuestPtr<Code>,
    pub(super) message: GuestPtr<Code>,
    /// Whether the client still has its handle, and whether the driver has not closed its side.
    pub(super) has_client: bool,
    pub(super) has_driver: bool,
    /// Whether the client has left a message without its reply, and gets no more.
    pub(super) is_silent: bool,
    /// The messages of the driver that the client has not taken.
    pub(super) messages: Vec<Vec<u8>>,
    /// The replies that the client gives to the next messages.
    pub(super) replies: VecDeque<Vec<u8>>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A callback, the file system or the filter manager has it.
    Running,
    /// A pre-operation callback is running.
    Pre,
    /// A pre-operation callback has pended it.
    PrePended,
    /// A post-operation callback is running.
    Post,
    /// A post-operation callback has pended it.
    PostPended,
    Done,
}

/// A minifilter whose post-operation callback is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) instance: InstanceId,
    pub(super) filter: FilterId,
    pub(super) post: GuestPtr<Code>,
    pub(super) context: u64,
    /// The parameters that the pre-operation callback received.
    pub(super) parameters: FLT_IO_PARAMETER_BLOCK,
    /// Whether the callback runs in the thread of the request, at a low IRQL.
    pub(super) is_synchronized: bool,
}

/// The minifilter that has an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    pub(super) instance: InstanceId,
    pub(super) filter: FilterId,
    pub(super) callbacks: Callbacks,
    pub(super) parameters: FLT_IO_PARAMETER_BLOCK,
}

/// An operation on a file.
pub(super) struct Operation {
    pub(super) major: u8,
    pub(super) file: File,
    /// The process that it comes from.
    pub(super) process: u64,
    pub(super) stage: Stage,
    /// The instances that have not seen it, the highest first.
    pub(super) below: VecDeque<InstanceId>,
    /// The minifilters whose post-operation callbacks are due, the lowest last.
    pub(super) passed: Vec<Passed>,
    pub(super) current: Option<Current>,
    /// The status and the context with which the driver resumed the operation before its callback had returned.
    pub(super) early: Option<(i32, u64)>,
    /// Whether the file system opened the file, and whether a minifilter canceled that.
    pub(super) is_opened: bool,
    pub(super) is_open_canceled: bool,
    /// The callback for a cancellation, and whether the client canceled the operation.
    pub(super) cancel: GuestPtr<Code>,
    pub(super) is_canceled: bool,
    /// The queue that it is in.
    pub(super) queue: GuestPtr<FLT_CALLBACK_DATA_QUEUE>,
    /// Whether any instance received it.
    pub(super) is_reached: bool,
    /// The MDLs that the filter manager made for it, and those that minifilters swapped in.
    pub(super) lists: Vec<GuestPtr<MDL>>,
    pub(super) swapped: Vec<(InstanceId, GuestPtr<MDL>)>,
    /// The callbacks for the status of the file system, and their contexts.
    pub(super) on_status: Vec<(Current, GuestPtr<Code>, u64)>,
    /// Called with the result, if nobody waits for it.
    pub(super) then: Option<Box<dyn FnOnce(IO_STATUS_BLOCK) + Send>>,
}

impl State {
    /// Returns the instance with this address.
    pub(super) fn instance(&self, object: InstanceId) -> Option<&Instance> {
        self.instances.iter().find(|instance| instance.object == object)
    }

    /// Returns the instances that operations pass through: all of them, or those below one.
    pub(super) fn path(&self, above: Option<InstanceId>) -> VecDeque<InstanceId> {
        let skipped = above.and_then(|above| self.instances.iter().position(|instance| instance.object == above));
        self.instances.iter().skip(skipped.map_or(0, |position| position + 1)).map(|instance| instance.object).collect()
    }

    /// Adds an instance at its altitude.
    pub(super) fn insert(&mut self, instance: Instance) {
        let height = height(&instance.altitude);
        let place = self.instances.partition_point(|known| self::height(&known.altitude) >= height);
        self.instances.insert(place, instance);
    }
}

/// Returns an altitude as a number: it is a decimal number of any length.
pub(super) fn height(altitude: &str) -> f64 {
    altitude.trim().parse().unwrap_or_default()
}

/// Allocates an opaque object of the filter manager.
pub(super) fn new_object<T>() -> Result<GuestPtr<T>, NtStatus> {
    /// The size in words.
    const SIZE: u64 = 8;
    Ok(lock(&kernel().pool).try_new_objects::<u64>(SIZE)?.cast())
}

/// Frees an opaque object of the filter manager.
pub(super) fn free_object<T>(object: GuestPtr<T>) {
    lock(&kernel().pool).free_object(object.address());
}
