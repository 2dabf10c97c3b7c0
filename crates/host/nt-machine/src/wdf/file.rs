//! File objects: a client opens the device, sends requests, closes it.

use etw_types::NtStatus;

use super::device::with_device;
use super::object::{self, Data, change};
use super::request::Request;
use super::{Handle, client, life, sync};
use crate::kernel::RequestKind;
use crate::kernel::{self, call_back, kernel};
use crate::layout::UNICODE_STRING;
use crate::memory::{Code, GuestPtr};
use crate::routine::{DISPATCH, Outcome, PASSIVE, Routine, fail, fixed, routine};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfFileObjectGetDevice", DISPATCH, |call| device_of(call.handle(1))),
    fixed("WdfFileObjectGetFlags", DISPATCH, 0),
    // A device is opened without a name behind its own: the string is empty, and is there.
    routine!("WdfFileObjectGetFileName", DISPATCH, |call| {
        change(call.handle(1), |object| match object.data {
            Data::File(file) => file.name,
            _ => GuestPtr::NULL,
        })
    }),
    fixed("WdfFileObjectGetInitiatorProcessId", DISPATCH, 4),
];

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    device: Handle,
    /// Empty.
    pub(super) name: GuestPtr<UNICODE_STRING>,
}

fn device_of(handle: Handle) -> Handle {
    object::part(handle, |data| match data {
        Data::File(file) => Some(file.device),
        _ => None,
    })
}

/// Opens a device: answers its file object, 0 where its driver wants none, or the status that the driver refused with.
pub(super) fn open(device: Handle) -> Outcome<Handle> {
    if !object::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let Some(events) = with_device(device, |device| device.init.file) else {
        return Ok(Handle::NULL);
    };
    let name = kernel::lock(&kernel().pool).new_object();
    let file = object::create_with(0, &events.attributes, Some(device), Data::File(File { device, name }))?;
    let status = create(device, file, events.create)?;
    if status.is_success() {
        return Ok(file);
    }
    life::delete(file);
    fail(status)
}

/// Tells the driver, by a callback or a request in the queue for it, that a file is opened.
fn create(device: Handle, file: Handle, callback: GuestPtr<Code>) -> Outcome<NtStatus> {
    let queue = with_device(device, |device| {
        device.dispatching.iter().find(|(kind, _)| *kind == RequestKind::CREATE).map(|(_, queue)| *queue)
    });
    if callback.is_null() && queue.is_none() {
        return Ok(NtStatus::Success);
    }
    let attributes = with_device(device, |device| device.init.request);
    let mut data = Request { kind: RequestKind::CREATE, file, ..Request::default() };
    if queue.is_none() {
        (data.presented, data.delivered, data.handler) = (true, true, callback.address());
    }
    let request = object::create_with(0, &attributes, Some(device), Data::Request(Box::new(data)))?;
    if queue.is_none() {
        sync::locked(scope(device), PASSIVE, |irql| {
            call_back("EvtDeviceFileCreate", irql, callback, &[device.as_int(), request.as_int(), file.as_int()])
        });
    } else {
        client::submit(device, request, RequestKind::CREATE);
    }
    Ok(client::wait(request).0)
}

/// Closes a file: the last handle goes, then the last reference.
pub(super) fn close(device: Handle, file: Handle) {
    let events = with_device(device, |device| device.init.file);
    let Some(events) = events.filter(|_| !file.is_null() && object::exists(file)) else { return };
    for (callback, name) in [(events.cleanup, "EvtFileCleanup"), (events.close, "EvtFileClose")] {
        if !callback.is_null() {
            sync::locked(scope(device), PASSIVE, |irql| call_back(name, irql, callback, &[file.as_int()]));
        }
    }
    life::delete(file);
}

/// File callbacks run under the device's lock where its callbacks run at passive level, as they do themselves.
fn scope(device: Handle) -> Option<Handle> {
    sync::holder_for(device).filter(|device| object::is_passive(*device))
}
