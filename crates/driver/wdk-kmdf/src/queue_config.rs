//! The settings of a queue.

use wdk_sys::{_WDF_IO_QUEUE_DISPATCH_TYPE, _WDF_TRI_STATE, WDF_IO_QUEUE_CONFIG, WDF_IO_QUEUE_DISPATCH_TYPE};

use crate::size_field;

/// The settings of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueConfig {
    dispatch: WDF_IO_QUEUE_DISPATCH_TYPE,
    presented: u32,
    is_default: bool,
    is_power_managed: bool,
    allows_empty: bool,
}

impl QueueConfig {
    const fn new(dispatch: WDF_IO_QUEUE_DISPATCH_TYPE) -> Self {
        Self { dispatch, presented: 0, is_default: false, is_power_managed: true, allows_empty: false }
    }

    /// Delivers a request when the driver has completed the one before it, or has given it away.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn sequential() -> Self {
        Self::new(_WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchSequential)
    }

    /// Delivers requests as they arrive.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn parallel() -> Self {
        Self::parallel_up_to(u32::MAX)
    }

    /// Delivers requests as they arrive, while the driver has fewer than this many of them.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn parallel_up_to(count: u32) -> Self {
        // The framework would never deliver a request if the number were 0 (Microsoft's public framework source:
        // `shared/irphandlers/io/fxioqueue.cpp`).
        let presented = if count == 0 { 1 } else { count };
        Self { presented, ..Self::new(_WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchParallel) }
    }

    /// Receives all requests of the device that no other queue receives.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn default_queue(mut self) -> Self {
        self.is_default = true;
        self
    }

    /// Delivers requests also while the device is not in D0.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn not_power_managed(mut self) -> Self {
        self.is_power_managed = false;
        self
    }

    /// Also delivers reads and writes of zero bytes, which the framework otherwise completes.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn allow_zero_length(mut self) -> Self {
        self.allows_empty = true;
        self
    }

    /// Keeps requests until the driver takes them.
    pub(crate) const fn manual(is_power_managed: bool) -> Self {
        Self { is_power_managed, ..Self::new(_WDF_IO_QUEUE_DISPATCH_TYPE::WdfIoQueueDispatchManual) }
    }

    /// Returns the framework's structure, without callbacks.
    pub(crate) fn to_raw(self) -> WDF_IO_QUEUE_CONFIG {
        let mut config = WDF_IO_QUEUE_CONFIG {
            Size: size_field::<WDF_IO_QUEUE_CONFIG>(),
            DispatchType: self.dispatch,
            PowerManaged: if self.is_power_managed { _WDF_TRI_STATE::WdfUseDefault } else { _WDF_TRI_STATE::WdfFalse },
            AllowZeroLengthRequests: u8::from(self.allows_empty),
            DefaultQueue: u8::from(self.is_default),
            ..WDF_IO_QUEUE_CONFIG::default()
        };
        config.Settings.Parallel.NumberOfPresentedRequests = self.presented;
        config
    }
}
