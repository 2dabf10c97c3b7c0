//! Memory of the client's process, for requests whose data contains addresses.

use super::NtHost;
use crate::Error;
use crate::wire::{Reply, Request};

/// Memory of the client's process at an address that the test chose. The driver reads and writes it directly.
///
/// It stays when this value is dropped; [`free`](Self::free) frees it.
#[derive(Clone, Debug)]
pub struct ClientMemory {
    host: NtHost,
    address: u64,
    length: u32,
}

impl NtHost {
    /// Writes to memory of the client's process, for requests whose data contains addresses. Memory that the client does not have yet is
    /// allocated, in whole pages, as `VirtualAlloc` does; its other bytes are zero.
    ///
    /// The test chooses the address. Those from `0x1000_0000` to `0x4000_0000` are free.
    ///
    /// ```no_run
    /// use nt_host::{ClientMemory, NtHost};
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let memory: ClientMemory = host.client_memory(0x1000_0000, &[0; 64])?;
    /// // The driver writes its result to the address that is its input.
    /// device.ioctl(0x0022_2000, &memory.address().to_le_bytes(), 0)?;
    /// assert_eq!(memory.read()?[..4], [1, 2, 3, 4]);
    /// // A program can free its memory at any time.
    /// memory.free()?;
    /// device.ioctl(0x0022_2000, &0x1000_0000_u64.to_le_bytes(), 0)?;
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_CONFLICTING_ADDRESSES` if other memory is there, with `STATUS_INVALID_PARAMETER` if a program cannot have
    /// memory there, and with `STATUS_NO_MEMORY` beyond 16 MiB. Also fails if the process that runs the driver is gone.
    pub fn client_memory(&self, address: u64, data: &[u8]) -> Result<ClientMemory, Error> {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        self.call_for_status(&Request::MemoryWrite { address, data: data.to_vec() })?;
        Ok(ClientMemory { host: self.clone(), address, length })
    }
}

impl ClientMemory {
    /// Returns the address.
    #[must_use]
    pub const fn address(&self) -> u64 {
        self.address
    }

    /// Returns what the memory holds now.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_MEMORY_NOT_ALLOCATED` if it was freed, or if the process that runs the driver is gone.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        match self.host.call(&Request::MemoryRead { address: self.address, length: self.length })? {
            Reply::Memory { data } => Ok(data),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Frees the pages of the memory. What the driver does with its address from now on fails.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn free(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::MemoryFree { address: self.address, length: self.length })
    }
}
