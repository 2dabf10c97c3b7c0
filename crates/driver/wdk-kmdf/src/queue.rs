//! Queues: they deliver requests to a device, or keep them.
//!
//! Why the objects exist that the callbacks and methods use: [`lifetime`](crate::lifetime).

use core::marker::PhantomData;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{_WDF_REQUEST_TYPE, ULONG, WDF_IO_QUEUE_CONFIG, WDFOBJECT, WDFQUEUE, WDFREQUEST};

use crate::call::wdf;
use crate::child::{self, Child};
use crate::{Device, DeviceHandle, Passive, QueueConfig, Request, RequestKind, StoppedRequest, check};

/// The callbacks of a queue. A device with several queues implements this once for each, with different `Tag`s.
///
/// The framework calls them at any IRQL up to `DISPATCH_LEVEL`, unless the device is created with
/// [`passive_level`](crate::DeviceBuilder::passive_level). A request that a driver does not handle is completed with
/// `STATUS_INVALID_DEVICE_REQUEST`.
pub trait QueueEvents<Tag = ()>: Device {
    /// `EvtIoRead`.
    fn read(&self, request: Request) {
        request.complete(NtStatus::InvalidDeviceRequest);
    }

    /// `EvtIoWrite`.
    fn write(&self, request: Request) {
        request.complete(NtStatus::InvalidDeviceRequest);
    }

    /// `EvtIoDeviceControl`, with the control code.
    fn device_control(&self, request: Request, code: u32) {
        let _ = code;
        request.complete(NtStatus::InvalidDeviceRequest);
    }

    /// `EvtIoInternalDeviceControl`, with the control code.
    fn internal_device_control(&self, request: Request, code: u32) {
        let _ = code;
        request.complete(NtStatus::InvalidDeviceRequest);
    }

    /// `EvtIoStop`: the queue stops, and the driver still has this request. The framework waits until the driver completes it,
    /// gives it away, or [acknowledges](crate::PendingRequest::acknowledge) that it keeps it.
    fn io_stop(&self, request: StoppedRequest<'_>) {
        let _ = request;
    }
}

/// A queue of a device. The device owns the framework's queue: it is deleted with the device, and from then on the methods do
/// nothing.
#[derive(Debug)]
pub struct Queue {
    child: Child,
}

impl Queue {
    /// Takes the next request from a manual queue.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    #[must_use]
    pub fn next_request(&self) -> Option<Request> {
        let mut request: WDFREQUEST = ptr::null_mut();
        let taken = self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue, and `request` outlives the call.
            check(unsafe { wdf!(WdfIoQueueRetrieveNextRequest, queue.cast(), ptr::from_mut(&mut request)) })
        })?;
        if taken.is_err() || request.is_null() {
            return None;
        }
        // SAFETY: the driver has a request of the device, which therefore exists.
        let is_direct = unsafe { self.child.device_object().is_direct() };
        // SAFETY: the framework passes ownership of the request.
        Some(unsafe { Request::with_parameters(request, is_direct) })
    }

    /// Delivers requests again after the queue was stopped.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn start(&self) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue.
            unsafe { wdf!(WdfIoQueueStart, queue.cast()) };
        });
    }

    /// Stops delivering requests. New ones wait in the queue.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn stop(&self) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue; the callback is optional.
            unsafe { wdf!(WdfIoQueueStop, queue.cast(), None, ptr::null_mut()) };
        });
    }

    /// Stops delivering requests, and waits until the driver has completed those that it has.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`. Do not call it from a callback of the queue: that is a deadlock.
    pub fn stop_and_wait(&self, _: Passive<'_>) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue.
            unsafe { wdf!(WdfIoQueueStopSynchronously, queue.cast()) };
        });
    }

    /// Cancels the requests in the queue and rejects new ones until the queue is [started](Self::start).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn purge(&self) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue; the callback is optional.
            unsafe { wdf!(WdfIoQueuePurge, queue.cast(), None, ptr::null_mut()) };
        });
    }

    /// As [`purge`](Self::purge), and waits until the driver has completed the requests that it has.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`. Do not call it from a callback of the queue: that is a deadlock.
    pub fn purge_and_wait(&self, _: Passive<'_>) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue.
            unsafe { wdf!(WdfIoQueuePurgeSynchronously, queue.cast()) };
        });
    }

    /// Delivers the requests in the queue and rejects new ones until the queue is [started](Self::start).
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn drain(&self) {
        self.child.unlocked(|queue| {
            // SAFETY: this value has a reference to the queue; the callback is optional.
            unsafe { wdf!(WdfIoQueueDrain, queue.cast(), None, ptr::null_mut()) };
        });
    }

    /// Calls `body` with the handle if the queue was not deleted before.
    pub(crate) fn if_live<R>(&self, body: impl FnOnce(WDFQUEUE) -> R) -> Option<R> {
        self.child.unlocked(|queue| body(queue.cast()))
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the queue.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFQUEUE {
        self.child.raw().cast()
    }
}

/// Which requests a queue receives, for [`DeviceHandle::dispatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// `IRP_MJ_READ`.
    Read,
    /// `IRP_MJ_WRITE`.
    Write,
    /// `IRP_MJ_DEVICE_CONTROL`.
    Control,
    /// `IRP_MJ_INTERNAL_DEVICE_CONTROL`.
    InternalControl,
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a queue that delivers requests to the device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoQueueCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_queue<Tag>(&self, settings: QueueConfig) -> Result<Queue, NtStatus>
    where
        T: QueueEvents<Tag>,
    {
        let mut config = settings.to_raw();
        config.EvtIoRead = Some(read::<T, Tag>);
        config.EvtIoWrite = Some(write::<T, Tag>);
        config.EvtIoDeviceControl = Some(device_control::<T, Tag>);
        config.EvtIoInternalDeviceControl = Some(internal_device_control::<T, Tag>);
        config.EvtIoStop = Some(io_stop::<T, Tag>);
        self.new_queue(config)
    }

    /// Creates a manual queue: requests get there by [`Request::forward`] or [`dispatch`](Self::dispatch), and stay until the driver
    /// [takes](Queue::next_request) them. The framework cancels a request in such a queue when its client does.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoQueueCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_manual_queue(&self, is_power_managed: bool) -> Result<Queue, NtStatus> {
        self.new_queue(QueueConfig::manual(is_power_managed).to_raw())
    }

    /// Sends all requests of a kind to a queue instead of the default queue (`WdfDeviceConfigureRequestDispatching`).
    ///
    /// # Errors
    ///
    /// Returns the error of the framework.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn dispatch(&self, queue: &Queue, kind: Dispatch) -> Result<(), NtStatus> {
        let kind = match kind {
            Dispatch::Read => _WDF_REQUEST_TYPE::WdfRequestTypeRead,
            Dispatch::Write => _WDF_REQUEST_TYPE::WdfRequestTypeWrite,
            Dispatch::Control => _WDF_REQUEST_TYPE::WdfRequestTypeDeviceControl,
            Dispatch::InternalControl => _WDF_REQUEST_TYPE::WdfRequestTypeDeviceControlInternal,
        };
        let configure = |queue: WDFQUEUE| {
            // SAFETY: the device exists, and the queue is referenced. The framework refuses a queue of another device.
            check(unsafe { wdf!(WdfDeviceConfigureRequestDispatching, self.raw(), queue, kind) })
        };
        queue.if_live(configure).unwrap_or(Err(NtStatus::DeletePending))
    }

    pub(crate) fn new_queue(&self, mut config: WDF_IO_QUEUE_CONFIG) -> Result<Queue, NtStatus> {
        let create = |attributes, raw: *mut WDFOBJECT| {
            // SAFETY: the device exists, and all structures outlive the call.
            unsafe { wdf!(WdfIoQueueCreate, self.raw(), ptr::from_mut(&mut config), attributes, raw.cast()) }
        };
        // SAFETY: this creates a queue of the device with the attributes.
        let child = unsafe { Child::create(self.raw(), create) }?;
        Ok(Queue { child })
    }
}

/// Returns the value of a queue's device, and whether reads and writes use the client's own memory. In a callback of the queue; the
/// framework cleans up the queue, and then the device, only after it has returned.
///
/// # Safety
///
/// The queue must have been created for a device with a context of type `T`, and one of its callbacks must be running for `'a`.
pub(crate) unsafe fn owner<'a, T: Device>(queue: WDFQUEUE) -> Option<(&'a T, bool)> {
    // SAFETY: guaranteed by the caller.
    let (value, device_object) = unsafe { child::device_value::<T>(queue.cast()) }?;
    // SAFETY: the device exists, as its value does.
    Some((value, unsafe { device_object.is_direct() }))
}

/// Passes a request to the device of a queue.
///
/// # Safety
///
/// `queue` must be a queue of a device with a context of type `T`, and the driver must own `request`, which must be of this kind
/// with buffers of these lengths.
unsafe fn deliver<T: Device>(
    queue: WDFQUEUE,
    request: WDFREQUEST,
    kind: RequestKind,
    (input, output): (usize, usize),
    event: impl FnOnce(&T, Request),
) {
    // SAFETY: guaranteed by the caller.
    let owner = unsafe { owner::<T>(queue) };
    let is_direct = owner.is_none_or(|(_, is_direct)| is_direct);
    // SAFETY: guaranteed by the caller.
    let request = unsafe { Request::from_raw(request, kind, input, output, is_direct) };
    match owner {
        Some((value, _)) => event(value, request),
        None => request.complete(NtStatus::DeviceNotReady),
    }
}

unsafe extern "C" fn read<T: QueueEvents<Tag>, Tag>(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    // SAFETY: the framework passes a queue for which this callback was set, and ownership of a request of this kind.
    unsafe { deliver(queue, request, RequestKind::Read, (0, length), T::read) };
}

unsafe extern "C" fn write<T: QueueEvents<Tag>, Tag>(queue: WDFQUEUE, request: WDFREQUEST, length: usize) {
    // SAFETY: as above.
    unsafe { deliver(queue, request, RequestKind::Write, (length, 0), T::write) };
}

unsafe extern "C" fn device_control<T: QueueEvents<Tag>, Tag>(
    queue: WDFQUEUE,
    request: WDFREQUEST,
    output: usize,
    input: usize,
    code: ULONG,
) {
    let event = |value: &T, request| value.device_control(request, code);
    // SAFETY: as above.
    unsafe { deliver(queue, request, RequestKind::Control(code), (input, output), event) };
}

unsafe extern "C" fn internal_device_control<T: QueueEvents<Tag>, Tag>(
    queue: WDFQUEUE,
    request: WDFREQUEST,
    output: usize,
    input: usize,
    code: ULONG,
) {
    let event = |value: &T, request| value.internal_device_control(request, code);
    // SAFETY: as above.
    unsafe { deliver(queue, request, RequestKind::InternalControl(code), (input, output), event) };
}

unsafe extern "C" fn io_stop<T: QueueEvents<Tag>, Tag>(queue: WDFQUEUE, request: WDFREQUEST, flags: ULONG) {
    // SAFETY: the framework passes a queue for which this callback was set.
    if let Some((value, _)) = unsafe { owner::<T>(queue) } {
        value.io_stop(StoppedRequest { raw: request, flags, callback: PhantomData });
    }
}
