//! Network packets as a pcapng file for Wireshark, as captured by `ndiscap` (`netsh trace`) and `PktMon`.
//!
//! The layouts are those of the two providers' manifests. `Microsoft-Windows-NDIS-PacketCapture` writes packets in fragments, and
//! keywords mark where a packet begins and ends. `Microsoft-Windows-PktMon` writes a packet once per component that it passes, so
//! a packet may occur several times, each time on the interface of its component. The blocks of the file follow the IETF draft of
//! pcapng.

use std::collections::HashMap;
use std::io::{self, Write};

use etw_types::Guid;

use crate::decode::{Decoded, Field, Node, Scalar};
use crate::event::EventRef;
use crate::format::bytes::{u16_at, u32_at};

const NDISCAP: Guid = Guid::from_u128(0x2ed6_006e_4729_4609_b423_3ee7_bcd6_78ef);
const PKTMON: Guid = Guid::from_u128(0x4d4f_80d9_c8bd_4d73_bb5b_19c9_0402_c5ac);

/// Keywords of `ndiscap`.
const WIRELESS_WAN: u64 = 0x200;
const NATIVE_802_11: u64 = 0x1_0000;
const PACKET_START: u64 = 0x4000_0000;
const PACKET_END: u64 = 0x8000_0000;
const SEND: u64 = 0x1_0000_0000;
const RECEIVE: u64 = 0x2_0000_0000;

/// Link types.
const ETHERNET: u16 = 1;
const RAW_IP: u16 = 101;
const IEEE_802_11: u16 = 105;

/// Maximum size of a fragmented packet in bytes, and maximum number of incomplete packets.
const MAX_PACKET: usize = 256 * 1024;
const MAX_OPEN: usize = 4096;
/// Maximum number of interfaces. Packets of further interfaces are counted as left out.
const MAX_INTERFACES: usize = 65_536;
/// 100 ns units between 1601 and 1970.
const TO_1970: i64 = 116_444_736_000_000_000;

/// A packet or a fragment of one.
struct Packet<'a> {
    interface: (u16, &'static str, u32),
    bytes: &'a [u8],
    /// Length of the packet on the wire, which may exceed what was captured.
    length: usize,
    /// 1 for inbound, 2 for outbound, 0 if unknown.
    direction: u32,
    begins: bool,
    ends: bool,
    dropped: Option<String>,
}

/// Writes a pcapng file.
#[derive(Debug)]
pub struct Pcapng<W> {
    out: W,
    interfaces: HashMap<(u16, &'static str, u32), u32>,
    /// Packets whose last fragment has not been seen yet, by writing thread and processor.
    open: HashMap<(Option<u32>, u16), Vec<u8>>,
    packets: u64,
    left_out: u64,
}

impl<W: Write> Pcapng<W> {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// Returns the error of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut pcapng = Self { out, interfaces: HashMap::new(), open: HashMap::new(), packets: 0, left_out: 0 };
        // Byte order, version 1.0, unknown length.
        let header = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
        pcapng.block(0x0A0D_0D0A, &header)?;
        Ok(pcapng)
    }

    /// Writes the packet of an event. Events without a packet are ignored.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn event(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        self.read(event, decoded, true)
    }

    /// Sees an event whose packet is not written unless it ends with a later event. A packet in several fragments is written if its
    /// last fragment is selected, because the packet has the time of that one.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn unselected(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        self.read(event, decoded, false)
    }

    fn read(&mut self, event: &EventRef<'_>, decoded: &Decoded, is_selected: bool) -> io::Result<()> {
        let mut own = Vec::new();
        let Some(packet) = packet(event, decoded, &mut own) else { return Ok(()) };
        let key = (event.header.thread_id, event.header.cpu);
        if packet.begins {
            self.left_out += u64::from(self.open.remove(&key).is_some());
            if packet.ends {
                return if is_selected { self.packet(event, &packet, packet.bytes) } else { Ok(()) };
            }
            if self.open.len() < MAX_OPEN {
                self.open.insert(key, Vec::new());
            }
        }
        let Some(bytes) = self.open.get_mut(&key).filter(|bytes| bytes.len() + packet.bytes.len() <= MAX_PACKET) else {
            self.open.remove(&key);
            self.left_out += u64::from(packet.ends && is_selected);
            return Ok(());
        };
        bytes.extend_from_slice(packet.bytes);
        if packet.ends
            && let Some(bytes) = self.open.remove(&key)
            && is_selected
        {
            return self.packet(event, &Packet { length: bytes.len(), ..packet }, &bytes);
        }
        Ok(())
    }

    /// Returns whether an event can be a part of a packet. The others need not be decoded for [`unselected`](Self::unselected).
    #[must_use]
    pub fn has_packet(event: &EventRef<'_>) -> bool {
        matches!(event.header.provider, Some(NDISCAP | PKTMON))
    }

    fn packet(&mut self, event: &EventRef<'_>, packet: &Packet<'_>, bytes: &[u8]) -> io::Result<()> {
        let number = match self.interfaces.get(&packet.interface) {
            Some(number) => *number,
            None if self.interfaces.len() >= MAX_INTERFACES => {
                self.left_out += 1;
                return Ok(());
            }
            None => self.interface(packet.interface)?,
        };
        let time = event.header.time.0.saturating_sub(TO_1970).max(0).cast_unsigned();
        let [a, b, c, d, e, f, g, h] = time.to_le_bytes();
        let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let mut body = number.to_le_bytes().to_vec();
        body.extend([e, f, g, h, a, b, c, d]);
        body.extend(size(bytes.len()));
        body.extend(size(packet.length.max(bytes.len())));
        body.extend_from_slice(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        option(&mut body, 2, &packet.direction.to_le_bytes());
        if let Some(reason) = &packet.dropped {
            option(&mut body, 1, reason.as_bytes());
        }
        option(&mut body, 0, &[]);
        self.packets += 1;
        self.block(6, &body)
    }

    /// Describes an interface: its link type, its name, and a time resolution of 100 ns.
    fn interface(&mut self, interface: (u16, &'static str, u32)) -> io::Result<u32> {
        let (link, kind, index) = interface;
        let number = u32::try_from(self.interfaces.len()).unwrap_or(u32::MAX);
        let mut body = [&link.to_le_bytes()[..], &[0; 6]].concat();
        option(&mut body, 2, format!("{kind} {index}").as_bytes());
        option(&mut body, 9, &[7]);
        option(&mut body, 0, &[]);
        self.block(1, &body)?;
        self.interfaces.insert(interface, number);
        Ok(number)
    }

    /// Writes a block, with its length before and after the body.
    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
        for part in [&kind.to_le_bytes()[..], &length, body, &length] {
            self.out.write_all(part)?;
        }
        Ok(())
    }

    /// Returns how many packets were written, and how many were left out because they were incomplete or exceeded a limit.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.packets, self.left_out + u64::try_from(self.open.len()).unwrap_or_default())
    }

    /// Ends the file and returns the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Appends an option of a block, padded to a multiple of four bytes.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(u16::try_from(value.len()).unwrap_or_default().to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Returns the packet of an event, located by the offsets of the version 0 layout or, for other layouts, by field names.
fn packet<'a>(event: &EventRef<'a>, decoded: &Decoded, own: &'a mut Vec<u8>) -> Option<Packet<'a>> {
    let descriptor = &event.header.descriptor;
    let payload = event.payload();
    let keyword = descriptor.keyword.bits();
    let has = |bits: u64| keyword & bits != 0;
    let number = |name: &str| number(&decoded.fields, name);
    match event.header.provider? {
        NDISCAP if matches!(descriptor.id, 1001 | 1003) => {
            let index = u32_at(payload, 0)?;
            let bytes = if descriptor.id == 1001 {
                let size = usize::try_from(u32_at(payload, 8)?).ok()?;
                payload.get(12..)?.get(..size)?
            } else {
                *own = binary(&decoded.fields, "Fragment")?;
                own
            };
            let link = match (has(NATIVE_802_11), has(WIRELESS_WAN)) {
                (true, _) => IEEE_802_11,
                (false, true) => RAW_IP,
                (false, false) => ETHERNET,
            };
            let direction = if has(SEND) { 2 } else { u32::from(has(RECEIVE)) };
            let begins = has(PACKET_START);
            let ends = has(PACKET_END);
            let interface = (link, "interface", index);
            Some(Packet { interface, bytes, length: bytes.len(), direction, begins, ends, dropped: None })
        }
        PKTMON if descriptor.id == 160 => {
            let (kind, component, reason, length, bytes): (_, _, _, usize, &[u8]) = if descriptor.version == 0 {
                let half = |at: usize| u16_at(payload, at).map(u32::from);
                let size = usize::from(u16_at(payload, 32)?);
                let bytes = payload.get(34..)?.get(..size)?;
                (half(14)?, half(16)?, u32_at(payload, 22)?, u16_at(payload, 30)?.into(), bytes)
            } else {
                *own = binary(&decoded.fields, "Payload")?;
                let length = usize::try_from(number("OriginalPayloadSize")?).ok()?;
                (number("PacketType")?, number("ComponentId")?, number("DropReason").unwrap_or(0), length, own)
            };
            // Other types belong to higher protocols and have no link-layer header.
            let link = match kind {
                1 => ETHERNET,
                2 => IEEE_802_11,
                3 => RAW_IP,
                _ => return None,
            };
            let dropped = (reason != 0).then(|| format!("dropped, reason {reason}"));
            let interface = (link, "component", component);
            Some(Packet { interface, bytes, length, direction: 0, begins: true, ends: true, dropped })
        }
        _ => None,
    }
}

fn field<'a>(fields: &'a [Field], name: &str) -> Option<&'a Scalar> {
    match &fields.iter().find(|field| field.name == name)?.node {
        Node::Value(value) => Some(value),
        _ => None,
    }
}

fn number(fields: &[Field], name: &str) -> Option<u32> {
    match field(fields, name)? {
        Scalar::Integer(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn binary(fields: &[Field], name: &str) -> Option<Vec<u8>> {
    let Scalar::Word(word) = field(fields, name)? else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    word.as_bytes().as_chunks::<2>().0.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}
