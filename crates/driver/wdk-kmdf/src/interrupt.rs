//! Interrupts of a device, and the work that follows them.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{_WDF_TRI_STATE, BOOLEAN, NTSTATUS, ULONG, WDF_INTERRUPT_CONFIG, WDFDEVICE, WDFINTERRUPT, WDFOBJECT};

use crate::call::wdf;
use crate::child::Child;
#[cfg(feature = "kmdf-1-15")]
use crate::device;
use crate::{Device, DeviceHandle, context, size_field, status_of};

/// What follows an interrupt, outside of the service routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferred {
    /// [`InterruptEvents::dpc`], at `DISPATCH_LEVEL`.
    Dpc,
    /// [`InterruptEvents::work`], at `PASSIVE_LEVEL`.
    #[cfg(feature = "kmdf-1-15")]
    WorkItem,
}

/// The callbacks of an interrupt. A device with several interrupts implements this once for each, with different `Tag`s.
pub trait InterruptEvents<Tag = ()>: Device {
    /// What [`Isr::defer`] queues.
    const DEFERRED: Deferred = Deferred::Dpc;

    /// `EvtInterruptIsr`: returns whether the device has interrupted. Runs at the device's IRQL (`DIRQL`), above `DISPATCH_LEVEL`:
    /// use atomics and [`Isr::defer`], and no other function of this crate.
    fn isr(&self, isr: Isr<'_>, message: u32) -> bool;

    /// `EvtInterruptDpc`: runs at `DISPATCH_LEVEL` after the service routine deferred.
    fn dpc(&self) {}

    /// `EvtInterruptWorkItem`: runs at `PASSIVE_LEVEL` after the service routine deferred.
    #[cfg(feature = "kmdf-1-15")]
    fn work(&self, device: DeviceHandle<'_, Self>) {
        let _ = device;
    }

    /// `EvtInterruptEnable`: enables the interrupt in the hardware. Runs at `DIRQL`.
    ///
    /// # Errors
    ///
    /// An error prevents the device from entering D0.
    fn enable(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    /// `EvtInterruptDisable`: disables the interrupt in the hardware. Runs at `DIRQL`.
    ///
    /// # Errors
    ///
    /// If this returns an error, the framework marks the device as failed.
    fn disable(&self) -> Result<(), NtStatus> {
        Ok(())
    }
}

/// The interrupt in its service routine.
#[derive(Clone, Copy, Debug)]
pub struct Isr<'a> {
    raw: WDFINTERRUPT,
    deferred: Deferred,
    callback: PhantomData<*const &'a ()>,
}

impl Isr<'_> {
    /// Queues [`InterruptEvents::dpc`] or [`InterruptEvents::work`]. Returns false if it is already queued.
    ///
    /// # IRQL
    ///
    /// `DIRQL`.
    pub fn defer(&self) -> bool {
        let queued = match self.deferred {
            // SAFETY: the interrupt exists during its service routine.
            Deferred::Dpc => unsafe { wdf!(WdfInterruptQueueDpcForIsr, self.raw) },
            // SAFETY: as above.
            #[cfg(feature = "kmdf-1-15")]
            Deferred::WorkItem => unsafe { wdf!(WdfInterruptQueueWorkItemForIsr, self.raw) },
        };
        queued != 0
    }

    /// Returns the framework's handle, valid until the callback returns.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFINTERRUPT {
        self.raw
    }
}

/// An interrupt of a device. The device owns the framework's object.
#[derive(Debug)]
pub struct Interrupt {
    child: Child,
}

impl Interrupt {
    /// Calls `body` while the service routine cannot run, at its IRQL.
    ///
    /// The lock is that of the connected interrupt. The framework connects it after [`Device::d0_entry`], and disconnects it before
    /// [`Device::d0_exit`]. It does not wait for this: call it from code that ends before the device leaves D0, for example callbacks of
    /// power-managed queues and [`InterruptEvents::dpc`].
    ///
    /// # Errors
    ///
    /// Returns `STATUS_DEVICE_NOT_READY` if the interrupt is not connected, because the framework's function would lock nothing, and
    /// `STATUS_DELETE_PENDING` if it was deleted. `body` is not called then.
    ///
    /// # IRQL
    ///
    /// At most `DIRQL`. In `body` it is `DIRQL`: use atomics, and no function of this crate. `body` is `Send`, as that of
    /// [`SpinLock::with`](crate::SpinLock::with), so it cannot use a token for `PASSIVE_LEVEL`.
    pub fn locked<R>(&self, body: impl FnOnce() -> R + Send) -> Result<R, NtStatus> {
        let locked = |interrupt: WDFOBJECT| {
            // SAFETY: this value has a reference to the interrupt.
            let connected = unsafe { wdf!(WdfInterruptWdmGetInterrupt, interrupt.cast()) };
            if connected.is_null() {
                return Err(NtStatus::DeviceNotReady);
            }
            // SAFETY: as above.
            unsafe { wdf!(WdfInterruptAcquireLock, interrupt.cast()) };
            let result = body();
            // SAFETY: the lock is held.
            unsafe { wdf!(WdfInterruptReleaseLock, interrupt.cast()) };
            Ok(result)
        };
        self.child.unlocked(locked).unwrap_or(Err(NtStatus::DeletePending))
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the interrupt.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFINTERRUPT {
        self.child.raw().cast()
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates an interrupt. The framework connects it to the device's next interrupt resource when the device starts.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfInterruptCreate`, or `STATUS_INVALID_DEVICE_REQUEST` for a control device.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_interrupt<Tag>(&self) -> Result<Interrupt, NtStatus>
    where
        T: InterruptEvents<Tag>,
    {
        self.needs_pnp()?;
        let mut config = WDF_INTERRUPT_CONFIG {
            Size: size_field::<WDF_INTERRUPT_CONFIG>(),
            ShareVector: _WDF_TRI_STATE::WdfUseDefault,
            #[cfg(feature = "kmdf-1-15")]
            ReportInactiveOnPowerDown: _WDF_TRI_STATE::WdfUseDefault,
            EvtInterruptIsr: Some(isr::<T, Tag>),
            EvtInterruptEnable: Some(enable::<T, Tag>),
            EvtInterruptDisable: Some(disable::<T, Tag>),
            ..WDF_INTERRUPT_CONFIG::default()
        };
        match T::DEFERRED {
            Deferred::Dpc => config.EvtInterruptDpc = Some(dpc::<T, Tag>),
            #[cfg(feature = "kmdf-1-15")]
            Deferred::WorkItem => config.EvtInterruptWorkItem = Some(work::<T, Tag>),
        }
        let create = |attributes, raw: *mut WDFOBJECT| {
            // SAFETY: the device exists, and all structures outlive the call.
            unsafe { wdf!(WdfInterruptCreate, self.raw(), ptr::from_mut(&mut config), attributes, raw.cast()) }
        };
        // SAFETY: this creates an interrupt of the device with the attributes.
        let child = unsafe { Child::create(self.raw(), create) }?;
        Ok(Interrupt { child })
    }
}

unsafe extern "C" fn isr<T: InterruptEvents<Tag>, Tag>(raw: WDFINTERRUPT, message: ULONG) -> BOOLEAN {
    // SAFETY: the framework passes an interrupt of a device with a context of this type.
    let device = unsafe { wdf!(WdfInterruptGetDevice, raw) };
    // SAFETY: the device of an interrupt exists.
    let value = unsafe { context::get::<T>(device.cast()) };
    let isr = Isr { raw, deferred: T::DEFERRED, callback: PhantomData };
    u8::from(value.is_some_and(|value| value.isr(isr, message)))
}

unsafe extern "C" fn dpc<T: InterruptEvents<Tag>, Tag>(_: WDFINTERRUPT, device: WDFOBJECT) {
    // SAFETY: the framework passes the device of the interrupt, which has a context of this type.
    if let Some(value) = unsafe { context::get::<T>(device) } {
        value.dpc();
    }
}

#[cfg(feature = "kmdf-1-15")]
unsafe extern "C" fn work<T: InterruptEvents<Tag>, Tag>(_: WDFINTERRUPT, device: WDFOBJECT) {
    // SAFETY: as above; the framework calls this at PASSIVE_LEVEL.
    let _ = unsafe { device::on(device.cast(), T::work) };
}

unsafe extern "C" fn enable<T: InterruptEvents<Tag>, Tag>(_: WDFINTERRUPT, device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: as above.
    let value = unsafe { context::get::<T>(device.cast()) };
    status_of(value.map_or(Err(NtStatus::DeviceNotReady), T::enable))
}

unsafe extern "C" fn disable<T: InterruptEvents<Tag>, Tag>(_: WDFINTERRUPT, device: WDFDEVICE) -> NTSTATUS {
    // SAFETY: as above.
    let value = unsafe { context::get::<T>(device.cast()) };
    status_of(value.map_or(Err(NtStatus::DeviceNotReady), T::disable))
}
