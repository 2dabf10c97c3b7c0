//! IP datagrams for the fuzzer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use windows_constants::filtering_platform::{IPPROTO_TCP, IPPROTO_UDP};

/// Where the data of a UDP datagram begins, with IPv4.
pub(super) const PAYLOAD: usize = 28;

/// The local port.
const PORT: u16 = 49153;

/// Returns a datagram to a remote address, or from there: UDP or a TCP segment without flags. Checksums are zero, as they are
/// before a network adapter computes them.
pub(super) fn datagram(remote: SocketAddr, inbound: bool, udp: bool, payload: &[u8]) -> Vec<u8> {
    let local = match remote.ip() {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::new(10, 0, 0, 2)),
        IpAddr::V6(_) => Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 2).into(),
    };
    let local = SocketAddr::new(local, PORT);
    let (from, to) = if inbound { (remote, local) } else { (local, remote) };
    let octets = |address: SocketAddr| match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let protocol = if udp { IPPROTO_UDP } else { IPPROTO_TCP };
    let mut data = match remote.ip() {
        IpAddr::V4(_) => vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 128, protocol, 0, 0],
        IpAddr::V6(_) => vec![0x60, 0, 0, 0, 0, 0, protocol, 64],
    };
    data.extend(octets(from));
    data.extend(octets(to));
    data.extend([from.port().to_be_bytes(), to.port().to_be_bytes()].concat());
    if udp {
        data.extend([0; 4]);
    } else {
        // Sequence and acknowledgement numbers, the length of the header, a window.
        data.extend([0, 0, 0, 1, 0, 0, 0, 1, 5 << 4, 0, 0xFF, 0xFF, 0, 0, 0, 0]);
    }
    data.extend(payload);
    fit(&mut data);
    data
}

/// Writes the lengths of a datagram into its headers, which its receiver compares.
pub(super) fn fit(data: &mut [u8]) {
    let (at, header, protocol) = match data.first().map(|first| first >> 4) {
        Some(4) => (2, 20, data.get(9)),
        Some(6) => (4, 40, data.get(6)),
        _ => return,
    };
    let is_udp = protocol == Some(&IPPROTO_UDP);
    let rest = data.len().saturating_sub(header);
    write(data, at, if at == 2 { data.len() } else { rest });
    if is_udp {
        write(data, header + 4, rest);
    }
}

fn write(data: &mut [u8], at: usize, value: usize) {
    let value = u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
    if let Some(place) = data.get_mut(at..at + 2) {
        place.copy_from_slice(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::{datagram, fit};

    #[test]
    fn the_headers_have_the_length_of_the_datagram() {
        let mut data = datagram("10.0.0.1:53".parse().expect("an address"), false, true, b"dns?");
        let expected = [
            &[0x45, 0, 0, 32, 0, 0, 0x40, 0, 128, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1][..],
            &[0xC0, 1, 0, 53, 0, 12, 0, 0],
            b"dns?",
        ];
        assert_eq!(data, expected.concat());
        data.truncate(29);
        fit(&mut data);
        assert_eq!(data[3], 29);
        assert_eq!(data[25], 9);
        let data = datagram("[fd00::1]:443".parse().expect("an address"), true, false, &[]);
        assert_eq!(data.len(), 60);
        assert_eq!(&data[4..7], &[0, 20, 6][..]);
        assert_eq!(&data[40..42], &443_u16.to_be_bytes()[..]);
    }
}
