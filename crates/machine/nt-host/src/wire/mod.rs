//! The protocol between the process that runs a driver and the one that started it.
//!
//! There are two connections, each with one request at a time. Requests that run driver code use the first one and take
//! as long as the driver takes. Session control that runs no driver code uses the second one, so that a session can be
//! queried and read while the driver is running.

mod control;
mod messages;
mod record;
pub(crate) mod spill;

pub(crate) use control::{Answer, Control, Enablement};
pub(crate) use messages::{Batch, Novel, Reply, Request, StormPlan};
pub(crate) use record::record;

use std::io::{self, Read, Write};

use crate::codec::Wire;

/// The maximum length of a message in bytes.
const LONGEST: u32 = 1 << 30;

/// Sends a message.
pub(crate) fn send(stream: &mut impl Write, message: &impl Wire) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    message.put(&mut bytes);
    let length = u32::try_from(bytes.len() - 4).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    if let Some(head) = bytes.first_chunk_mut::<4>() {
        *head = length.to_le_bytes();
    }
    stream.write_all(&bytes)
}

/// Receives a message. Returns `None` at the end of the stream.
pub(crate) fn receive<T: Wire>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    match stream.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(head);
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    let mut rest = bytes.as_slice();
    match T::get(&mut rest) {
        Some(message) if rest.is_empty() => Ok(Some(message)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use nt_machine::{IoRequest, RequestKind};

    use super::{Request, receive, send};

    #[test]
    fn a_message_comes_back_and_a_damaged_one_is_refused() {
        let kind = RequestKind::DEVICE_CONTROL;
        let io = IoRequest { kind, code: 0x222_000, input: vec![1, 2, 3], output: 64, output_data: vec![4] };
        let request = Request::Io { device: 7, request: io };
        let mut bytes = Vec::new();
        send(&mut bytes, &request).expect("memory takes everything");
        let back: Option<Request> = receive(&mut bytes.as_slice()).expect("whole");
        assert_eq!(back, Some(request));
        for cut in 4..bytes.len() {
            assert!(receive::<Request>(&mut &bytes[..cut]).is_err(), "cut to {cut}");
        }
        assert!(receive::<Request>(&mut [].as_slice()).expect("the end").is_none());
        bytes[4] = 0xFF;
        assert!(receive::<Request>(&mut bytes.as_slice()).is_err());
    }
}
