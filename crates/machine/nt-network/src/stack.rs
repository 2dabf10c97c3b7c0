//! The network stack around the filter engine: what happens to a packet at each layer, and what follows.

use std::net::SocketAddr;

use nt_kernel::sync::worker::submit;
use nt_processor::layout::NET_BUFFER_LIST;
use nt_processor::memory::{GuestPtr, OrStop as _};
use nt_verifier::routine::{DISPATCH, PASSIVE};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::IPPROTO_TCP;

use super::classify::{self, Decision, Indication};
use super::flow;
use super::journey::{Journey, Stage};
use super::layers::{self, Layer};
use super::packet::{self, ACK, FIN, Headers, RST, SYN};
use super::route::{Entry, stages};
use super::state::{Delivered, Flow, LayerVerdict, Mark, Passage, Pended, Verdict, state};
use super::{buffers, stream};

/// Lets a packet or a connect request pass the layers that it has before it.
pub(super) fn run(mut journey: Journey) {
    while let Some(stage) = journey.stages.pop_front() {
        if stage == Stage::Deliver {
            return deliver(&journey);
        }
        if !pass(&mut journey, stage) {
            return;
        }
    }
    set_verdict(&journey, Verdict::Permit);
}

/// Passes a stage. Returns whether the journey goes on.
fn pass(journey: &mut Journey, stage: Stage) -> bool {
    let is_tcp = journey.headers.protocol == IPPROTO_TCP;
    let is_v6 = journey.headers.source.is_ipv6();
    let name = match (stage, journey.inbound) {
        (Stage::Bind, _) => "ALE_RESOURCE_ASSIGNMENT",
        (Stage::Redirect, _) => "ALE_CONNECT_REDIRECT",
        (Stage::Connect, _) => "ALE_AUTH_CONNECT",
        (Stage::Accept, _) => "ALE_AUTH_RECV_ACCEPT",
        (Stage::Established, _) => "ALE_FLOW_ESTABLISHED",
        (Stage::Data, _) if is_tcp => {
            let is_established = journey.flow.is_some_and(|id| state().flow(id).is_some_and(|flow| flow.established));
            if !is_established || payload(journey).is_empty() {
                return true;
            }
            "STREAM"
        }
        (Stage::Data, _) => "DATAGRAM_DATA",
        (Stage::Transport, true) => "INBOUND_TRANSPORT",
        (Stage::Transport, false) => "OUTBOUND_TRANSPORT",
        (Stage::Network, true) => "INBOUND_IPPACKET",
        (Stage::Network, false) => "OUTBOUND_IPPACKET",
        (Stage::Deliver, _) => return true,
    };
    if matches!(stage, Stage::Connect | Stage::Accept) && journey.flow.is_none() {
        journey.flow = Some(new_flow(journey));
    }
    let Some(layer) = layers::find(name, is_v6) else { return true };
    let decision = if classify::has_filters(layer) {
        decide(journey, stage, layer)
    } else {
        Decision { verdict: Verdict::Permit, callouts: 0 }
    };
    journey.is_reauthorization = false;
    if decision.verdict == Verdict::Pend {
        return false;
    }
    if let Some(passage) = state().passages.get_mut(&journey.passage) {
        note(passage, journey, layer, decision);
    }
    if decision.verdict == Verdict::Permit {
        match stage {
            Stage::Established => establish(journey),
            // The segment that begins the connection.
            Stage::Connect if is_tcp => begin_handshake(journey),
            _ => {}
        }
        return true;
    }
    if let Some(id) = journey.flow.filter(|_| matches!(stage, Stage::Connect | Stage::Accept)) {
        flow::end(id);
    }
    false
}

/// Asks the filters of a layer.
fn decide(journey: &mut Journey, stage: Stage, layer: &'static Layer) -> Decision {
    let (is_tcp, Headers { ip, transport, .. }) = (journey.headers.protocol == IPPROTO_TCP, journey.headers);
    let headers = ip + transport;
    let before = match (stage, journey.inbound) {
        (Stage::Network, true) => ip,
        (Stage::Network, false) => 0,
        (_, true) => headers,
        (_, false) => ip,
    };
    let has_packet = !journey.datagram.is_empty() && !matches!(stage, Stage::Bind | Stage::Redirect);
    let has_packet = has_packet && !(is_tcp && stage == Stage::Connect);
    let is_stream = is_tcp && stage == Stage::Data;
    let data = payload(journey).to_vec();
    let head = journey.datagram.get(..journey.datagram.len() - data.len()).unwrap_or_default();
    let parts: &[&[u8]] = if is_stream { &[&data] } else { &[head, &data] };
    let list = if has_packet { buffers::indicate(parts, &journey.marks).or_stop().ok() } else { None };
    let list = list.unwrap_or_default();
    if !list.is_null() && !is_stream {
        for buffer in buffers::buffers(list).or_stop() {
            buffers::advance(buffer, before).or_stop();
        }
    }
    let stream = is_stream.then(|| stream::Packet::new(list, data.len() as u64, journey.inbound).or_stop());
    let id = classify::begin(layer, journey);
    let is_passive = matches!(stage, Stage::Bind | Stage::Redirect) || is_tcp && stage == Stage::Connect;
    let layer_data = stream.as_ref().map_or(list.address(), stream::Packet::address);
    let irql = if is_passive { PASSIVE } else { DISPATCH };
    let decided = classify::classify(&Indication { layer, journey, irql, layer_data, list, id }).or_stop();
    let decision = finish(journey, (stage, layer), id, decided);
    if let Some(stream) = stream {
        stream.end(journey.flow).or_stop();
    }
    if !list.is_null() {
        if decision.verdict == Verdict::Permit && !is_stream {
            read_back(journey, list, before);
        }
        buffers::change(list.address(), |known| known.indicated = false);
    }
    decision
}

/// A callout may change the data of a packet that it permits.
fn read_back(journey: &mut Journey, list: GuestPtr<NET_BUFFER_LIST>, before: u32) {
    let Some(buffer) = buffers::buffers(list).or_stop().first().copied() else { return };
    let changed = buffers::data(buffer).or_stop();
    if let Some(data) = journey.datagram.get_mut(before as usize..).filter(|data| data.len() == changed.len()) {
        data.copy_from_slice(&changed);
    }
}

/// Ends a classification. If a callout has pended it, the journey waits.
fn finish(journey: &mut Journey, (stage, layer): (Stage, &Layer), id: u64, decided: Decision) -> Decision {
    let mut engine = state();
    let Some(known) = engine.classification(id) else { return decided };
    known.is_running = false;
    let pended = known.pended;
    let completed = known.completed;
    let redirected = known.redirected;
    let writable = known.writable;
    let mut decision = decided;
    let mut early = None;
    if let Some((is_classify, from)) = pended {
        let mut waiting = journey.clone();
        waiting.stages.push_front(stage);
        waiting.is_reauthorization = !is_classify;
        decision.verdict = Verdict::Pend;
        // Before another thread can continue the journey.
        if let Some(passage) = engine.passages.get_mut(&journey.passage) {
            note(passage, journey, layer, decision);
        }
        let pended = Pended { id, is_classify, from, journey: waiting };
        match completed {
            // The driver was faster.
            Some(verdict) => early = Some((pended, verdict)),
            None => engine.pended.push(pended),
        }
    }
    engine.forget_unused();
    drop(engine);
    if let Some((pended, verdict)) = early {
        submit(id, move || resume(pended, verdict, redirected));
        return decision;
    }
    if writable != 0 && pended.is_none() {
        let detail =
            format_args!("acquires writable layer data and does not apply it: call FwpsApplyModifiedLayerData0");
        verify::find(Rule::WfpMisuse, detail);
    }
    if let Some(remote) = redirected {
        redirect(journey, remote);
    }
    decision
}

/// Connects to another address.
pub(super) fn redirect(journey: &mut Journey, remote: SocketAddr) {
    if remote.is_ipv4() != journey.headers.destination.is_ipv4() {
        return;
    }
    journey.headers.destination = remote;
    if !journey.datagram.is_empty() {
        let source = journey.headers.source;
        let data = payload(journey).to_vec();
        journey.datagram = packet::build(journey.headers.protocol, source, remote, journey.headers.flags, &data);
    }
    if let Some(passage) = state().passages.get_mut(&journey.passage) {
        passage.redirected = Some(remote);
    }
}

/// Returns the data behind the headers.
fn payload(journey: &Journey) -> &[u8] {
    let Headers { ip, transport, .. } = journey.headers;
    journey.datagram.get((ip + transport) as usize..).unwrap_or_default()
}

/// Notes the verdict of a layer. What happens to packets that a driver injects does not change the verdict of the passage.
fn note(passage: &mut Passage, journey: &Journey, layer: &Layer, decision: Decision) {
    let Decision { verdict, callouts } = decision;
    passage.layers.push(LayerVerdict { layer: layer.name.to_owned(), verdict, callouts });
    if verdict != Verdict::Permit && journey.marks.is_empty() {
        passage.verdict = verdict;
    }
}

/// Sets the verdict of the passage at the end of a journey.
fn set_verdict(journey: &Journey, verdict: Verdict) {
    if let Some(passage) = state().passages.get_mut(&journey.passage).filter(|_| journey.marks.is_empty()) {
        passage.verdict = verdict;
    }
}

fn new_flow(journey: &Journey) -> u64 {
    let mut state = state();
    let id = state.number();
    let (local, remote) = journey.ends();
    state.flows.push(Flow {
        id,
        protocol: journey.headers.protocol,
        local,
        remote,
        inbound: journey.inbound,
        closed: 0,
        established: false,
        passage: journey.passage,
        is_answered: journey.is_answered,
        process: journey.process,
        application: journey.application.clone(),
        contexts: Vec::new(),
    });
    id
}

fn establish(journey: &Journey) {
    let mut state = state();
    if let Some(flow) = journey.flow.and_then(|id| state.flow(id)) {
        flow.established = true;
    }
}

/// Makes the first segment of a connection that was authorized.
fn begin_handshake(journey: &mut Journey) {
    if journey.datagram.is_empty() {
        let Headers { source, destination, .. } = journey.headers;
        journey.datagram = packet::build(IPPROTO_TCP, source, destination, SYN, &[]);
        journey.headers = packet::headers(&journey.datagram).unwrap_or(journey.headers);
    }
}

/// A packet leaves the stack: to the network, or to its receiver.
fn deliver(journey: &Journey) {
    let inbound = journey.inbound;
    let injected = !journey.marks.is_empty();
    state().delivered.push(Delivered { inbound, injected, data: journey.datagram.clone() });
    set_verdict(journey, Verdict::Permit);
    answer(journey);
    close(journey);
}

/// Ends the flow of a TCP connection that both sides have closed, or that one has reset.
fn close(journey: &Journey) {
    let (Some(id), flags) = (journey.flow, journey.headers.flags) else { return };
    let ends = {
        let mut state = state();
        let Some(flow) = state.flow(id) else { return };
        if flags & FIN != 0 {
            flow.closed |= if journey.inbound { 2 } else { 1 };
        }
        flags & RST != 0 || flow.closed == 3
    };
    if ends {
        flow::end(id);
    }
}

/// Continues the handshake of a connection whose remote side this host plays.
fn answer(journey: &Journey) {
    let answer = match journey.headers.flags & (SYN | ACK) {
        SYN => SYN | ACK,
        both if both == SYN | ACK => ACK,
        _ => return,
    };
    let flow = journey.flow.and_then(|id| state().flow(id).cloned());
    let Some(flow) = flow.filter(|flow| flow.is_answered && flow.protocol == IPPROTO_TCP) else { return };
    let Headers { source, destination, .. } = journey.headers;
    enter(Arrival {
        datagram: packet::build(IPPROTO_TCP, destination, source, answer, &[]),
        inbound: !journey.inbound,
        entry: Entry::New,
        marks: Vec::new(),
        passage: flow.passage,
        process: flow.process,
        application: flow.application,
        is_answered: true,
    });
}

/// A packet that enters the stack.
pub(super) struct Arrival {
    pub(super) datagram: Vec<u8>,
    pub(super) inbound: bool,
    pub(super) entry: Entry,
    pub(super) marks: Vec<Mark>,
    pub(super) passage: u64,
    pub(super) process: u64,
    pub(super) application: String,
    pub(super) is_answered: bool,
}

/// Lets a packet enter the stack. Returns `false` if it is not a complete IP datagram.
pub(super) fn enter(arrival: Arrival) -> bool {
    let Arrival { datagram, inbound, entry, marks, passage, process, application, is_answered } = arrival;
    let Some(headers) = packet::headers(&datagram) else { return false };
    let (local, remote) =
        if inbound { (headers.destination, headers.source) } else { (headers.source, headers.destination) };
    let is_it = |flow: &&Flow| (flow.protocol, flow.local, flow.remote) == (headers.protocol, local, remote);
    let flow = state().flows.iter().find(is_it).cloned();
    let stages = stages(&headers, inbound, entry, flow.as_ref()).into();
    let (process, application) = match &flow {
        Some(flow) => (flow.process, flow.application.clone()),
        None => (process, application),
    };
    let flow = flow.map(|flow| flow.id);
    let is_reauthorization = false;
    run(Journey {
        passage,
        inbound,
        datagram,
        headers,
        flow,
        stages,
        marks,
        is_reauthorization,
        process,
        application,
        is_answered,
    });
    true
}

/// Continues a journey that was pended, after the driver has completed it with this verdict.
pub(super) fn resume(pended: Pended, verdict: Verdict, redirected: Option<SocketAddr>) {
    let Pended { is_classify, mut journey, .. } = pended;
    let stage = journey.stages.front().copied();
    if is_classify {
        journey.stages.pop_front();
        if let Some(remote) = redirected {
            redirect(&mut journey, remote);
        }
        if verdict == Verdict::Permit {
            return run(journey);
        }
        return set_verdict(&journey, verdict);
    }
    if stage == Some(Stage::Accept) {
        // The driver injects its clone of the packet, which is authorized then.
        if let Some(id) = journey.flow {
            flow::end(id);
        }
        return set_verdict(&journey, Verdict::Absorb);
    }
    if journey.headers.protocol != IPPROTO_TCP {
        // The packet was flushed. Only the flow is created.
        journey.stages.retain(|stage| matches!(stage, Stage::Connect | Stage::Established));
    }
    run(journey);
}
