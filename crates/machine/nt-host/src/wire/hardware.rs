//! Encodes accesses to hardware as bytes.

use nt_machine::{HardwareAccess, Register};

use super::Wire;

impl Wire for Register {
    fn put(&self, out: &mut Vec<u8>) {
        let (is_port, address) = match self {
            Self::Port(port) => (true, u64::from(*port)),
            Self::Memory(address) => (false, *address),
        };
        is_port.put(out);
        address.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        let (is_port, address) = (bool::get(from)?, u64::get(from)?);
        if is_port { u16::try_from(address).ok().map(Self::Port) } else { Some(Self::Memory(address)) }
    }
}

impl Wire for HardwareAccess {
    fn put(&self, out: &mut Vec<u8>) {
        self.register.put(out);
        self.width.put(out);
        self.is_write.put(out);
        self.value.put(out);
    }

    fn get(from: &mut &[u8]) -> Option<Self> {
        let (register, width, is_write) = (Wire::get(from)?, Wire::get(from)?, Wire::get(from)?);
        Some(Self { register, width, is_write, value: Wire::get(from)? })
    }
}
