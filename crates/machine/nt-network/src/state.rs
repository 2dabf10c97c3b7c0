//! The state of the filter engine and of the network stack around it.
//!
//! The lock must never be held while driver code runs.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use etw_types::{Guid, NtStatus};
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::lock;
use nt_processor::layer_state::LayerState;
use nt_processor::layout::FWPS_FILTER;
use nt_processor::memory::{Code, GuestPtr};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::Outcome;

use super::journey::Journey;
use super::record::Record;
use super::value::Condition;

static WFP: LayerState<Mutex<State>> = LayerState::new();

/// Makes this the filter engine of this process. Later calls have no effect.
pub fn attach(state: &'static Mutex<State>) {
    WFP.attach(state);
}

/// Locks the state.
pub(super) fn state() -> MutexGuard<'static, State> {
    lock(WFP.get())
}

/// What a filter decides, or what happened to traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The traffic goes on.
    Permit,
    /// The traffic is blocked.
    Block,
    /// The traffic is blocked silently: a callout has absorbed it.
    Absorb,
    /// A callout has pended the operation and has not completed it yet.
    Pend,
}

/// The verdict at a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerVerdict {
    /// The name of the layer without `FWPS_LAYER_`, such as `ALE_AUTH_CONNECT_V4`.
    pub layer: String,
    /// The verdict of the layer's filters.
    pub verdict: Verdict,
    /// The number of classify functions of the driver that were called.
    pub callouts: u32,
}

/// Where a packet came out of the network stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Whether the packet was received. Otherwise, it was sent.
    pub inbound: bool,
    /// Whether a driver injected it.
    pub injected: bool,
    /// The IP datagram. For stream data that a driver injected: only the data.
    pub data: Vec<u8>,
}

/// The way of a connection or a packet through the filter engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Identifies the passage, for a later look at a pended one.
    pub id: u64,
    /// The verdict so far.
    pub verdict: Verdict,
    /// The layers that were passed, in order.
    pub layers: Vec<LayerVerdict>,
    /// The remote address that a callout redirected a connection to.
    pub redirected: Option<SocketAddr>,
    /// The packets that left the stack since the last look: to the network, or to a receiver.
    pub delivered: Vec<Delivered>,
}

/// A callout that a driver registered, `FWPS_CALLOUT`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callout {
    pub(super) id: u32,
    pub(super) key: Guid,
    /// The number at the end of the name of the routine that registered it.
    pub(super) version: u32,
    pub(super) flags: u32,
    pub(super) classify: GuestPtr<Code>,
    pub(super) notify: GuestPtr<Code>,
    pub(super) flow_delete: GuestPtr<Code>,
    pub(super) from: u64,
}

/// What an object of the engine belongs to: a dynamic session, which takes it along when it is closed.
pub(super) type Owner = Option<KernelHandle>;

/// A filter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) id: u64,
    pub(super) key: Guid,
    pub(super) layer: u16,
    pub(super) sublayer: Guid,
    pub(super) weight: u64,
    pub(super) flags: u32,
    pub(super) action: u32,
    pub(super) callout: Guid,
    pub(super) context: u64,
    pub(super) conditions: Vec<Condition>,
    pub(super) record: Arc<Record>,
    pub(super) owner: Owner,
    /// The structure for callouts, which lives as long as the filter: a callout may store a context there.
    pub(super) shared: GuestPtr<FWPS_FILTER>,
}

/// A callout as the engine knows it: its key, its number and its layer.
pub(super) type Registered = (Guid, u32, u16, Arc<Record>, Owner);

/// The objects that `Fwpm` functions manage. A transaction works on the original and keeps a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Policy {
    pub(super) providers: Vec<(Guid, Arc<Record>, Owner)>,
    /// The keys and weights of sublayers.
    pub(super) sublayers: Vec<(Guid, u16, Arc<Record>, Owner)>,
    pub(super) callouts: Vec<Registered>,
    pub(super) filters: Vec<Filter>,
}

/// A session of a driver with the engine.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) handle: KernelHandle,
    pub(super) is_dynamic: bool,
    /// The policy before the transaction that is in progress.
    pub(super) transaction: Option<Policy>,
}

/// A list of objects that a driver is reading.
#[derive(Clone, Debug)]
pub(super) struct Enumeration {
    pub(super) handle: KernelHandle,
    pub(super) engine: KernelHandle,
    pub(super) left: VecDeque<Arc<Record>>,
}

/// A context that a driver associated with a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowContext {
    pub(super) layer: u16,
    pub(super) callout: u32,
    pub(super) context: u64,
}

/// A data flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) id: u64,
    pub(super) protocol: u8,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Whether the remote side began it.
    pub(super) inbound: bool,
    /// The sides that have closed it: 1 for the local one, 2 for the remote one.
    pub(super) closed: u8,
    /// Whether it is established: until then, TCP exchanges its first segments.
    pub(super) established: bool,
    /// The passage that it began with.
    pub(super) passage: u64,
    /// Whether this host plays the part of the remote side.
    pub(super) is_answered: bool,
    pub(super) process: u64,
    pub(super) application: String,
    pub(super) contexts: Vec<FlowContext>,
}

/// The injection handle and the injection context that a packet was injected with.
pub(super) type Mark = (KernelHandle, u64);

/// Who made a `NET_BUFFER_LIST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// The network stack indicated it to callouts.
    Stack,
    /// The driver allocated it.
    Driver,
    /// The driver cloned the list at this address.
    Clone(u64),
}

/// A `NET_BUFFER_LIST`. Freed ones are remembered: no address is used twice.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) maker: Maker,
    pub(super) from: u64,
    pub(super) freed: bool,
    /// The references of the driver, and the call that added the last one.
    pub(super) references: u32,
    pub(super) referenced_from: u64,
    /// The clones that exist.
    pub(super) clones: u32,
    /// Whether the stack still indicates it.
    pub(super) indicated: bool,
    /// Whether it is being injected.
    pub(super) in_flight: bool,
    /// The injections of its data, the last one last.
    pub(super) marks: Vec<Mark>,
    /// The memory that goes with it: buffers, MDLs and data of the host.
    pub(super) memory: Vec<u64>,
}

/// What a pended operation waits for, and how it goes on.
pub(super) struct Pended {
    pub(super) id: u64,
    /// Whether it was pended with `FwpsPendClassify0`. Otherwise, with `FwpsPendOperation0`.
    pub(super) is_classify: bool,
    pub(super) from: u64,
    pub(super) journey: Journey,
}

/// A classification: it lasts until the classify functions have returned, and while the driver has a handle of it.
#[derive(Clone, Debug)]
pub(super) struct Classification {
    pub(super) id: u64,
    pub(super) layer: u16,
    /// Whether the classify functions have not returned yet.
    pub(super) is_running: bool,
    pub(super) is_reauthorization: bool,
    /// Whether a callout has pended it: by `FwpsPendClassify0` or not, from where, and whether it was completed again.
    pub(super) pended: Option<(bool, u64)>,
    pub(super) completed: Option<Verdict>,
    /// The references by `FwpsAcquireClassifyHandle0`, and the call that added the last one.
    pub(super) references: u32,
    pub(super) from: u64,
    /// The writable layer data that was acquired and not applied.
    pub(super) writable: u64,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// The remote address that a callout has set.
    pub(super) redirected: Option<SocketAddr>,
}

/// The state of the filter engine.
#[derive(Default)]
pub struct State {
    numbers: u64,
    pub(super) policy: Policy,
    pub(super) sessions: Vec<Session>,
    /// The lists that drivers are reading.
    pub(super) enumerations: Vec<Enumeration>,
    pub(super) callouts: Vec<Callout>,
    pub(super) flows: Vec<Flow>,
    pub(super) lists: SortedMap<u64, List>,
    pub(super) classifications: Vec<Classification>,
    pub(super) pended: Vec<Pended>,
    pub(super) passages: SortedMap<u64, Passage>,
    pub(super) delivered: Vec<Delivered>,
    /// The number of injections that are under way, for each injection handle.
    pub(super) injections: SortedMap<KernelHandle, u32>,
}

impl State {
    /// Returns the session with a handle.
    pub(super) fn session(&mut self, engine: KernelHandle) -> Outcome<&mut Session> {
        self.sessions.iter_mut().find(|session| session.handle == engine).ok_or(NtStatus::InvalidHandle.into())
    }

    /// Returns a number that was not used before.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Returns a classification.
    pub(super) fn classification(&mut self, id: u64) -> Option<&mut Classification> {
        self.classifications.iter_mut().find(|known| known.id == id)
    }

    /// Forgets a classification that neither the engine nor the driver uses.
    pub(super) fn forget_unused(&mut self) {
        let is_pended = |id| self.pended.iter().any(|pended| pended.id == id);
        let is_used = |known: &Classification| known.is_running || known.references != 0 || is_pended(known.id);
        let unused: Vec<u64> =
            self.classifications.iter().filter(|known| !is_used(known)).map(|known| known.id).collect();
        self.classifications.retain(|known| !unused.contains(&known.id));
    }

    /// Returns a flow.
    pub(super) fn flow(&mut self, id: u64) -> Option<&mut Flow> {
        self.flows.iter_mut().find(|flow| flow.id == id)
    }
}

/// Forgets everything except numbers that were used, after the last image was unloaded.
pub(super) fn forget() {
    let mut state = state();
    let numbers = state.numbers;
    *state = State { numbers, ..State::default() };
}
