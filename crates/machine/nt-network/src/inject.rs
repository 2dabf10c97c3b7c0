//! Injection: packets and stream data that drivers send into the network stack.

use std::net::SocketAddr;

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::{call_back, kernel};
use nt_processor::layout::NET_BUFFER_LIST;
use nt_processor::memory::{Code, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{
    Call, DISPATCH, FILTERING, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines,
};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::{
    AF_INET, FWPS_PACKET_INJECTED_BY_OTHER, FWPS_PACKET_INJECTED_BY_SELF, FWPS_PACKET_NOT_INJECTED,
    FWPS_PACKET_PREVIOUSLY_INJECTED_BY_SELF,
};

use super::buffers;
use super::packet;
use super::route::Entry;
use super::stack::{self, Arrival};
use super::state::{Delivered, Maker, state};
use super::value::address;

/// The kind of an injection handle, for reports of leaks.
const INJECTION: &str = "injection handle";
/// The process of packets that a driver sends: the system.
const SYSTEM: u64 = 4;
/// The maximum number of times that a packet is injected with the same handle. A driver that injects its own packets
/// again would never end.
const MOST: usize = 16;

/// Who injects, and what follows when it is done.
#[derive(Clone, Copy)]
struct Injection {
    handle: KernelHandle,
    context: u64,
    list: GuestPtr<NET_BUFFER_LIST>,
    done: GuestPtr<Code>,
    done_context: u64,
}

/// What is injected.
#[derive(Clone, Copy)]
enum Target {
    /// Complete IP datagrams, at a layer.
    Packets { inbound: bool, entry: Entry },
    /// Transport headers and data of an endpoint, with another remote address if one is given.
    Segments { endpoint: u64, remote: Option<std::net::IpAddr> },
    /// Data of a flow.
    Stream { inbound: bool },
}

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsInjectionHandleCreate0(
        &call,
        _family: Ignored<u16>,
        _flags: Ignored<u32>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let handle = object::open(INJECTION, 0, call.from)?;
        state().injections.insert(handle, 0);
        place.set(handle)?;
        done(())
    }

    /// Waits until all injections with the handle are complete, as the documentation states.
    #[irql(PASSIVE), module(FILTERING)]
    fn FwpsInjectionHandleDestroy0(handle: KernelHandle) -> NtStatus {
        if !state().injections.contains_key(&handle) {
            return object::close(handle);
        }
        let is_done = || (state().injections.get(&handle).copied().unwrap_or_default() == 0).then_some(());
        kernel().scheduler.wait(None, |_| is_done());
        state().injections.remove(&handle);
        object::close(handle)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectNetworkSendAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        _flags: Ignored<u32>,
        _compartment: Ignored<i32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = Target::Packets { inbound: false, entry: Entry::Network };
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectNetworkReceiveAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        _flags: Ignored<u32>,
        _compartment: Ignored<i32>,
        _interface: Ignored<u32>,
        _sub_interface: Ignored<u32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = Target::Packets { inbound: true, entry: Entry::Network };
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    /// A forwarded packet leaves at once: this host has one interface and forwards nothing.
    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectForwardAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        _flags: Ignored<u32>,
        _family: Ignored<u16>,
        _compartment: Ignored<i32>,
        _interface: Ignored<u32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = Target::Packets { inbound: false, entry: Entry::Network };
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectTransportSendAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        endpoint: u64,
        _flags: Ignored<u32>,
        parameters: Option<GuestPtr<GuestPtr<u8>>>,
        family: u16,
        _compartment: Ignored<i32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = segments(endpoint, parameters, family)?;
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectTransportSendAsync1(
        &call,
        handle: KernelHandle,
        context: u64,
        endpoint: u64,
        _flags: Ignored<u32>,
        parameters: Option<GuestPtr<GuestPtr<u8>>>,
        family: u16,
        _compartment: Ignored<i32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = segments(endpoint, parameters, family)?;
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsInjectTransportReceiveAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        _reserved: Ignored<GuestPtr<Opaque>>,
        _flags: Ignored<u32>,
        _family: Ignored<u16>,
        _compartment: Ignored<i32>,
        _interface: Ignored<u32>,
        _sub_interface: Ignored<u32>,
        list: GuestPtr<NET_BUFFER_LIST>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        let target = Target::Packets { inbound: true, entry: Entry::Transport };
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsStreamInjectAsync0(
        &call,
        handle: KernelHandle,
        context: u64,
        _flags: Ignored<u32>,
        _flow: Ignored<u64>,
        _callout: Ignored<u32>,
        _layer: Ignored<u16>,
        stream_flags: u32,
        list: GuestPtr<NET_BUFFER_LIST>,
        _length: Ignored<u64>,
        done: GuestPtr<Code>,
        done_context: u64,
    ) -> Outcome {
        /// The flags of received data, `FWPS_STREAM_FLAG_RECEIVE…`.
        const RECEIVED: u32 = 0xFFFF;
        let target = Target::Stream { inbound: stream_flags & RECEIVED != 0 };
        inject(call, Injection { handle, context, list, done, done_context }, target)
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsQueryPacketInjectionState0(
        handle: KernelHandle,
        list: GuestPtr<NET_BUFFER_LIST>,
        context: Out<u64>,
    ) -> Outcome<i32> {
        let marks = state().lists.get(&list.address()).map(|known| known.marks.clone()).unwrap_or_default();
        let last = marks.last().map(|(by, _)| *by == handle);
        let own = marks.iter().rev().find(|(by, _)| *by == handle);
        let answer = match (last, own) {
            (None, _) => FWPS_PACKET_NOT_INJECTED,
            (Some(true), _) => FWPS_PACKET_INJECTED_BY_SELF,
            (Some(false), Some(_)) => FWPS_PACKET_PREVIOUSLY_INJECTED_BY_SELF,
            (Some(false), None) => FWPS_PACKET_INJECTED_BY_OTHER,
        };
        if let Some((_, own)) = own {
            context.set_if_wanted(*own)?;
        }
        Ok(answer)
    }
}

/// Returns where segments go. `FWPS_TRANSPORT_SEND_PARAMS` begins with a pointer to the remote address.
fn segments(endpoint: u64, parameters: Option<GuestPtr<GuestPtr<u8>>>, family: u16) -> Outcome<Target> {
    let remote = match parameters {
        Some(parameters) => parameters.read()?.non_null(),
        None => None,
    };
    let length = if family == AF_INET { 4 } else { 16 };
    let remote = remote.map(|remote| remote.array(length).read()).transpose()?;
    Ok(Target::Segments { endpoint, remote: remote.and_then(|bytes| address(&bytes)) })
}

/// Checks an injection, and queues it: it takes place in a DPC.
fn inject(call: &Call, injection: Injection, target: Target) -> Outcome {
    let Injection { handle, list, .. } = injection;
    let wrong = |rule, detail: std::fmt::Arguments<'_>| {
        verify::find_at(rule, Some(call.name()), call.from, detail);
        fail(NtStatus::InvalidParameter)
    };
    if injection.done.is_null() {
        return wrong(Rule::BadArgument, format_args!("passes no completion function"));
    }
    let known = state().lists.get(&list.address()).cloned();
    match known {
        None => return wrong(Rule::BadArgument, format_args!("{list:#x} is not a NET_BUFFER_LIST")),
        Some(known) if known.freed => {
            return wrong(Rule::UseAfterFree, format_args!("injects a NET_BUFFER_LIST that was freed"));
        }
        Some(known) if known.maker == Maker::Stack => {
            let how = "clone it with FwpsAllocateCloneNetBufferList0";
            return wrong(Rule::WfpMisuse, format_args!("injects a packet that it did not clone or allocate: {how}"));
        }
        Some(known) if known.in_flight => {
            return wrong(Rule::WfpMisuse, format_args!("injects a NET_BUFFER_LIST that is being injected already"));
        }
        Some(known) if known.marks.iter().filter(|(by, _)| *by == handle).count() >= MOST => {
            let how = "permit what FwpsQueryPacketInjectionState0 reports as its own";
            return wrong(Rule::WfpMisuse, format_args!("injects its own packets again and again: {how}"));
        }
        Some(_) => {}
    }
    {
        let mut state = state();
        match state.injections.get_mut(&handle) {
            Some(count) => *count += 1,
            None => return fail(NtStatus::FwpInjectHandleStale),
        }
        if let Some(known) = state.lists.get_mut(&list.address()) {
            known.in_flight = true;
        }
    }
    kernel().scheduler.change(|state| state.defer(list.address(), move || perform(injection, target)));
    done(())
}

/// Performs an injection and completes it.
fn perform(injection: Injection, target: Target) {
    let Injection { handle, context, list, done, done_context } = injection;
    let mut marks = state().lists.get(&list.address()).map(|known| known.marks.clone()).unwrap_or_default();
    marks.push((handle, context));
    for data in buffers::contents(list).or_stop() {
        let (inbound, entry, datagram) = match target {
            Target::Packets { inbound, entry } => (inbound, entry, data),
            Target::Segments { endpoint, remote } => match with_header(endpoint, remote, &data) {
                Some(datagram) => (false, Entry::Transport, datagram),
                None => continue,
            },
            Target::Stream { inbound } => {
                state().delivered.push(Delivered { inbound, injected: true, data });
                continue;
            }
        };
        let arrival = Arrival {
            datagram,
            inbound,
            entry,
            marks: marks.clone(),
            passage: 0,
            process: SYSTEM,
            application: "System".to_owned(),
            is_answered: false,
        };
        if !stack::enter(arrival) {
            let detail =
                format_args!("injects data that is not an IP datagram: the NET_BUFFER must begin with the IP header");
            verify::find_at(Rule::WfpMisuse, Some("FwpsInject…Async0"), 0, detail);
        }
    }
    {
        let mut state = state();
        if let Some(known) = state.lists.get_mut(&list.address()) {
            known.in_flight = false;
        }
    }
    list.Status().write(NtStatus::Success.as_int()).or_stop();
    call_back("completionFn", DISPATCH, done, &[done_context, list.address(), 1]);
    if let Some(count) = state().injections.get_mut(&handle) {
        *count = count.saturating_sub(1);
    }
}

/// Puts the IP header of an endpoint before a segment.
fn with_header(endpoint: u64, remote: Option<std::net::IpAddr>, segment: &[u8]) -> Option<Vec<u8>> {
    let flow = state().flow(endpoint).cloned()?;
    let remote = remote.unwrap_or_else(|| SocketAddr::ip(&flow.remote));
    Some(packet::wrap(flow.protocol, flow.local.ip(), remote, segment))
}
