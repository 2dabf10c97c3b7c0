//! Queues that deliver every request to one callback.

use core::marker::PhantomData;

use wdk_etw::NtStatus;
use wdk_sys::{ULONG, WDFQUEUE, WDFREQUEST};

use crate::queue::owner;
use crate::{Device, DeviceHandle, Queue, QueueConfig, Request, StoppedRequest};

/// The callbacks of a queue whose requests one callback handles, for example a filter driver that forwards all of them. A device with
/// several such queues implements this once for each, with different `Tag`s.
///
/// The framework calls them at any IRQL up to `DISPATCH_LEVEL`, as those of [`QueueEvents`](crate::QueueEvents).
pub trait IoDefaultEvents<Tag = ()>: Device {
    /// `EvtIoDefault`. [`Request::kind`] says what the client requests.
    fn io_default(&self, request: Request);

    /// `EvtIoStop`, as [`QueueEvents::io_stop`](crate::QueueEvents::io_stop).
    fn io_stop(&self, request: StoppedRequest<'_>) {
        let _ = request;
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a queue that delivers every request to [`IoDefaultEvents::io_default`].
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfIoQueueCreate`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_io_default_queue<Tag>(&self, settings: QueueConfig) -> Result<Queue, NtStatus>
    where
        T: IoDefaultEvents<Tag>,
    {
        let mut config = settings.to_raw();
        config.EvtIoDefault = Some(io_default::<T, Tag>);
        config.EvtIoStop = Some(io_stop::<T, Tag>);
        self.new_queue(config)
    }
}

unsafe extern "C" fn io_default<T: IoDefaultEvents<Tag>, Tag>(queue: WDFQUEUE, request: WDFREQUEST) {
    // SAFETY: the framework passes a queue for which this callback was set.
    let owner = unsafe { owner::<T>(queue) };
    let is_direct = owner.is_none_or(|(_, is_direct)| is_direct);
    // SAFETY: the framework passes ownership of the request.
    let request = unsafe { Request::with_parameters(request, is_direct) };
    match owner {
        Some((value, _)) => value.io_default(request),
        None => request.complete(NtStatus::DeviceNotReady),
    }
}

unsafe extern "C" fn io_stop<T: IoDefaultEvents<Tag>, Tag>(queue: WDFQUEUE, request: WDFREQUEST, flags: ULONG) {
    // SAFETY: the framework passes a queue for which this callback was set.
    if let Some((value, _)) = unsafe { owner::<T>(queue) } {
        value.io_stop(StoppedRequest { raw: request, flags, callback: PhantomData });
    }
}
