//! What happened to an IRP before: who made it, how far down it was sent, and which completion routine was set.

use etw_types::NtStatus;
use nt_processor::layout::IRP;
use nt_processor::memory::GuestPtr;

use crate::{kernel, lock};

/// Who made an IRP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::io) enum Origin {
    /// The I/O manager, for a client.
    #[default]
    Manager,
    /// The driver, with `IoAllocateIrp` or `IoInitializeIrp`.
    Allocated,
    /// The driver, with `IoBuildAsynchronousFsdRequest`.
    Asynchronous,
    /// The driver, with `IoBuildSynchronousFsdRequest`.
    Synchronous,
    /// The driver, with `IoBuildDeviceIoControlRequest`.
    Control,
    /// The power manager, for `PoRequestPowerIrp`.
    Power,
}

/// What happened to an IRP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    pub(super) origin: Origin,
    /// The lowest stack location that the IRP has reached, counted from 1.
    pub(super) lowest: u8,
    /// A driver has sent the IRP.
    pub(super) is_sent: bool,
    /// The result of `IoSetCompletionRoutineEx`, until the driver sends the IRP.
    pub(super) registration: Option<bool>,
    /// The status that the driver below returned to the first driver of the stack.
    pub(super) returned: Option<NtStatus>,
    /// The number of the thread that sent a synchronous IRP, the address of the event that the driver waits for, and the
    /// call that sent it.
    pub(super) waiting: Option<(u32, u64, u64)>,
    /// The address of the event that the I/O manager sets; 0 if there is none.
    pub(super) event: u64,
}

impl History {
    /// Returns the history of an IRP that was just made.
    pub(super) fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }
}

/// Reads or changes the history of an IRP. Returns `None` if there is no such IRP.
pub(super) fn update<R>(irp: GuestPtr<IRP>, body: impl FnOnce(&mut History) -> R) -> Option<R> {
    lock(&kernel().io).requests.get_mut(&irp).map(|request| body(&mut request.history))
}

/// Returns the origin of an IRP.
pub(super) fn origin(irp: GuestPtr<IRP>) -> Option<Origin> {
    update(irp, |history| history.origin)
}
