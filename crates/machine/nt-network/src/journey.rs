//! A packet or a connect request on its way through the layers.

use std::collections::VecDeque;
use std::net::SocketAddr;

use nt_kernel::ex::handle::KernelHandle;

use super::packet::Headers;

/// A stop on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// `ALE_RESOURCE_ASSIGNMENT`.
    Bind,
    /// `ALE_CONNECT_REDIRECT`.
    Redirect,
    /// `ALE_AUTH_CONNECT`.
    Connect,
    /// `ALE_AUTH_RECV_ACCEPT`.
    Accept,
    /// `ALE_FLOW_ESTABLISHED`.
    Established,
    /// `STREAM` or `DATAGRAM_DATA`.
    Data,
    /// `OUTBOUND_TRANSPORT` or `INBOUND_TRANSPORT`.
    Transport,
    /// `OUTBOUND_IPPACKET` or `INBOUND_IPPACKET`.
    Network,
    /// The packet leaves the stack.
    Deliver,
}

/// A packet or a connect request on its way.
#[derive(Clone, Debug)]
pub(super) struct Journey {
    pub(super) passage: u64,
    pub(super) inbound: bool,
    /// The datagram; empty for a connect request of TCP, before there is a packet.
    pub(super) datagram: Vec<u8>,
    pub(super) headers: Headers,
    pub(super) flow: Option<u64>,
    pub(super) stages: VecDeque<Stage>,
    /// The injections of the packet, the last one last: handle and context.
    pub(super) marks: Vec<(KernelHandle, u64)>,
    /// Whether the next authorization repeats one that was pended.
    pub(super) is_reauthorization: bool,
    pub(super) process: u64,
    pub(super) application: String,
    /// Whether this host plays the part of the remote side.
    pub(super) is_answered: bool,
}

impl Journey {
    /// Returns the local and the remote address.
    pub(super) const fn ends(&self) -> (SocketAddr, SocketAddr) {
        let Headers { source, destination, .. } = self.headers;
        if self.inbound { (destination, source) } else { (source, destination) }
    }
}
