//! What may be called at most at `DISPATCH_LEVEL`.

use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ChildDevice, ChildList, DeviceHandle, DeviceRef, IoTarget, Memory, Operation, Output, OwnRequest, PendingRequest,
    Queue, Request, Resources, SpinLock, StoppedRequest, Timer, WmiBlock, WorkItem,
};

use crate::device::{Child, Irql, Opened, TO_TARGET};
use crate::{DISPATCH_LEVEL, ROUTINES, at, high};

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(1));

/// Uses the objects of the device. Each call is made at `DISPATCH_LEVEL`, and what they start runs when the level is lowered.
pub(crate) fn objects(device: &Irql) -> Result<(), NtStatus> {
    at(DISPATCH_LEVEL, || {
        Timer::start(&device.timer, Duration::from_millis(1));
        Timer::cancel(&device.timer);
        WorkItem::enqueue(&device.work);
        Queue::stop(&device.manual);
        Queue::start(&device.manual);
        Queue::purge(&device.manual);
        Queue::start(&device.manual);
        Queue::drain(&device.manual);
        Queue::start(&device.manual);
        IoTarget::start(&device.target)?;
        let _ = PendingRequest::is_some(&device.pending);
        let _ = WmiBlock::fire_event(&device.block, &1);
        let _ = ChildList::scan(&device.children, |list| ChildList::add(list, &1));
        ChildList::remove(&device.children, &1)?;
        let copy = Memory::copy_of(b"copy", *b"Irql")?;
        let memory = Memory::new(copy.len(), *b"Irql")?;
        SpinLock::with(&device.count, |count| *count += u32::from(memory.len() == copy.len()));
        Ok(())
    })
}

pub(crate) fn handle(device: DeviceHandle<'_, Irql>) -> Option<DeviceRef<Irql>> {
    at(DISPATCH_LEVEL, || {
        let _ = (DeviceHandle::value(&device).is_some(), DeviceHandle::io_target(&device).is_some());
        let reference = DeviceHandle::reference(&device)?;
        // Dropping the power reference lets the device sleep again.
        drop(DeviceRef::stop_idle(reference.clone()));
        Some(reference)
    })
}

/// Reports that a device has failed.
pub(crate) fn fail(device: DeviceHandle<'_, Irql>) {
    at(DISPATCH_LEVEL, || DeviceHandle::set_failed(&device, false));
}

pub(crate) fn unplug(child: ChildDevice<Child>) -> Result<(), NtStatus> {
    at(DISPATCH_LEVEL, || ChildDevice::mark_missing(child))
}

pub(crate) fn resources(resources: &Resources<'_>) {
    at(DISPATCH_LEVEL, || {
        let _ = (0..Resources::count(resources)).all(|index| {
            Resources::translated(resources, index).is_some() && Resources::untranslated(resources, index).is_some()
        });
    });
}

/// Uses the buffers of a request.
pub(crate) fn buffers(request: &mut Request) -> Result<(), NtStatus> {
    at(DISPATCH_LEVEL, || {
        let _ = (Request::input(request)?.len(), Request::input_value::<u8>(request)?);
        let _ = Request::input_ref::<u8>(request)?;
        let mut copy = [0; 4];
        let _ =
            (Request::copy_input(request, 0, &mut copy)?, Request::copy_direct_input(request, 0, &mut copy).is_ok());
        let _ = (Request::offset(request), Request::is_from_kernel(request), Request::is_cancelled(request));
        let _ = (Request::activity_id(request, &ROUTINES).is_ok(), Request::file::<Opened>(request).is_some());
        Request::reply(request, &copy)?;
        Request::reply_value(request, &copy)?;
        let mut output = Request::output(request)?;
        Output::write(&mut output, &copy)?;
        Output::write_value(&mut output, &7_u32)?;
        *Output::value::<u32>(&mut output)? = 8;
        high::output(&output);
        Ok(())
    })
}

pub(crate) fn complete(request: Request) {
    at(DISPATCH_LEVEL, || Request::complete(request, NtStatus::Success));
}

pub(crate) fn finish(request: Request, result: Result<(), NtStatus>) {
    at(DISPATCH_LEVEL, || Request::finish(request, result));
}

/// Moves a request to the manual queue and back, twice.
pub(crate) fn forward(device: &Irql, request: Request) {
    at(DISPATCH_LEVEL, || {
        let forwarded = Request::forward(request, &device.manual);
        let requeued = Queue::next_request(&device.manual).map(Request::requeue);
        if let Some(request) = Queue::next_request(&device.manual) {
            Request::finish(request, forwarded.and(requeued.unwrap_or(Err(NtStatus::NotFound))));
        }
    });
}

pub(crate) fn keep(device: &Irql, request: Request) {
    // The request is completed with the error, if there is one.
    let _ = at(DISPATCH_LEVEL, || PendingRequest::keep(&device.pending, request));
}

pub(crate) fn take(device: &Irql) -> Option<Request> {
    at(DISPATCH_LEVEL, || PendingRequest::take(&device.pending))
}

pub(crate) fn acknowledge(device: &Irql, stopped: &StoppedRequest<'_>) -> bool {
    at(DISPATCH_LEVEL, || PendingRequest::acknowledge(&device.pending, stopped))
}

pub(crate) fn send(device: &Irql, request: Request) {
    // The request is completed with the error, if there is one.
    let _ = at(DISPATCH_LEVEL, || Request::send::<Irql, ()>(request, &device.target, TIMEOUT));
}

pub(crate) fn send_and_forget(device: &Irql, request: Request) {
    // The request is completed with the error, if there is one.
    let _ = at(DISPATCH_LEVEL, || Request::send_and_forget(request, &device.target));
}

/// Sends the request of the device's own, and asks the target to cancel it.
pub(crate) fn send_own(device: &Irql) -> Result<(), NtStatus> {
    at(DISPATCH_LEVEL, || {
        OwnRequest::send(&device.own, &device.target, Operation::Control(TO_TARGET), None, None, TIMEOUT)?;
        let _ = OwnRequest::cancel(&device.own);
        Ok(())
    })
}
