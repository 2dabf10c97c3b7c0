//! Binary values: addresses, security identifiers, and hexadecimal for everything else.

use std::net::{Ipv4Addr, Ipv6Addr};

use etw_types::OutType;
use windows_constants::filtering_platform::{AF_INET, AF_INET6};

use super::scalar::Scalar;
use super::text;
use crate::digits::hex;
use crate::format::bytes::{array_at, u16_at, u32_at};

/// Size of `SOCKADDR_IN` in bytes.
const SOCKADDR_IN: usize = 16;
/// Size of `SOCKADDR_IN6` in bytes.
const SOCKADDR_IN6: usize = 28;

/// Formats bytes. If they do not fit the out type, the result is hexadecimal.
pub(super) fn binary(out_type: OutType, bytes: &[u8]) -> Scalar {
    let word = match out_type {
        OutType::IPv4 => <[u8; 4]>::try_from(bytes).ok().map(|address| Ipv4Addr::from(address).to_string()),
        OutType::IPv6 => <[u8; 16]>::try_from(bytes).ok().map(|address| Ipv6Addr::from(address).to_string()),
        OutType::SocketAddress => socket_address(bytes),
        OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json => return text::utf8(bytes),
        _ => None,
    };
    Scalar::Word(word.unwrap_or_else(|| hex(bytes)))
}

/// Formats a `SOCKADDR`, or returns `None` if the text would not show all of its bytes.
fn socket_address(bytes: &[u8]) -> Option<String> {
    let port = array_at(bytes, 2).map(u16::from_be_bytes)?;
    match (u16_at(bytes, 0)?, bytes.len()) {
        (AF_INET, SOCKADDR_IN) => {
            let padding = bytes.get(8..)?;
            let address = Ipv4Addr::from(array_at::<4>(bytes, 4)?);
            padding.iter().all(|byte| *byte == 0).then(|| format!("{address}:{port}"))
        }
        (AF_INET6, SOCKADDR_IN6) => {
            let flow = u32_at(bytes, 4)?;
            let address = Ipv6Addr::from(array_at::<16>(bytes, 8)?);
            (flow == 0).then_some(())?;
            Some(match u32_at(bytes, 24)? {
                0 => format!("[{address}]:{port}"),
                scope => format!("[{address}%{scope}]:{port}"),
            })
        }
        _ => None,
    }
}

/// Formats a security identifier as usual: revision, authority, sub-authorities.
pub(super) fn sid(bytes: &[u8]) -> Scalar {
    let word = || {
        let [revision, _count, authority @ ..] = array_at::<8>(bytes, 0)?;
        let [a, b, c, d, e, f] = authority;
        let authority = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        // By convention an authority of 2^32 or more is hexadecimal.
        let authority = if authority >> 32 == 0 { authority.to_string() } else { format!("{authority:#014x}") };
        let parts = bytes.get(8..)?.as_chunks::<4>().0.iter().map(|part| u32::from_le_bytes(*part).to_string());
        let start = [format!("S-{revision}"), authority];
        Some(start.into_iter().chain(parts).collect::<Vec<_>>().join("-"))
    };
    Scalar::Word(word().unwrap_or_else(|| hex(bytes)))
}
