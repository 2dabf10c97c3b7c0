//! Connections, and data with its direction.

use nt_machine::Connection;

use super::{TextError, bytes, hexadecimal};

/// Reads `[udp:][from:]ADDRESS:PORT`.
pub(crate) fn read_connection(text: &str) -> Result<Connection, TextError> {
    let (udp, rest) = match text.strip_prefix("udp:") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("tcp:").unwrap_or(text)),
    };
    let (inbound, address) = rest.strip_prefix("from:").map_or((false, rest), |address| (true, address));
    let expected = "expected for example 10.0.0.1:443, udp:10.0.0.1:53 or from:[fd00::1]:5000";
    let remote = address.parse().map_err(|_| TextError::malformed(text, "is not a connection", expected))?;
    Ok(Connection { inbound, udp, ..Connection::to(remote) })
}

/// Returns a connection as it is read.
pub(crate) fn written_connection(connection: &Connection) -> String {
    let protocol = if connection.udp { "udp:" } else { "" };
    let direction = if connection.inbound { "from:" } else { "" };
    format!("{protocol}{direction}{}", connection.remote)
}

/// Separates the direction of data from the data: returns whether it is received.
///
/// ```
/// assert_eq!(nt_host::text::traffic::directed("received:0aff"), Some((true, "0aff")));
/// assert_eq!(nt_host::text::traffic::directed("capture.pcapng"), None);
/// ```
#[must_use]
pub fn directed(text: &str) -> Option<(bool, &str)> {
    let sent = text.strip_prefix("sent:").map(|data| (false, data));
    sent.or_else(|| text.strip_prefix("received:").map(|data| (true, data)))
}

/// Reads `sent:HEX` or `received:HEX`. Returns whether the data is received, and the data. `problem` says what another text is not.
pub(crate) fn read_data(text: &str, problem: &'static str) -> Result<(bool, Vec<u8>), TextError> {
    let expected = "expected for example sent:0AFF or received:0AFF";
    let (inbound, data) = directed(text).ok_or_else(|| TextError::malformed(text, problem, expected))?;
    Ok((inbound, bytes(data)?))
}

/// Returns data with its direction.
pub(crate) fn written_data(inbound: bool, data: &[u8]) -> String {
    format!("{}:{}", if inbound { "received" } else { "sent" }, hexadecimal(data))
}
