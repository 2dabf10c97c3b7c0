//! The traffic that a test describes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nt_kernel::kernel;
use nt_verifier::verify::{GapKind, gap};
use windows_constants::filtering_platform::{IPPROTO_TCP, IPPROTO_UDP};

use super::flow;
use super::journey::Journey;
use super::packet::{self, ACK, Headers};
use super::route::{self, Entry};
use super::stack::{self, Arrival};
use super::state::{Passage, Verdict, state};

/// The process and its path, unless a connection has others.
const PROCESS: u64 = 1000;
const APPLICATION: &str = r"\device\harddiskvolume1\windows\system32\client.exe";
/// The local port, unless a connection has another: the first dynamic port.
const PORT: u16 = 49152;

/// A connection that is opened: by an application to a remote address, or from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The remote address.
    pub remote: SocketAddr,
    /// The local address. Without one, it is `10.0.0.2` or `fd00::2`, and a dynamic port.
    pub local: Option<SocketAddr>,
    /// Whether the connection comes from the remote address.
    pub inbound: bool,
    /// Whether it is UDP. Otherwise, TCP.
    pub udp: bool,
    /// The process of the application.
    pub process: u64,
    /// The path of the application.
    pub application: String,
}

impl Connection {
    /// Describes a TCP connection of an application to a remote address.
    #[must_use]
    pub fn to(remote: SocketAddr) -> Self {
        let application = APPLICATION.to_owned();
        Self { remote, local: None, inbound: false, udp: false, process: PROCESS, application }
    }

    /// Describes a TCP connection from a remote address.
    #[must_use]
    pub fn from(remote: SocketAddr) -> Self {
        Self { inbound: true, ..Self::to(remote) }
    }

    fn local(&self) -> SocketAddr {
        self.local.unwrap_or_else(|| {
            let address = match self.remote.ip() {
                IpAddr::V4(_) => Ipv4Addr::new(10, 0, 0, 2).into(),
                IpAddr::V6(_) => Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 2).into(),
            };
            SocketAddr::new(address, PORT)
        })
    }
}

/// A packet that is sent or received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The IP datagram, beginning with the IP header.
    pub data: Vec<u8>,
    /// Whether the packet is received. Otherwise, it is sent.
    pub inbound: bool,
}

/// Returns whether callouts are registered.
pub fn has_callouts() -> bool {
    !state().callouts.is_empty()
}

fn new_passage() -> u64 {
    let mut state = state();
    let id = state.number();
    let passage = Passage { id, verdict: Verdict::Permit, layers: Vec::new(), redirected: None, delivered: Vec::new() };
    state.passages.insert(id, passage);
    id
}

/// Opens a connection.
pub fn connect(connection: &Connection) -> Passage {
    let id = new_passage();
    let local = connection.local();
    let remote = connection.remote;
    let process = connection.process;
    let application = connection.application.clone();
    let is_answered = true;
    let protocol = if connection.udp { IPPROTO_UDP } else { IPPROTO_TCP };
    if connection.inbound || connection.udp {
        let (source, destination) = if connection.inbound { (remote, local) } else { (local, remote) };
        let datagram = packet::build(protocol, source, destination, packet::SYN, &[]);
        let inbound = connection.inbound;
        let entry = Entry::New;
        let marks = Vec::new();
        stack::enter(Arrival { datagram, inbound, entry, marks, passage: id, process, application, is_answered });
    } else {
        let headers = Headers { source: local, destination: remote, protocol, ip: 0, transport: 0, flags: packet::SYN };
        let stages = route::stages(&headers, false, Entry::New, None).into();
        stack::run(Journey {
            passage: id,
            inbound: false,
            datagram: Vec::new(),
            headers,
            flow: None,
            stages,
            marks: Vec::new(),
            is_reauthorization: false,
            process,
            application,
            is_answered,
        });
    }
    let what = if connection.inbound { "the connection from" } else { "the connection to" };
    ended(id, &format!("{what} {remote}"))
}

/// Sends or receives a packet. Returns `None` if it is not a complete IP datagram.
pub fn send(packet: &Packet) -> Option<Passage> {
    let id = new_passage();
    let is_datagram = stack::enter(Arrival {
        datagram: packet.data.clone(),
        inbound: packet.inbound,
        entry: Entry::New,
        marks: Vec::new(),
        passage: id,
        process: PROCESS,
        application: APPLICATION.to_owned(),
        is_answered: false,
    });
    is_datagram.then(|| ended(id, "the packet"))
}

/// Sends or receives data of a connection. Returns `None` if the connection does not exist any more.
pub fn transfer(connection: u64, inbound: bool, data: &[u8]) -> Option<Passage> {
    /// The flag of a TCP segment that is passed on at once.
    const PUSH: u8 = 0x08;
    let flow = state().flows.iter().find(|flow| flow.passage == connection).cloned()?;
    let (source, destination) = if inbound { (flow.remote, flow.local) } else { (flow.local, flow.remote) };
    let id = new_passage();
    stack::enter(Arrival {
        datagram: packet::build(flow.protocol, source, destination, ACK | PUSH, data),
        inbound,
        entry: Entry::New,
        marks: Vec::new(),
        passage: id,
        process: flow.process,
        application: flow.application,
        is_answered: true,
    });
    Some(ended(id, "the data"))
}

/// Ends a connection. Returns whether it existed.
pub fn disconnect(connection: u64) -> bool {
    let flow = state().flows.iter().find(|flow| flow.passage == connection).map(|flow| flow.id);
    let ended = flow.and_then(flow::end).is_some();
    kernel().scheduler.settle();
    ended
}

/// Returns a passage as it is now, with the packets that were delivered since the last look.
pub fn passage(id: u64) -> Option<Passage> {
    let mut state = state();
    let delivered = std::mem::take(&mut state.delivered);
    let passage = state.passages.get(&id)?.clone();
    Some(Passage { delivered, ..passage })
}

/// Waits until everything that the traffic started has happened. If no callout saw the traffic, the run has a gap.
fn ended(id: u64, what: &str) -> Passage {
    kernel().scheduler.settle();
    let passage = passage(id).unwrap_or(Passage {
        id,
        verdict: Verdict::Permit,
        layers: Vec::new(),
        redirected: None,
        delivered: Vec::new(),
    });
    if passage.layers.iter().all(|layer| layer.callouts == 0) {
        let layers: Vec<&str> = passage.layers.iter().map(|layer| layer.layer.as_str()).collect();
        let advice = format!("it passed {}: add a filter for one of these layers", layers.join(", "));
        gap::add_with(GapKind::NotReached, format!("{what} reached no callout of the driver"), vec![advice]);
    }
    passage
}
