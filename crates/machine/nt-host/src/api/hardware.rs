//! Ports and registers that a test scripts.

use std::fmt;

use nt_machine::{HardwareAccess, Register};

use super::{Builder, NtHost};
use crate::Error;
use crate::wire::{Reply, Request};

impl Builder {
    /// Sets the values that a port or a register has when the driver reads it, one after the other; the last one stays. Without
    /// values, a port reads as ones, and memory of a device is plain memory.
    ///
    /// A register is found by its physical address: the driver maps the memory with `MmMapIoSpace`, and accesses it at
    /// exactly this address. [`Builder::resource`] tells the driver where the memory or the ports are.
    ///
    /// ```no_run
    /// use nt_host::{HardwareLog, NtHost, Register, Resource};
    ///
    /// let host = NtHost::builder()
    ///     .driver("printer.sys")
    ///     .resource(Resource::Port { start: 0x378, length: 3 })
    ///     // The status port: busy at first, then ready.
    ///     .register(Register::Port(0x379), &[0x00, 0x80])
    ///     .start()?;
    /// host.add_device()?.write(b"A")?;
    /// let log: HardwareLog = host.hardware_log()?;
    /// println!("{log}"); // with a line such as "port 0x378: write 0x41"
    /// assert_eq!(log.dropped, 0);
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn register(mut self, register: Register, values: &[u64]) -> Self {
        self.config.hardware.set_values(register, values);
        self
    }

    /// Sets a handler of all accesses to ports and to memory that the driver maps: the device, as a function. It returns
    /// the value of a read, or `None` if the values of [`Builder::register`] decide; what it returns for a write is ignored.
    ///
    /// The handler runs in the process of the driver, on the driver's threads. Its state is there, too: the test does not see
    /// how a variable changes, but what the driver has read and written ([`NtHost::hardware_log`]).
    ///
    /// ```no_run
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use nt_host::{NtHost, Register, Resource};
    ///
    /// // A device with two registers: what is written to the first can be read, doubled, from the second.
    /// let written = AtomicU64::new(0);
    /// let host = NtHost::builder()
    ///     .driver("doubler.sys")
    ///     .resource(Resource::Memory { start: 0xFE00_0000, length: 0x1000 })
    ///     .hardware(move |access| match (access.register, access.is_write) {
    ///         (Register::Memory(0xFE00_0000), true) => {
    ///             written.store(access.value, Ordering::SeqCst);
    ///             None
    ///         }
    ///         (Register::Memory(0xFE00_0004), false) => Some(written.load(Ordering::SeqCst) * 2),
    ///         _ => None,
    ///     })
    ///     .start()?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn hardware(mut self, handler: impl Fn(&HardwareAccess) -> Option<u64> + Send + Sync + 'static) -> Self {
        self.config.hardware.set_handler(handler);
        self
    }

    /// Makes the driver's devices PCI devices with this configuration space: 256 bytes, or 4096 for PCI Express. The driver
    /// reads it with `BUS_INTERFACE_STANDARD`, `IRP_MN_READ_CONFIG` or, on bus 0, slot 0, `HalGetBusDataByOffset`, and can
    /// write all of it except the identifiers, the revision and the class.
    ///
    /// ```no_run
    /// use nt_host::{NtHost, pci_header};
    ///
    /// let mut space = pci_header(0x8086, 0x10D3);
    /// space[0x3D] = 1; // uses the first interrupt line
    /// let host = NtHost::builder().driver("card.sys").pci(&space).start()?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn pci(mut self, space: &[u8]) -> Self {
        self.config.pci = Some(space.to_vec());
        self
    }
}

/// Returns a configuration space with these identifiers, and zeros otherwise.
#[must_use]
pub fn pci_header(vendor: u16, device: u16) -> [u8; 256] {
    let mut space = [0; 256];
    let identifiers = [vendor.to_le_bytes(), device.to_le_bytes()].concat();
    for (place, byte) in space.iter_mut().zip(identifiers) {
        *place = byte;
    }
    space
}

impl NtHost {
    /// Returns the driver's accesses to ports and scripted memory since the last call. Also works after the driver has
    /// stopped the machine.
    ///
    /// # Errors
    ///
    /// Fails if the process that runs the driver is gone.
    pub fn hardware_log(&self) -> Result<HardwareLog, Error> {
        match self.call(&Request::Hardware {})? {
            Reply::Hardware { accesses, dropped } => Ok(HardwareLog { accesses, dropped }),
            reply => Err(self.unexpected(reply)),
        }
    }
}

/// What a driver did with the hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HardwareLog {
    /// The accesses in order.
    pub accesses: Vec<HardwareAccess>,
    /// The number of later accesses for which there was no room.
    pub dropped: u64,
}

/// One line for each access; equal ones in a row are one.
impl fmt::Display for HardwareLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for equal in self.accesses.chunk_by(PartialEq::eq) {
            match equal {
                [access] => writeln!(f, "{access}")?,
                [access, ..] => writeln!(f, "{access} ({} times)", equal.len())?,
                [] => {}
            }
        }
        if self.dropped != 0 {
            writeln!(f, "{} more were not recorded", self.dropped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nt_machine::{HardwareAccess, Register};

    use super::HardwareLog;

    #[test]
    fn equal_accesses_are_one_line() {
        let read = HardwareAccess { register: Register::Port(0x379), width: 1, is_write: false, value: 0x80 };
        let write = HardwareAccess { is_write: true, ..read };
        let log = HardwareLog { accesses: vec![read, read, write, read], dropped: 2 };
        let lines = "port 0x379: read 0x80 (2 times)\nport 0x379: write 0x80\nport 0x379: read 0x80\n2 more were not recorded\n";
        assert_eq!(log.to_string(), lines);
    }
}
