//! File objects: a client opens a device, sends requests, and closes the device.

use etw_types::NtStatus;
use nt_kernel::io::file::file_object;
use nt_kernel::io::text::new_string;
use nt_kernel::sync::process;
use nt_kernel::sync::worker::submit;
use nt_kernel::{Kernel, RequestKind, call_back, kernel};
use nt_processor::layout::{FILE_OBJECT, UNICODE_STRING};
use nt_processor::memory::{Code, GuestPtr, OrStop as _};
use nt_verifier::routine::{DISPATCH, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{Kmdf, Rule};
use windows_constants::request::{IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE};

use crate::device::control;
use crate::device::init::FileEvents;
use crate::device::{Device, with_device};
use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::object::{self, life};
use crate::queue::{self, deliver, preprocess};
use crate::request::Request;
use crate::request::{self, client};
use crate::state::with;
use crate::{Handle, sync};

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfFileObjectGetDevice(file: Handle) -> Handle {
        with_file(file, |file| file.device)
    }

    #[irql(DISPATCH)]
    fn WdfFileObjectWdmGetFileObject(file: Handle) -> Outcome<GuestPtr<FILE_OBJECT>> {
        preprocess::file_object(with_file(file, |file| file.device), file)
    }

    #[irql(DISPATCH), fixed]
    fn WdfFileObjectGetFlags(file: Handle) -> u32 {
        with_file(file, |_| 0)
    }

    /// The name is empty if nothing follows the device's name.
    #[irql(DISPATCH)]
    fn WdfFileObjectGetFileName(file: Handle) -> GuestPtr<UNICODE_STRING> {
        with_file(file, |file| file.name)
    }

    #[irql(DISPATCH)]
    fn WdfFileObjectGetInitiatorProcessId(file: Handle) -> u32 {
        with_file(file, |file| file.process) as u32
    }
}

/// An open file.
#[derive(Clone, Copy, Debug)]
struct File {
    device: Handle,
    /// The part of the name that follows the device's name; NULL if the driver does not use file objects.
    name: GuestPtr<UNICODE_STRING>,
    /// The process that opened it.
    process: u64,
}

impl Kind for File {
    fn name(&self) -> &'static str {
        "file object"
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn free(&self) {
        if let Some(name) = self.name.non_null() {
            nt_kernel::lock(&kernel().pool).free_object(name.address());
        }
    }
}

fn with_file<R>(handle: Handle, look: impl FnOnce(&File) -> R) -> R {
    if handle.is_null() {
        let what = format_args!(
            "bug check 0x10D: no file object; WdfDeviceInitSetFileObjectConfig makes the framework create it"
        );
        object::stop(Rule::FrameworkMisuse.named(Kmdf::FileObjectConfigured), what);
    }
    object::part(handle, |file: &mut File| look(file))
}

/// Opens a device. `name` is the part of the name that follows the device's name. Returns the file object, which a driver
/// that does not use file objects never sees. Fails with the status of the driver if the driver refuses.
pub fn open(device: Handle, name: &str) -> Outcome<Handle> {
    if !object::exists(device) || with_device(device, |device| device.goes_when_closed) {
        return fail(NtStatus::NoSuchDevice);
    }
    let refused = with_device(device, |device| {
        let refused = device.init.exclusive && device.opened > 0;
        device.opened += u32::from(!refused);
        refused
    });
    if refused {
        return fail(NtStatus::AccessDenied);
    }
    open_file(device, name).inspect_err(|_| with_device(device, |device| device.opened -= 1))
}

/// Returns why a device cannot be opened, or `None` if only the driver can refuse.
pub fn why_not_opened(device: Handle) -> Option<&'static str> {
    if !object::exists(device) {
        return Some(file_object::GONE);
    }
    with_device(device, |device| device.init.exclusive && device.opened > 0).then_some(file_object::IN_USE)
}

fn open_file(device: Handle, name: &str) -> Outcome<Handle> {
    let events = with_device(device, |device| device.init.file);
    let (attributes, name) = match events {
        Some(events) => (events.attributes, new_string(name)?),
        None => (Attributes::default(), GuestPtr::NULL),
    };
    let file =
        object::create_with(0, &attributes, Some(device), File { device, name, process: process::current_id() })?;
    let status = preprocess::through(device, (IRP_MJ_CREATE, 0), file, move || match events {
        Some(events) => create(device, file, events.create).unwrap_or(NtStatus::InsufficientResources),
        None => NtStatus::Success,
    })?;
    if status.is_success() {
        return Ok(file);
    }
    life::delete(file);
    fail(status)
}

/// Notifies the driver that a file is opened: with a request in the queue for create requests, or else with the
/// callback.
fn create(device: Handle, file: Handle, callback: GuestPtr<Code>) -> Outcome<NtStatus> {
    let queue = with_device(device, |device| {
        device.dispatching.iter().find(|(kind, _)| *kind == RequestKind::CREATE).map(|(_, queue)| *queue)
    });
    if callback.is_null() && queue.is_none() {
        return Ok(NtStatus::Success);
    }
    let kind = RequestKind::CREATE;
    let mut data = Request { kind, received: kind, file, awaited: true, ..Request::default() };
    if queue.is_none() {
        (data.presented, data.delivered, data.handler) = (true, true, callback.address());
    }
    let request = request::create(device, data)?;
    if queue.is_none() {
        sync::locked(scope(device), PASSIVE, |irql| {
            call_back("EvtDeviceFileCreate", irql, callback, &[device.as_int(), request.as_int(), file.as_int()])
        });
    } else {
        deliver::submit(device, request, RequestKind::CREATE);
    }
    Ok(client::wait(request).status)
}

/// Closes a file: sends the cleanup of the last handle, and the close as soon as none of its requests is left.
pub fn close(device: Handle, file: Handle) {
    if !object::exists(device) || !object::exists(file) {
        return;
    }
    let status = preprocess::through(device, (IRP_MJ_CLEANUP, 0), file, move || {
        notify(device, file, "EvtFileCleanup", |events| events.cleanup);
        // As in `FxPkgGeneral::OnCleanup` (`shared/irphandlers/general/fxpkggeneral.cpp`). The driver ends the requests
        // that it has.
        queue::state::cancel_waiting(device, file);
        NtStatus::Success
    });
    status.or_stop();
    with_device(device, |device| device.closing += 1);
    close_when_unused(device, file);
}

/// Sends the close of the last reference: each request has one to its file.
fn close_when_unused(device: Handle, file: Handle) {
    if begin_close(device) {
        continue_close(device, file);
    }
}

/// Keeps a device from being deleted until `continue_close` ends. Returns `false` if the deletion of the device begins, which
/// deletes the file as well.
fn begin_close(device: Handle) -> bool {
    with(|framework| {
        let Some(device) = framework.living::<Device>(device).filter(|device| !device.is_going) else { return false };
        device.closes += 1;
        true
    })
}

fn continue_close(device: Handle, file: Handle) {
    let request = request::through_file(file);
    if request.is_none() {
        let status = preprocess::through(device, (IRP_MJ_CLOSE, 0), file, move || {
            notify(device, file, "EvtFileClose", |events| events.close);
            NtStatus::Success
        });
        status.or_stop();
        life::delete(file);
    }
    with_device(device, |device| {
        device.closes -= 1;
        if request.is_none() {
            (device.opened, device.closing) = (device.opened - 1, device.closing - 1);
        }
    });
    control::closed(device);
    kernel().scheduler.change(|_| ());
    if let Some(request) = request {
        // Not in the thread that completes the request, which may hold locks of the driver.
        deliver::then(request, move || {
            if begin_close(device) {
                submit(file.as_int(), move || continue_close(device, file));
            }
        });
    }
}

/// Waits until no file of a device is being closed, and lets none begin. Called before a device is deleted: the callbacks
/// of its removal may have ended the last requests of its files.
pub(crate) fn end_closes(device: Handle) {
    let Kernel { config, scheduler, .. } = kernel();
    let soon = scheduler.now() + config.give_up_after();
    let is_over = || {
        with_device(device, |device| {
            device.is_going |= device.closes == 0;
            device.is_going
        })
    };
    let _ = scheduler.wait(Some(soon), |_| is_over().then_some(()));
}

/// Waits until the files that were closed are gone. Called before a device is removed, when its clients have closed their
/// files and ended their requests.
pub(crate) fn wait_until_closed(device: Handle) {
    let Kernel { config, scheduler, .. } = kernel();
    let soon = scheduler.now() + config.give_up_after();
    let is_over = || !object::exists(device) || with_device(device, |device| device.closing == 0);
    // A request that the driver keeps is already reported.
    let _ = scheduler.wait(Some(soon), |_| is_over().then_some(()));
}

/// Calls a callback about a file, if the driver has set it.
fn notify(device: Handle, file: Handle, name: &'static str, select: fn(&FileEvents) -> GuestPtr<Code>) {
    let callback = with_device(device, |device| device.init.file.as_ref().map(select)).unwrap_or_default();
    if !callback.is_null() {
        sync::locked(scope(device), PASSIVE, |irql| call_back(name, irql, callback, &[file.as_int()]));
    }
}

/// Returns the device if file callbacks run under its lock. They do so only if the device's callbacks run at passive
/// level, because file callbacks always run at passive level.
fn scope(device: Handle) -> Option<Handle> {
    sync::holder_for(device).filter(|device| object::is_passive(*device))
}
