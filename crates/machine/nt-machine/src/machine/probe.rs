//! What a program that sends many requests, such as a fuzzer, asks of the machine between them.

use std::ops::Range;

use etw_types::NtStatus;
use nt_kernel::config::Below;
use nt_kernel::{client_memory, lock};
use nt_processor::image;
use nt_verifier::exception::changing;

use super::{Machine, gaps};

impl Machine {
    /// Waits until no DPC and no work item is left. Only the thread that serves requests may call this.
    pub fn settle(self) {
        self.layers.kernel.scheduler.settle();
    }

    /// Makes a call of the driver fail: the `call`-th from now, counted from 1 over all routines that can fail. 0 takes
    /// it back.
    pub fn fail_next(self, call: u64) {
        self.layers.kernel.table.fail_next(call);
    }

    /// Makes four bytes of the next input with the method `METHOD_NEITHER` change after the driver's first read of them, as
    /// a program can change its memory at any time. Only the thread that sends the request may call this.
    pub fn change_next(self, offset: u32, value: u32) {
        changing::request(offset, value);
    }

    /// Writes to memory of the client's process at an address that the client chose. Pages that it does not have are allocated.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_CONFLICTING_ADDRESSES` if other memory is there, with `STATUS_INVALID_PARAMETER` if a program cannot have
    /// memory there, and with `STATUS_NO_MEMORY` beyond 16 MiB.
    pub fn write_client_memory(self, address: u64, data: &[u8]) -> Result<(), NtStatus> {
        client_memory::write(address, data)
    }

    /// Reads memory of the client's process that the client has allocated.
    ///
    /// # Errors
    ///
    /// Fails with `STATUS_MEMORY_NOT_ALLOCATED` if the client does not have the whole range.
    pub fn read_client_memory(self, address: u64, length: u32) -> Result<Vec<u8>, NtStatus> {
        client_memory::read(address, length.into())
    }

    /// Frees memory of the client's process, as a program does while a driver still uses it.
    ///
    /// # Errors
    ///
    /// As [`read_client_memory`](Self::read_client_memory).
    pub fn free_client_memory(self, address: u64, length: u32) -> Result<(), NtStatus> {
        client_memory::free(address, length.into())
    }

    /// Sets how the next request completes that the driver sends to a device of another driver: `answer` also says to which
    /// requests it applies, and without a device it applies to every one. Several answers are used one after the other, before
    /// those of the configuration. `None` forgets those that are left.
    pub fn answer_next(self, answer: Option<Below>) {
        self.layers.kernel.answers.add(answer);
    }

    /// Returns how many reads, writes and control requests the driver has sent to devices of other drivers.
    #[must_use]
    pub fn requests_below(self) -> u64 {
        self.layers.kernel.answers.asked()
    }

    /// Returns how much the driver holds now: the numbers of its allocations, of handles and references, and of timers that are
    /// set.
    #[must_use]
    pub fn held(self) -> [usize; 3] {
        let kernel = &self.layers.kernel;
        [lock(&kernel.pool).held(), lock(&kernel.objects).held(), kernel.scheduler.look(|state| state.timers.len())]
    }

    /// Returns the addresses of the driver's image while it is loaded, for a program that counts its instructions.
    #[must_use]
    pub fn driver_addresses(self) -> Option<Range<u64>> {
        image::driver()
    }

    /// Returns the number of findings so far.
    #[must_use]
    pub fn finding_count(self) -> u32 {
        self.layers.verifier.findings().count()
    }

    /// Returns the names and symbolic links of the driver's devices.
    #[must_use]
    pub fn device_names(self) -> Vec<String> {
        gaps::device_names()
    }

    /// Returns the registry values that the driver looked for and did not find: the key, a backslash, and the name. The
    /// key is `parameters`, `device`, `driver` or a full path.
    #[must_use]
    pub fn missing_values(self) -> Vec<String> {
        lock(&self.layers.kernel.missing_values).iter().cloned().collect()
    }

    /// Returns the names of the communication ports if the driver has registered a minifilter.
    #[must_use]
    pub fn minifilter(self) -> Option<Vec<String>> {
        nt_filters::ports()
    }

    /// Returns whether the driver has registered callouts.
    #[must_use]
    pub fn has_callouts(self) -> bool {
        nt_network::has_callouts()
    }
}
