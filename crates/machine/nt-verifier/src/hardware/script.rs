//! What the hardware does.

use std::fmt;
use std::sync::Arc;

use nt_processor::sorted::SortedMap;

/// A port, or a register at a physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register {
    /// An I/O port.
    Port(u16),
    /// Memory of a device, at a physical address.
    Memory(u64),
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(port) => write!(f, "port {port:#x}"),
            Self::Memory(address) => write!(f, "register {address:#x}"),
        }
    }
}

/// An access of the driver to the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardwareAccess {
    /// Where.
    pub register: Register,
    /// The number of bytes: 1, 2, 4 or 8.
    pub width: u8,
    /// Whether the driver writes.
    pub is_write: bool,
    /// What the driver writes or reads. For a handler of reads: what the driver reads if the handler does not decide.
    pub value: u64,
}

impl fmt::Display for HardwareAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_write { "write" } else { "read" };
        let digits = usize::from(self.width) * 2 + 2;
        write!(f, "{}: {verb} {:#0digits$x}", self.register, self.value)
    }
}

type Handler = dyn Fn(&HardwareAccess) -> Option<u64> + Send + Sync;

/// What the hardware does: values that registers have when they are read, and a handler of the test.
#[derive(Clone, Default)]
pub struct HardwareScript {
    values: SortedMap<Register, Vec<u64>>,
    handler: Option<Arc<Handler>>,
}

impl HardwareScript {
    /// Sets the values that a register has when it is read, one after the other. The last one stays.
    pub fn set_values(&mut self, register: Register, values: &[u64]) {
        self.values.insert(register, values.to_vec());
    }

    /// Sets the handler of all accesses. It returns the value of a read, or `None` if the values of the script decide.
    pub fn set_handler(&mut self, handler: impl Fn(&HardwareAccess) -> Option<u64> + Send + Sync + 'static) {
        self.handler = Some(Arc::new(handler));
    }

    pub(super) fn handler(&self) -> Option<&Handler> {
        self.handler.as_deref()
    }

    /// Returns the value of a register at its `count`-th read, from 0.
    pub(super) fn value(&self, register: Register, count: usize) -> Option<u64> {
        let values = self.values.get(&register)?;
        values.get(count).or(values.last()).copied()
    }

    /// Returns whether the script is about memory of a device.
    pub(super) fn covers(&self, start: u64, length: u64) -> bool {
        let end = start.saturating_add(length);
        let inside = |register: &Register| matches!(register, Register::Memory(at) if (start..end).contains(at));
        self.handler.is_some() || self.values.keys().any(inside)
    }
}

impl fmt::Debug for HardwareScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HardwareScript")
            .field("values", &self.values)
            .field("has_handler", &self.handler.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{HardwareAccess, HardwareScript, Register};

    #[test]
    fn values_follow_each_other_and_the_last_one_stays() {
        let mut script = HardwareScript::default();
        script.set_values(Register::Port(0x379), &[0x80, 0]);
        script.set_values(Register::Memory(0xFE00_0010), &[1]);
        let value = |count| script.value(Register::Port(0x379), count);
        assert_eq!([0, 1, 2, 9].map(value), [Some(0x80), Some(0), Some(0), Some(0)]);
        assert_eq!(script.value(Register::Port(0x378), 0), None);
        assert!(script.covers(0xFE00_0000, 0x1000));
        assert!(!script.covers(0xFE00_0011, 0x1000));
        script.set_handler(|_| None);
        assert!(script.covers(0, 1));
    }

    #[test]
    fn accesses_are_described_with_their_width() {
        let read = HardwareAccess { register: Register::Port(0x378), width: 2, is_write: false, value: 0x5A };
        assert_eq!(read.to_string(), "port 0x378: read 0x005a");
        let write = HardwareAccess { register: Register::Memory(0xFE00_0010), width: 4, is_write: true, value: 1 };
        assert_eq!(write.to_string(), "register 0xfe000010: write 0x00000001");
    }
}
