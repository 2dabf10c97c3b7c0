//! File objects: a client opens the device, sends requests, closes it.

use super::device::with_device;
use super::object::{self, Data, change};
use super::request::{self, Request};
use super::{Handle, client, status};
use crate::kernel::call_back;
use crate::kernel::plug::Outcome;
use crate::kernel::routine::{DISPATCH, PASSIVE, Routine, routine};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfFileObjectGetDevice", DISPATCH, |call| device_of(call.arg(1))),
    routine("WdfFileObjectGetFlags", DISPATCH, |_| 0),
    routine("WdfFileObjectGetFileName", DISPATCH, |_| 0),
    routine("WdfFileObjectGetInitiatorProcessId", DISPATCH, |_| 4),
];

/// An open file.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    device: Handle,
}

fn device_of(handle: Handle) -> Handle {
    let device = change(handle, |object| match object.data {
        Data::File(file) => Some(file.device),
        _ => None,
    });
    device.unwrap_or_else(|| object::violation(handle))
}

/// Opens the device, runs `body` with the file object, and closes it. A device that cannot be opened answers its status.
pub(super) fn with_file(device: Handle, body: impl FnOnce(Handle) -> Outcome) -> Outcome {
    if !object::exists(device) {
        return Outcome { status: 0xC000_000E, ..Outcome::default() };
    }
    let Some(events) = with_device(device, |device| device.init.file) else {
        return body(0);
    };
    let file = object::create_with(0, &events.attributes, Some(device), Data::File(File { device }));
    let Ok(file) = file else {
        return Outcome { status: status::INSUFFICIENT_RESOURCES, ..Outcome::default() };
    };
    let opened = if events.create == 0 { (0, 0) } else { open(device, file, events.create) };
    let outcome = if opened.0 & 0x8000_0000 == 0 {
        let outcome = body(file);
        for (callback, name) in [(events.cleanup, "EvtFileCleanup"), (events.close, "EvtFileClose")] {
            if callback != 0 {
                call_back(name, PASSIVE, callback, &[file]);
            }
        }
        outcome
    } else {
        Outcome { status: opened.0, ..Outcome::default() }
    };
    object::delete(file);
    outcome
}

fn open(device: Handle, file: Handle, callback: u64) -> (u32, u64) {
    let attributes = with_device(device, |device| device.init.request);
    let data = Request { kind: request::CREATE, file, presented: true, handler: callback, ..Request::default() };
    let request = object::create_with(0, &attributes, Some(device), Data::Request(Box::new(data)));
    let Ok(request) = request else { return (status::INSUFFICIENT_RESOURCES, 0) };
    call_back("EvtDeviceFileCreate", PASSIVE, callback, &[device, request, file]);
    client::wait(request)
}
