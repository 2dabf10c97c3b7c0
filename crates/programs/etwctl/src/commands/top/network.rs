//! Transfers over the network: the kernel's classes `TcpIp` and `UdpIp`, and Microsoft-Windows-Kernel-Network, which has the same
//! events in sessions without kernel flags.

use etw_etl::decode::{Node, Scalar};
use etw_etl::{Decoded, Decoder, EventRef};
use etw_types::Guid;

use super::hook;
use super::tally::{Key, Tally};

/// Microsoft-Windows-Kernel-Network.
const KERNEL_NETWORK: Guid = Guid::from_u128(0x7dd4_2a49_5329_4832_8dfd_43d9_7915_3a88);

/// What reports transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The classes of the kernel, which `NETWORK_TCPIP` enables.
    Classes,
    Provider,
}

impl Source {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Classes => "the kernel (NETWORK_TCPIP)",
            Self::Provider => "Microsoft-Windows-Kernel-Network",
        }
    }
}

/// An event about data that was sent or received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) source: Source,
    protocol: &'static str,
    is_sent: bool,
}

impl Transfer {
    /// Returns the transfer of an event, by its hook id or by its provider and id: each pair is IPv4 and IPv6.
    pub(super) fn from_event(event: &EventRef<'_>) -> Option<Self> {
        let id = event.header.descriptor.id;
        let (source, protocol, is_sent) = match hook(event) {
            Some(0x060A | 0x061A) => (Source::Classes, "TCP", true),
            Some(0x060B | 0x061B) => (Source::Classes, "TCP", false),
            Some(0x080A | 0x081A) => (Source::Classes, "UDP", true),
            Some(0x080B | 0x081B) => (Source::Classes, "UDP", false),
            None if event.header.provider == Some(KERNEL_NETWORK) => match id {
                10 | 26 => (Source::Provider, "TCP", true),
                11 | 27 => (Source::Provider, "TCP", false),
                42 | 58 => (Source::Provider, "UDP", true),
                43 | 59 => (Source::Provider, "UDP", false),
                _ => return None,
            },
            _ => return None,
        };
        Some(Self { source, protocol, is_sent })
    }

    /// Adds the transfer to its row. Its process is in the payload: the thread that logs it can be another one's.
    pub(super) fn count(self, event: &EventRef<'_>, decoder: &mut Decoder, tally: &mut Tally) {
        let content = &decoder.decode(event);
        let bytes = number(content, "size");
        let pid = number(content, "PID").and_then(|pid| u32::try_from(pid).ok()).or(event.header.process_id);
        let process = pid.and_then(|pid| decoder.process(pid, event.header.stamp)).map(|process| process.name.clone());
        let key = vec![
            process.into(),
            pid.into(),
            Key::Text(self.protocol.into()),
            remote(content).map_or(Key::Nothing, Key::from),
        ];
        let none = Some(0);
        let one = Some(1);
        let numbers = if self.is_sent { [bytes, bytes, none, one, none] } else { [bytes, none, bytes, none, one] };
        tally.add(key, &numbers);
    }
}

fn value<'a>(decoded: &'a Decoded, name: &str) -> Option<&'a Scalar> {
    match decoded.field(name)? {
        Node::Value(value) => Some(value),
        _ => None,
    }
}

fn number(decoded: &Decoded, name: &str) -> Option<u64> {
    match value(decoded, name)? {
        Scalar::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// The other end of the connection: its address and its port.
fn remote(decoded: &Decoded) -> Option<String> {
    let shown = |name| match value(decoded, name)? {
        Scalar::Text(text) | Scalar::Word(text) => Some(text.clone()),
        value => Some(value.to_string()),
    };
    let address = shown("daddr")?;
    let port = shown("dport")?;
    Some(if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") })
}
