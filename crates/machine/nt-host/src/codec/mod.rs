//! Values as bytes, for the connections between the process that runs a driver and the one that started it.
//!
//! Both processes run the same program, so the encoding has no version. Values are still validated, because a driver can write anywhere
//! in its process.
//!
//! A message is declared once: `messages!` and `records!` make a type and its encoding (`declare.rs`). A type of another crate has a
//! list of its members in `others.rs`, which does not compile without all of them.

mod declare;
mod others;

pub(crate) use declare::{messages, records, structures, variants};

use std::net::SocketAddr;
use std::time::Duration;

use etw_types::{Guid, NtStatus};

/// A value that can be sent.
pub(crate) trait Wire: Sized {
    /// Appends the encoded value.
    fn put(&self, out: &mut Vec<u8>);
    /// Decodes a value from the front of `from`. Returns `None` if the bytes are not a valid encoding.
    fn get(from: &mut &[u8]) -> Option<Self>;

    /// Appends encoded values.
    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        for value in values {
            value.put(out);
        }
    }
    /// Decodes this many values.
    fn get_all(count: usize, from: &mut &[u8]) -> Option<Vec<Self>> {
        (0..count).map(|_| Self::get(from)).collect()
    }
}

macro_rules! integers {
    ($($int:ty)*) => { $(impl Wire for $int {
        fn put(&self, out: &mut Vec<u8>) {
            out.extend(self.to_le_bytes());
        }
        fn get(from: &mut &[u8]) -> Option<Self> {
            let (bytes, rest) = from.split_first_chunk()?;
            *from = rest;
            Some(Self::from_le_bytes(*bytes))
        }
    })* };
}
integers!(u16 u32 u64);

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        Some(*byte)
    }
    // The data of requests is most of what is sent.
    fn put_all(values: &[Self], out: &mut Vec<u8>) {
        out.extend(values);
    }
    fn get_all(count: usize, from: &mut &[u8]) -> Option<Vec<Self>> {
        let (bytes, rest) = from.split_at_checked(count)?;
        *from = rest;
        Some(bytes.to_vec())
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u8::get(from).map(|byte| byte != 0)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        T::put_all(self, out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let count = u32::get(from)?;
        T::get_all(count as usize, from)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(item) = self {
            item.put(out);
        }
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        if bool::get(from)? { T::get(from).map(Some) } else { Some(None) }
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some((A::get(from)?, B::get(from)?))
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u32).put(out);
        out.extend(self.as_bytes());
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let length = u32::get(from)? as usize;
        let (bytes, rest) = from.split_at_checked(length)?;
        *from = rest;
        Some(Self::from_utf8_lossy(bytes).into_owned())
    }
}

impl Wire for Guid {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.to_bytes_le());
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Self::from_bytes_le(*bytes))
    }
}

impl Wire for NtStatus {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_int().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u32::get(from).map(Self::from_int)
    }
}

impl Wire for Duration {
    fn put(&self, out: &mut Vec<u8>) {
        u64::try_from(self.as_nanos()).unwrap_or(u64::MAX).put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u64::get(from).map(Self::from_nanos)
    }
}

/// As text, which has one form for each address.
impl Wire for SocketAddr {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        String::get(from)?.parse().ok()
    }
}
