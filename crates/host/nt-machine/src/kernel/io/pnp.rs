//! Devices of drivers that handle IRPs: plug and play, power, and the requests of clients.

use etw_types::NtStatus;

use super::build::{BUFFERED_IO, DIRECT_IO};
use super::client::{self, Completion, Mode, Packet, Submission, send};
use super::request::call_driver;
use super::request::{PNP, POWER, dispatch_routine};
use super::{device, mdl, relations, resources, stack, work};
use crate::kernel::{Answer, IoRequest, RequestKind, call_back, kernel, lock};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT, IRP, MDL};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{Failure, Outcome, PASSIVE, fail};
use crate::verify::GapKind;
use crate::verify::gap;

/// The minor functions of `IRP_MJ_PNP`.
pub(super) const START_DEVICE: u8 = 0x00;
pub(super) const QUERY_REMOVE: u8 = 0x01;
pub(super) const REMOVE_DEVICE: u8 = 0x02;
pub(super) const CANCEL_REMOVE: u8 = 0x03;
pub(super) const CANCEL_STOP: u8 = 0x06;
pub(crate) const QUERY_DEVICE_RELATIONS: u8 = 0x07;
pub(crate) const QUERY_INTERFACE: u8 = 0x08;
pub(super) const QUERY_CAPABILITIES: u8 = 0x09;
const QUERY_PNP_DEVICE_STATE: u8 = 0x14;
pub(super) const SURPRISE_REMOVAL: u8 = 0x17;
/// `PNP_DEVICE_FAILED`, `PNP_DEVICE_REMOVED`.
const FAILED: u64 = 4;
const REMOVED: u64 = 8;
/// The minor functions of `IRP_MJ_POWER`.
const SET_POWER: u8 = 2;
const QUERY_POWER: u8 = 3;
/// `PowerSystemWorking`, `PowerSystemSleeping3`.
const WORKING: u64 = 1;
const SLEEPING: u64 = 4;

type Object = GuestPtr<DEVICE_OBJECT>;

pub(super) fn tell(device: Object, major: u8, minor: u8, parameters: [u64; 4]) -> Outcome {
    let submission = Submission { major, minor, parameters, ..Submission::default() };
    Ok(device::hold(device, || send(device, &submission))?.status.ok()?)
}

/// Sends `IRP_MN_QUERY_INTERFACE` to a device, with the parameters of its stack location.
pub(crate) fn query_interface(device: Object, parameters: [u64; 4]) -> Outcome {
    tell(device, PNP, QUERY_INTERFACE, parameters)
}

/// Sends a plug-and-play request that the driver cannot refuse.
pub(super) fn announce(device: Object, minor: u8) -> Result<(), Fault> {
    let submission = Submission { major: PNP, minor, ..Submission::default() };
    device::hold(device, || send(device, &submission)).map(drop)
}

/// The right to add, remove or power a device. Windows has one thread for Plug and Play.
struct Turn;

impl Turn {
    fn take() -> Self {
        kernel().scheduler.wait(None, |_| (!std::mem::replace(&mut lock(&kernel().io).is_busy, true)).then_some(()));
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&kernel().io).is_busy = false;
        kernel().scheduler.change(|_| ());
    }
}

/// What a driver can ask the Plug and Play manager to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// `IoInvalidateDeviceState`: asks the device for its state. If it has failed or is gone, removes it by surprise.
    State,
    /// `IoInvalidateDeviceRelations`: asks the device for its children.
    Children,
}

/// `IoInvalidateDeviceState`. Does nothing for devices of the framework, which has `WdfDeviceSetFailed`.
pub(super) fn invalidate_state(physical: Object) {
    schedule(physical, Action::State);
}

/// `IoInvalidateDeviceRelations`.
pub(super) fn invalidate_relations(physical: Object, kind: u32) {
    /// `BusRelations`. The manager has no use for the others.
    const BUS: u32 = 0;
    if kind == BUS {
        schedule(physical, Action::Children);
    }
}

/// `IoRequestDeviceEject`: another thread removes the device, unless its driver refuses.
pub(super) fn eject(physical: Object) {
    work::submit(physical.address(), move || {
        if relations::is_child(physical) {
            let _turn = Turn::take();
            let _ = relations::eject(physical);
        } else if device::exists(physical)
            && let Ok(Some(device)) = stack::above(physical)
        {
            let _ = remove_device(device, false, || (kernel().close_clients)(device));
        }
    });
}

/// Makes another thread perform an action, after what is happening to devices now. If the device sleeps, the action is
/// performed when it wakes up: Windows sends no plug-and-play requests while the system sleeps.
fn schedule(physical: Object, action: Action) {
    work::submit(physical.address(), move || {
        let failed = || -> Outcome<Option<Object>> {
            let _turn = Turn::take();
            let device = if device::exists(physical) { stack::above(physical)? } else { None };
            let Some(device) = device else { return Ok(None) };
            if lock(&kernel().io).asleep.contains(&device) {
                lock(&kernel().io).postponed.push((physical, action));
                return Ok(None);
            }
            match action {
                Action::State => Ok(has_failed(device)?.then_some(device)),
                Action::Children => relations::enumerate(physical).map(|()| None).map_err(Failure::from),
            }
        };
        if let Ok(Some(device)) = failed() {
            let _ = remove_device(device, true, || (kernel().close_clients)(device));
        }
    });
}

/// Asks a device for its state (`IRP_MN_QUERY_PNP_DEVICE_STATE`). Returns whether it has failed or is gone.
fn has_failed(device: Object) -> Result<bool, Fault> {
    let submission = Submission { major: PNP, minor: QUERY_PNP_DEVICE_STATE, ..Submission::default() };
    let Completion { status, information, .. } = device::hold(device, || send(device, &submission))?;
    Ok(status.is_success() && information & (FAILED | REMOVED) != 0)
}

/// Calls `AddDevice` and starts the device. For a driver without `AddDevice`, returns the first device that it created.
/// A device that is not added or does not start is a gap of the run.
pub(crate) fn add_device() -> Outcome<Object> {
    let _turn = Turn::take();
    let driver = lock(&kernel().io).driver;
    let Some(routine) = device::add_device_routine(driver)? else {
        return device::first().ok_or(NtStatus::NoSuchDevice.into());
    };
    let physical = stack::new_physical_device()?;
    let status = call_back("AddDevice", PASSIVE, routine, &[driver.address(), physical.address()]) as u32;
    let status = NtStatus::from_int(status);
    let Some(device) = stack::above(physical)?.filter(|_| status.is_success()) else {
        stack::forget(physical)?;
        if !status.is_success() {
            gap::add(GapKind::NotAdded, format!("AddDevice returned {status}"));
            return fail(status);
        }
        // Windows starts only a device that is attached to the physical device. Clients can open any other by its name.
        gap::add(GapKind::NotAdded, "AddDevice returned success without attaching a device".to_owned());
        return device::first().ok_or(NtStatus::NoSuchDevice.into());
    };
    resources::note_if_none();
    let lists = resources::lists()?;
    let [raw, translated] = lists.map(GuestPtr::address);
    let started = tell(device, PNP, START_DEVICE, [raw, translated, 0, 0]);
    resources::free(lists);
    if let Err(failure) = &started {
        if let Failure::Status(status) = failure {
            gap::add(GapKind::NotStarted, format!("IRP_MN_START_DEVICE was completed with {status}"));
        }
        // A device that fails to start is removed.
        announce(device, REMOVE_DEVICE)?;
        stack::forget(physical)?;
    }
    started?;
    // What Windows asks a device that has started.
    relations::query_capabilities(device)?;
    if has_failed(device)? {
        invalidate_state(physical);
    }
    relations::enumerate(physical)?;
    Ok(device)
}

/// Returns the devices that the driver attached above physical devices.
pub(crate) fn stacks() -> Result<Vec<Object>, Fault> {
    stack::physical().into_iter().filter_map(|physical| stack::above(physical).transpose()).collect()
}

/// Removes a device. `close` must make the clients finish their requests and close their files. Does nothing for a
/// driver without `AddDevice`, because such a driver deletes its devices itself.
pub(crate) fn remove_device(device: Object, surprise: bool, close: impl FnOnce()) -> Outcome {
    let _turn = Turn::take();
    let driver = lock(&kernel().io).driver;
    if device::add_device_routine(driver)?.is_none() || !device::exists(device) {
        return Ok(());
    }
    let Some(below) = stack::below(device)? else { return Ok(()) };
    if lock(&kernel().io).asleep.contains(&device) {
        // Devices do not come and go while the system sleeps, so it wakes up first.
        let _ = wake(device);
    }
    if surprise {
        relations::surprise(below)?;
        announce(device, SURPRISE_REMOVAL)?;
    } else {
        relations::query_remove(below, device)?;
    }
    close();
    relations::remove(below)?;
    announce(device, REMOVE_DEVICE)?;
    stack::forget(below).map_err(Failure::from)
}

/// Sends the system power IRPs for sleep or wake-up. The driver must request the device power IRPs itself.
pub(crate) fn set_power(device: Object, on: bool) -> Outcome {
    let _turn = Turn::take();
    if !device::exists(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    if on {
        return wake(device);
    }
    tell(device, POWER, QUERY_POWER, [0, 0, SLEEPING, 0])?;
    tell(device, POWER, SET_POWER, [0, 0, SLEEPING, 0])?;
    lock(&kernel().io).asleep.push(device);
    Ok(())
}

/// Wakes a device up, and performs the actions that were postponed meanwhile.
fn wake(device: Object) -> Outcome {
    let postponed = {
        let mut io = lock(&kernel().io);
        io.asleep.retain(|known| *known != device);
        std::mem::take(&mut io.postponed)
    };
    let woken = tell(device, POWER, SET_POWER, [0, 0, WORKING, 0]);
    for (physical, action) in postponed {
        schedule(physical, action);
    }
    woken
}

/// A request that was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    packet: Packet,
    buffers: Buffers,
    room: u32,
}

impl Sent {
    pub(crate) const fn packet(&self) -> Packet {
        self.packet
    }

    pub(crate) fn cancel(&self) -> Result<(), Fault> {
        self.packet.cancel()
    }
}

/// Sends a request to a device through an open file.
pub(crate) fn begin(device: Object, file: GuestPtr<FILE_OBJECT>, asked: &IoRequest, mode: Mode) -> Outcome<Sent> {
    if !device::is_in_memory(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let top = stack::top(device)?;
    let routine = dispatch_routine(top, asked.kind.as_int())?;
    begin_with(top, file, (asked, mode), routine, |irp| call_driver(top, irp))
}

/// Creates a request for a device and calls `deliver`, which must pass it to `routine`.
pub(crate) fn begin_with(
    device: Object,
    file: GuestPtr<FILE_OBJECT>,
    (asked, mode): (&IoRequest, Mode),
    routine: GuestPtr<Code>,
    deliver: impl FnOnce(GuestPtr<IRP>) -> Result<NtStatus, Fault>,
) -> Outcome<Sent> {
    let control = asked.kind.has_code();
    let method = if control { asked.code & 3 } else { transfer_method(device)? };
    let room = if control { asked.output } else { asked.output.max(asked.input.len() as u32) };
    let input = if control || method == 0 { asked.input.as_slice() } else { &[] };
    let buffers = Buffers::new(method, input, room)?;
    if !control && method != 0 {
        buffers.output.write_all(&asked.input)?;
    }
    let neither = control && method == 3;
    let parameters = if control {
        let type3 = if neither { buffers.system.address() } else { 0 };
        [room.into(), asked.input.len() as u64, asked.code.into(), type3]
    } else {
        [room.into(), 0, 0, 0]
    };
    let submission = Submission {
        major: asked.kind.as_int(),
        minor: 0,
        // Programs cannot send internal requests.
        mode: if asked.kind == RequestKind::INTERNAL_DEVICE_CONTROL { Mode::Kernel } else { mode },
        parameters,
        system_buffer: if neither { GuestPtr::NULL } else { buffers.system },
        user_buffer: buffers.user,
        mdl: buffers.mdl,
        file,
    };
    let packet = client::begin_with(device, &submission, routine, deliver)?;
    let room = if asked.kind == RequestKind::WRITE { 0 } else { room };
    Ok(Sent { packet, buffers, room })
}

/// Returns the `METHOD_…` with which reads and writes of a device pass their data.
fn transfer_method(device: Object) -> Result<u32, Fault> {
    Ok(match device.Flags().read()? {
        flags if flags & BUFFERED_IO != 0 => 0,
        flags if flags & DIRECT_IO != 0 => 2,
        _ => 3,
    })
}

/// Waits until a request is completed, and frees its buffers.
pub(crate) fn finish(sent: Sent) -> Result<Answer, Fault> {
    let end = client::finish(sent.packet)?;
    sent.buffers.finish(end, sent.room)
}

/// The buffers of a request, as its transfer method requires them.
#[derive(Debug, Default)]
struct Buffers {
    system: GuestPtr<u8>,
    user: GuestPtr<u8>,
    mdl: GuestPtr<MDL>,
    /// The output buffer; the same as `system` if the method is buffered.
    output: GuestPtr<u8>,
}

impl Buffers {
    /// Allocates the buffers. `method` is `METHOD_BUFFERED` (0), `METHOD_IN_DIRECT` (1), `METHOD_OUT_DIRECT` (2) or
    /// `METHOD_NEITHER` (3).
    fn new(method: u32, input: &[u8], output: u32) -> Outcome<Self> {
        let mut buffers = Self::default();
        let allocated = buffers.allocate(method, input, output);
        if allocated.is_err() {
            buffers.free();
        }
        allocated.map(|()| buffers)
    }

    fn allocate(&mut self, method: u32, input: &[u8], output: u32) -> Outcome {
        let both = (input.len() as u64).max(if method == 0 { output.into() } else { 0 });
        if both != 0 {
            self.system = lock(&kernel().pool).try_new_objects(both)?;
            self.system.write_all(input)?;
        }
        self.output = self.system;
        if method != 0 && output != 0 {
            self.output = lock(&kernel().pool).try_new_objects(output.into())?;
            self.user = self.output;
        }
        if matches!(method, 1 | 2) && output != 0 {
            self.mdl = mdl::describe(self.output, output)?;
        }
        Ok(())
    }

    fn free(&self) {
        let mut pool = lock(&kernel().pool);
        let second = if self.output == self.system { 0 } else { self.output.address() };
        for address in [self.system.address(), second, self.mdl.address()].into_iter().filter(|address| *address != 0) {
            pool.free_object(address);
        }
    }

    fn finish(self, Completion { status, information, reached }: Completion, room: u32) -> Result<Answer, Fault> {
        let length = if status.is_error() || self.output.is_null() { 0 } else { information.min(room.into()) };
        let output = self.output.array(length).read()?;
        self.free();
        Ok(Answer { status, information, output, reached })
    }
}
