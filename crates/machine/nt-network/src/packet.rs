//! IP datagrams: reads their headers, and builds the packets of connections that a test describes.

use std::net::{IpAddr, SocketAddr};

use windows_constants::filtering_platform::{IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_TCP, IPPROTO_UDP};

use super::value::{address, octets};

/// The flags of a TCP header.
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;

/// The headers of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) protocol: u8,
    /// The sizes of the IP header, with its options or extension headers, and of the transport header, in bytes. The
    /// latter is 0 for protocols other than TCP and UDP, as it is for the ICMP sockets of Windows.
    pub(super) ip: u32,
    pub(super) transport: u32,
    /// The flags of TCP; 0 for other protocols.
    pub(super) flags: u8,
}

/// Reads the headers of a datagram. Returns `None` if it is not a complete IPv4 or IPv6 datagram.
pub(super) fn headers(datagram: &[u8]) -> Option<Headers> {
    let (source, destination, protocol, ip) = match datagram.first()? >> 4 {
        4 => {
            let length = usize::from(datagram.first()? & 0xF) * 4;
            let total = usize::from(word(datagram, 2)?);
            if length < 20 || total < length || total > datagram.len() {
                return None;
            }
            (address(datagram.get(12..16)?)?, address(datagram.get(16..20)?)?, *datagram.get(9)?, length)
        }
        6 => {
            if datagram.len() < 40 + usize::from(word(datagram, 4)?) {
                return None;
            }
            let (protocol, length) = after_extensions(datagram)?;
            (address(datagram.get(8..24)?)?, address(datagram.get(24..40)?)?, protocol, length)
        }
        _ => return None,
    };
    let header = datagram.get(ip..)?;
    // ICMP's type and code take the places of the ports, as in the data fields of Windows.
    let (from, to, transport, flags) = match protocol {
        IPPROTO_TCP => {
            let length = usize::from(header.get(12)? >> 4) * 4;
            (word(header, 0)?, word(header, 2)?, length.max(20), *header.get(13)?)
        }
        IPPROTO_UDP => (word(header, 0)?, word(header, 2)?, 8, 0),
        IPPROTO_ICMP | IPPROTO_ICMPV6 => (u16::from(*header.first()?), u16::from(*header.get(1)?), 0, 0),
        _ => (0, 0, 0, 0),
    };
    if transport > header.len() {
        return None;
    }
    Some(Headers {
        source: SocketAddr::new(source, from),
        destination: SocketAddr::new(destination, to),
        protocol,
        ip: u32::try_from(ip).ok()?,
        transport: u32::try_from(transport).ok()?,
        flags,
    })
}

/// Skips hop-by-hop options, routing headers and destination options. Returns the protocol and where it begins.
fn after_extensions(datagram: &[u8]) -> Option<(u8, usize)> {
    let mut protocol = *datagram.get(6)?;
    let mut at = 40;
    while matches!(protocol, 0 | 43 | 60) {
        let length = (usize::from(*datagram.get(at + 1)?) + 1) * 8;
        (protocol, at) = (*datagram.get(at)?, at + length);
    }
    Some((protocol, at))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

/// Builds a TCP segment or, for other protocols, a UDP datagram, with its IP header.
pub(super) fn build(protocol: u8, source: SocketAddr, destination: SocketAddr, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut transport = [source.port().to_be_bytes(), destination.port().to_be_bytes()].concat();
    let at = if protocol == IPPROTO_TCP {
        // Sequence and acknowledgement numbers, the length of the header, the flags, a window.
        transport.extend([0, 0, 0, 1, 0, 0, 0, u8::from(flags & ACK != 0), 5 << 4, flags, 0xFF, 0xFF, 0, 0, 0, 0]);
        16
    } else {
        let length = u16::try_from(8 + payload.len()).unwrap_or(u16::MAX);
        transport.extend(length.to_be_bytes());
        transport.extend([0, 0]);
        6
    };
    transport.extend(payload);
    set_checksum(&mut transport, at, pseudo_header(protocol, source.ip(), destination.ip()));
    wrap(protocol, source.ip(), destination.ip(), &transport)
}

/// Puts an IP header before a transport header and its data.
pub(super) fn wrap(protocol: u8, source: IpAddr, destination: IpAddr, transport: &[u8]) -> Vec<u8> {
    let addresses = [octets(source), octets(destination)].concat();
    let header = if source.is_ipv4() {
        let length = u16::try_from(20 + transport.len()).unwrap_or(u16::MAX).to_be_bytes();
        let mut header = vec![0x45, 0];
        header.extend(length);
        header.extend([0, 0, 0x40, 0, 128, protocol, 0, 0]);
        header.extend(addresses);
        set_checksum(&mut header, 10, 0);
        header
    } else {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(u16::try_from(transport.len()).unwrap_or(u16::MAX).to_be_bytes());
        header.extend([protocol, 128]);
        header.extend(addresses);
        header
    };
    [&header, transport].concat()
}

/// Returns the sum of the pseudo header of a checksum, without the length.
fn pseudo_header(protocol: u8, source: IpAddr, destination: IpAddr) -> u32 {
    sum(&octets(source)) + sum(&octets(destination)) + u32::from(protocol)
}

fn sum(bytes: &[u8]) -> u32 {
    let byte = |pair: &[u8], index| u32::from(pair.get(index).copied().unwrap_or_default());
    bytes.chunks(2).map(|pair| byte(pair, 0) << 8 | byte(pair, 1)).sum()
}

/// Stores the Internet checksum of a header at an offset. `start` is the sum of a pseudo header, or 0.
fn set_checksum(bytes: &mut [u8], at: usize, start: u32) {
    let length = if start == 0 { 0 } else { u32::try_from(bytes.len()).unwrap_or_default() };
    let mut total = start + length + sum(bytes);
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&(!(total as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::{ACK, IPPROTO_TCP, IPPROTO_UDP, SYN, build, headers, sum};

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn built_packets_are_read_back_and_their_checksums_add_up() {
        for (source, destination) in [("10.0.0.2:5000", "10.0.0.1:443"), ("[fe80::1]:5000", "[fe80::2]:443")] {
            for (protocol, transport) in [(IPPROTO_TCP, 20), (IPPROTO_UDP, 8)] {
                let packet = build(protocol, at(source), at(destination), SYN | ACK, b"odd");
                let found = headers(&packet).expect("a datagram");
                assert_eq!(found.source, at(source));
                assert_eq!(found.destination, at(destination));
                assert_eq!(found.protocol, protocol);
                assert_eq!(found.transport, transport);
                assert_eq!(found.flags, if protocol == IPPROTO_TCP { SYN | ACK } else { 0 });
                let ip = found.ip as usize;
                let addresses = if ip == 20 { &packet[12..20] } else { &packet[8..40] };
                let segment = &packet[ip..];
                let mut total = sum(addresses) + u32::from(protocol) + segment.len() as u32 + sum(segment);
                while total > 0xFFFF {
                    total = (total & 0xFFFF) + (total >> 16);
                }
                assert_eq!(total, 0xFFFF, "the checksum of protocol {protocol}");
            }
        }
    }

    /// The header of RFC 1071's examples on Wikipedia, whose checksum is B861.
    #[test]
    fn the_checksum_of_a_known_header_is_right() {
        let mut header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xC0, 0xA8, 0, 1, 0xC0, 0xA8, 0, 0xC7];
        super::set_checksum(&mut header, 10, 0);
        assert_eq!(header[10..12], [0xB8, 0x61]);
    }

    #[test]
    fn damaged_packets_are_refused() {
        let packet = build(IPPROTO_TCP, at("10.0.0.2:1"), at("10.0.0.1:2"), SYN, b"data");
        for length in 0..packet.len() {
            assert_eq!(headers(&packet[..length]), None, "cut to {length} bytes");
        }
        let packet = build(IPPROTO_UDP, at("[::1]:1"), at("[::2]:2"), 0, b"data");
        assert!((0..packet.len()).all(|length| headers(&packet[..length]).is_none()));
    }
}
