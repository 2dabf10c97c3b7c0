//! The steps with traffic: connections, and packets of capture files.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::IpAddr;

use etw_types::NtStatus;
use nt_machine::{Connection, Packet, Passage, Verdict};
use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{Block, Linktype, OptionCode, PcapBlockOwned, PcapError, create_reader};

use super::progress::{Progress, status_of};
use nt_host::text::traffic::directed;
use nt_host::text::{TextError, bytes};
use nt_host::{Error, NtHost};

/// The size of the buffer for a block of a capture file.
const BUFFER: usize = 1 << 20;
/// The option of a packet with its direction, `epb_flags`, and the values of its two lowest bits.
const FLAGS: OptionCode = OptionCode(2);
const INBOUND: u8 = 1;
const OUTBOUND: u8 = 2;

/// What the clients have sent.
#[derive(Default)]
pub(super) struct Traffic {
    /// The connections that are open.
    connections: Vec<Passage>,
    /// The number of packets so far.
    packets: u32,
}

impl Traffic {
    /// Opens a connection, and prints the verdicts.
    pub(super) fn connect(
        &mut self,
        host: &NtHost,
        connection: &Connection,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        progress.step("connect");
        let passage = host.connect(connection.clone())?;
        let protocol = if connection.udp { "udp " } else { "" };
        let how = if connection.inbound { "from " } else { "" };
        progress.note(&format!("connect {protocol}{how}{}: {}", connection.remote, described(&passage)));
        self.connections.push(passage);
        Ok(())
    }

    /// Sends or receives data of the last connection, and prints the verdicts.
    pub(super) fn transfer(
        &self,
        host: &NtHost,
        inbound: bool,
        data: &[u8],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        progress.step("transfer");
        let transferred = match self.connections.last() {
            Some(connection) => status_of(host.transfer(connection, inbound, data))?,
            None => Err(NtStatus::InvalidParameter),
        };
        let result =
            transferred.map_or_else(|status| format!("no connection ({status})"), |passage| described(&passage));
        progress.note(&format!("data, {}: {result}", direction(inbound)));
        Ok(())
    }

    /// Ends the connections.
    pub(super) fn disconnect(&mut self, host: &NtHost, progress: &mut Progress) -> Result<(), Error> {
        progress.step("disconnect");
        // A callout may have blocked the connection, or the driver may have ended it.
        std::mem::take(&mut self.connections)
            .iter()
            .try_for_each(|connection| status_of(host.disconnect(connection)).map(drop))
    }

    /// Sends or receives a packet, and prints the verdicts.
    pub(super) fn packet(&mut self, host: &NtHost, packet: &Packet, progress: &mut Progress) -> Result<(), Error> {
        progress.step("packets");
        self.packets += 1;
        let number = self.packets;
        let direction = direction(packet.inbound);
        progress.note(&match status_of(host.send_packet(packet.clone()))? {
            Ok(passage) => format!("packet {number}, {direction}: {}", described(&passage)),
            Err(status) => format!("packet {number}: not an IP datagram ({status})"),
        });
        Ok(())
    }
}

const fn direction(inbound: bool) -> &'static str {
    if inbound { "received" } else { "sent" }
}

/// Describes a verdict, where it was made, and what was injected.
fn described(passage: &Passage) -> String {
    let verdict = match passage.verdict {
        Verdict::Permit => "permitted",
        Verdict::Block => "blocked",
        Verdict::Absorb => "absorbed",
        Verdict::Pend => "pended",
    };
    let last = passage.layers.iter().rev().find(|layer| layer.verdict == passage.verdict);
    let at = last.filter(|_| passage.verdict != Verdict::Permit).map(|layer| format!(" at {}", layer.layer));
    let redirected = passage.redirected.map(|remote| format!(", redirected to {remote}"));
    let count = passage.delivered.iter().filter(|delivered| delivered.injected).count();
    let injected = (count != 0).then(|| format!(", {count} packet{} injected", if count == 1 { "" } else { "s" }));
    let callouts: u32 = passage.layers.iter().map(|layer| layer.callouts).sum();
    let calls = format!(" ({callouts} call{} of callouts)", if callouts == 1 { "" } else { "s" });
    [verdict.to_owned(), at.unwrap_or_default(), redirected.unwrap_or_default(), injected.unwrap_or_default(), calls]
        .concat()
}

/// The packets of a capture file.
#[derive(Default)]
struct Capture {
    packets: Vec<Packet>,
    /// The address that is taken for the local one.
    local: Option<IpAddr>,
}

impl Capture {
    /// Adds the datagram in a frame, if there is one. Without a direction, a packet was sent if it comes from the source of
    /// the first packet.
    fn add(&mut self, link: Option<&Linktype>, frame: &[u8], direction: Option<bool>) {
        let data = datagram(link.copied().unwrap_or(Linktype::ETHERNET), frame);
        if let Some((data, source)) = data.and_then(|data| Some((data, source(data)?))) {
            let local = *self.local.get_or_insert(source);
            self.packets.push(Packet { data: data.to_vec(), inbound: direction.unwrap_or(source != local) });
        }
    }
}

/// Why there are no packets.
#[derive(Debug)]
pub(super) enum PacketsError {
    /// The text is not a packet.
    Text(TextError),
    /// The file cannot be read.
    File(String, io::Error),
    /// The file is not a capture of packets.
    Capture(String, &'static str),
}

impl fmt::Display for PacketsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::File(path, error) => write!(f, "cannot read packets from `{path}`: {error}"),
            Self::Capture(path, reason) => write!(f, "cannot read packets from `{path}`: {reason}"),
        }
    }
}

impl std::error::Error for PacketsError {}

/// Reads the IP datagrams of a capture file, or one with its direction.
pub(super) fn packets(path: &str) -> Result<Vec<Packet>, PacketsError> {
    if let Some((inbound, data)) = directed(path) {
        return Ok(vec![Packet { data: bytes(data).map_err(PacketsError::Text)?, inbound }]);
    }
    let wrong = |reason: &'static str| PacketsError::Capture(path.to_owned(), reason);
    let file = File::open(path).map_err(|error| PacketsError::File(path.to_owned(), error))?;
    let mut reader = create_reader(BUFFER, file).map_err(|_| wrong("neither a pcapng nor a pcap file"))?;
    let mut capture = Capture::default();
    let mut links = Vec::new();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                match block {
                    PcapBlockOwned::LegacyHeader(header) => links = vec![header.network],
                    PcapBlockOwned::Legacy(packet) => capture.add(links.first(), packet.data, None),
                    PcapBlockOwned::NG(Block::SectionHeader(_)) => links.clear(),
                    PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => links.push(interface.linktype),
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        let flags = packet.options.iter().find(|option| option.code == FLAGS);
                        let direction = match flags.and_then(|option| option.value.first()).map(|byte| byte & 3) {
                            Some(INBOUND) => Some(true),
                            Some(OUTBOUND) => Some(false),
                            _ => None,
                        };
                        capture.add(links.get(packet.if_id as usize), packet.packet_data(), direction);
                    }
                    PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                        capture.add(links.first(), packet.packet_data(), None);
                    }
                    PcapBlockOwned::NG(_) => {}
                }
                reader.consume(length);
            }
            Err(PcapError::Eof) if capture.packets.is_empty() => return Err(wrong("it has no IP packets")),
            Err(PcapError::Eof) => return Ok(capture.packets),
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|_| wrong("a block is damaged, or larger than 1 MiB"))?;
            }
            Err(_) => return Err(wrong("a block is damaged")),
        }
    }
}

/// Returns the IP datagram in a frame.
fn datagram(link: Linktype, frame: &[u8]) -> Option<&[u8]> {
    /// The types of Ethernet frames: IPv4, IPv6, VLAN.
    const V4: [u8; 2] = [0x08, 0x00];
    const V6: [u8; 2] = [0x86, 0xDD];
    const VLAN: [u8; 2] = [0x81, 0x00];
    match link {
        Linktype::ETHERNET => {
            let mut at = 12;
            while frame.get(at..at + 2)? == VLAN {
                at += 4;
            }
            let kind = frame.get(at..at + 2)?;
            if kind == V4 || kind == V6 { frame.get(at + 2..) } else { None }
        }
        Linktype::LINUX_SLL => frame.get(16..),
        Linktype::NULL | Linktype::LOOP => frame.get(4..),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Some(frame),
        _ => None,
    }
}

/// Returns the source address of a datagram.
fn source(datagram: &[u8]) -> Option<IpAddr> {
    match datagram.first()? >> 4 {
        4 => <[u8; 4]>::try_from(datagram.get(12..16)?).ok().map(IpAddr::from),
        6 => <[u8; 16]>::try_from(datagram.get(8..24)?).ok().map(IpAddr::from),
        _ => None,
    }
}
