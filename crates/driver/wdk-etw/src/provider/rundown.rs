//! Rundown protection: a count of the callers that use a registration, so that unregistering can wait for them.
//!
//! It is one atomic, without a lock, and works at any IRQL. The kernel's own rundown protection
//! (`ExAcquireRundownProtection`) does the same up to `DISPATCH_LEVEL`; events can be written above it.

use super::sync::{AtomicU64, Ordering, const_fn};

/// Set while the registration may not be used.
const CLOSED: u64 = 1;

/// A caller that uses the registration.
const USER: u64 = 2;

/// The number of callers that use a registration, and whether others may.
#[derive(Debug)]
pub(crate) struct Rundown(AtomicU64);

impl Rundown {
    const_fn! {
        /// Creates an open rundown protection without callers.
        pub(crate) fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Returns whether the caller may use the registration. If so, [`release`](Self::release) must follow.
    #[inline(always)]
    pub(crate) fn acquire(&self) -> bool {
        // Addition, and not a compare-exchange, which would have to be repeated. A caller that comes too late is counted
        // for a moment; `run_down` waits for it, too.
        let before = self.0.fetch_add(USER, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.release();
            return false;
        }
        true
    }

    /// Ends the use of the registration.
    #[inline(always)]
    pub(crate) fn release(&self) {
        self.0.fetch_sub(USER, Ordering::Release);
    }

    /// Lets no more callers in, and calls `wait` until those that are in have left.
    pub(crate) fn run_down(&self, mut wait: impl FnMut()) {
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
        while self.0.load(Ordering::Acquire) != CLOSED {
            wait();
        }
    }

    /// Lets callers in again.
    pub(crate) fn open(&self) {
        self.0.fetch_and(!CLOSED, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    extern crate std;

    use etw_symbols::Host;

    use crate::{Guid, NtStatus, Protected, Provider, SetInformationMode};

    static PROVIDER: Provider<Protected> = Provider::new(Guid::from_u128(5), b"\x04\0A\0", SetInformationMode::Lookup);

    #[test]
    fn unregister_waits_for_a_writer_and_lets_no_other_in() {
        let host = Host::new();
        let _here = host.enter();
        assert_eq!(PROVIDER.register_protected(), NtStatus::Success);
        let is_in = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let host = &host;
            let barrier = &is_in;
            let writer = scope.spawn(move || {
                let _there = host.enter();
                PROVIDER.with_handle(0, |handle| {
                    barrier.wait();
                    // The other thread unregisters. When it has begun, no other caller gets in.
                    while PROVIDER.with_handle(false, |_| true) {
                        std::thread::yield_now();
                    }
                    assert_eq!(host.engine().registrations().len(), 1, "the registration lives as long as its user");
                    handle
                })
            });
            is_in.wait();
            assert_eq!(PROVIDER.unregister(), NtStatus::Success);
            assert_ne!(writer.join().unwrap(), 0, "the writer had the handle");
        });
        assert_eq!(host.engine().registrations().len(), 0);
        assert_eq!(PROVIDER.with_handle(7, |_| 0), 7, "nobody gets in afterwards");
        assert_eq!(PROVIDER.register_protected(), NtStatus::Success);
        assert_ne!(PROVIDER.with_handle(0, |handle| handle), 0, "and again after the next registration");
        assert_eq!(PROVIDER.unregister(), NtStatus::Success);
    }
}
