//! Which layers a packet passes, and in which order: that of "TCP Packet Flows" and "UDP Packet Flows" on Microsoft Learn.

use windows_constants::filtering_platform::IPPROTO_TCP;

use super::journey::Stage;
use super::packet::{ACK, Headers, SYN};
use super::state::Flow;

/// Where a packet enters the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// As a new packet: of an application, or from the network.
    New,
    /// At the network layer.
    Network,
    /// At the transport layer.
    Transport,
}

/// Returns the stages of a packet.
pub(super) fn stages(headers: &Headers, inbound: bool, entry: Entry, flow: Option<&Flow>) -> Vec<Stage> {
    let is_tcp = headers.protocol == IPPROTO_TCP;
    // A reset or a stray segment belongs to no connection and starts none.
    let starts = if is_tcp { headers.flags & (SYN | ACK) == SYN } else { true };
    let is_new = flow.is_none() && starts;
    let mut stages = Vec::new();
    if inbound {
        if entry != Entry::Transport {
            stages.push(Stage::Network);
        }
        stages.push(Stage::Transport);
        if is_new {
            stages.push(Stage::Accept);
        }
        // The client's side is established by the SYN-ACK, the server's side by the ACK after it.
        let completes = |flow: &Flow| headers.flags & ACK != 0 && (flow.inbound || headers.flags & SYN != 0);
        if if is_tcp { flow.is_some_and(|flow| !flow.established && completes(flow)) } else { is_new } {
            stages.push(Stage::Established);
        }
        stages.push(Stage::Data);
    } else {
        if entry == Entry::New {
            if is_new {
                stages.extend([Stage::Bind, Stage::Redirect, Stage::Connect]);
            }
            if is_new && !is_tcp {
                stages.push(Stage::Established);
            }
            stages.push(Stage::Data);
        }
        if entry != Entry::Network {
            stages.push(Stage::Transport);
        }
        stages.push(Stage::Network);
    }
    stages.push(Stage::Deliver);
    stages
}
