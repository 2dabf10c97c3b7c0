//! Encodes values as bytes.

use std::time::Duration;

use etw_types::{Guid, NtStatus};
use nt_machine::{
    Answer, Below, FileOpen, FileRequest, Gap, GapKind, IoRequest, RequestKind, WmiOperation, WmiRequest,
};

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

impl Wire for IoRequest {
    fn put(&self, out: &mut Vec<u8>) {
        self.kind.put(out);
        self.code.put(out);
        self.input.put(out);
        self.output.put(out);
        self.output_data.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            kind: Wire::get(from)?,
            code: Wire::get(from)?,
            input: Wire::get(from)?,
            output: Wire::get(from)?,
            output_data: Wire::get(from)?,
        })
    }
}

impl Wire for RequestKind {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_int().put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        u8::get(from).map(Self::from_int)
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

impl Wire for Below {
    fn put(&self, out: &mut Vec<u8>) {
        self.device.put(out);
        self.kind.put(out);
        self.code.put(out);
        self.status.put(out);
        self.output.put(out);
        self.delay.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            device: Wire::get(from)?,
            kind: Wire::get(from)?,
            code: Wire::get(from)?,
            status: Wire::get(from)?,
            output: Wire::get(from)?,
            delay: Wire::get(from)?,
        })
    }
}

impl Wire for FileOpen {
    fn put(&self, out: &mut Vec<u8>) {
        self.path.put(out);
        self.disposition.put(out);
        self.options.put(out);
        self.access.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            path: Wire::get(from)?,
            disposition: Wire::get(from)?,
            options: Wire::get(from)?,
            access: Wire::get(from)?,
        })
    }
}

impl Wire for FileRequest {
    fn put(&self, out: &mut Vec<u8>) {
        self.kind.put(out);
        self.class.put(out);
        self.offset.put(out);
        self.input.put(out);
        self.output.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            kind: Wire::get(from)?,
            class: Wire::get(from)?,
            offset: Wire::get(from)?,
            input: Wire::get(from)?,
            output: Wire::get(from)?,
        })
    }
}

impl Wire for WmiRequest {
    fn put(&self, out: &mut Vec<u8>) {
        let (kind, number) = match self.operation {
            WmiOperation::Query => (0, 0),
            WmiOperation::Set => (1, 0),
            WmiOperation::SetItem(item) => (2, item),
            WmiOperation::Method(method) => (3, method),
            WmiOperation::Events(on) => (4, on.into()),
            WmiOperation::Collection(on) => (5, on.into()),
        };
        out.push(kind);
        number.put(out);
        self.guid.put(out);
        self.instance.put(out);
        self.input.put(out);
        self.output.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let operation = match (u8::get(from)?, u32::get(from)?) {
            (0, _) => WmiOperation::Query,
            (1, _) => WmiOperation::Set,
            (2, item) => WmiOperation::SetItem(item),
            (3, method) => WmiOperation::Method(method),
            (4, on) => WmiOperation::Events(on != 0),
            (5, on) => WmiOperation::Collection(on != 0),
            _ => return None,
        };
        Some(Self {
            guid: Wire::get(from)?,
            instance: Wire::get(from)?,
            operation,
            input: Wire::get(from)?,
            output: Wire::get(from)?,
        })
    }
}

impl Wire for Answer {
    fn put(&self, out: &mut Vec<u8>) {
        self.status.put(out);
        self.information.put(out);
        self.output.put(out);
        self.reached.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        Some(Self {
            status: Wire::get(from)?,
            information: Wire::get(from)?,
            output: Wire::get(from)?,
            reached: Wire::get(from)?,
        })
    }
}

impl Wire for Gap {
    fn put(&self, out: &mut Vec<u8>) {
        (self.kind as u8).put(out);
        self.detail.put(out);
        self.advice.put(out);
    }
    fn get(from: &mut &[u8]) -> Option<Self> {
        let kind = *GapKind::ALL.get(usize::from(u8::get(from)?))?;
        Some(Self { kind, detail: Wire::get(from)?, advice: Wire::get(from)? })
    }
}
