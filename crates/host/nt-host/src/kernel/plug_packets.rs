//! Devices of drivers that take IRPs.

use etw_types::NtStatus;

use super::packet_client::{self, Packet, Submission, send};
use super::plug::{Outcome, WRITE};
use super::routine::PASSIVE;
use super::{call_back, device_stack, devices, kernel, lock, mdl, plug};
use crate::memory::guest;
use crate::wdf::Asked;

/// Major functions.
const CREATE: u8 = 0x00;
const CLOSE: u8 = 0x02;
const CLEANUP: u8 = 0x12;
const POWER: u8 = 0x16;
const PNP: u8 = 0x1B;
/// Minor functions of plug and play.
const START_DEVICE: u8 = 0x00;
const QUERY_REMOVE: u8 = 0x01;
const REMOVE_DEVICE: u8 = 0x02;
const CANCEL_REMOVE: u8 = 0x03;
const SURPRISE_REMOVAL: u8 = 0x17;
/// Minor functions of power.
const SET_POWER: u8 = 2;
const QUERY_POWER: u8 = 3;
/// `PowerSystemWorking`, `PowerSystemSleeping3`.
const WORKING: u64 = 1;
const SLEEPING: u64 = 4;
/// `FILE_OBJECT` has 0xD8 bytes.
const FILE_SIZE: u64 = 0xD8;
/// `DO_BUFFERED_IO`, `DO_DIRECT_IO`.
const BUFFERED: u32 = 4;
const DIRECT: u32 = 16;

fn tell(device: u64, major: u8, minor: u8, parameters: [u64; 4]) -> Result<(), NtStatus> {
    let submission = Submission { major, minor, parameters, ..Submission::default() };
    NtStatus::from_int(send(device, &submission).status).ok()
}

/// Finds a device for the driver and starts it, or one that the driver made by itself.
pub(super) fn add_device() -> Result<u64, NtStatus> {
    let driver = lock(&kernel().io).driver;
    let routine = devices::add_device_routine(driver);
    if routine == 0 {
        return devices::find(None).ok_or(NtStatus::NoSuchDevice);
    }
    let physical = device_stack::new_physical_device();
    let status = call_back("AddDevice", PASSIVE, routine, &[driver, physical]) as u32;
    let found = || device_stack::above(physical).or_else(|| devices::find(None)).ok_or(NtStatus::NoSuchDevice);
    let device = NtStatus::from_int(status).ok().and_then(|()| found());
    let device = device.inspect_err(|_| device_stack::forget(physical))?;
    if let Err(status) = tell(device, PNP, START_DEVICE, [0; 4]) {
        // A device that does not start is taken away again.
        let _ = tell(device, PNP, REMOVE_DEVICE, [0; 4]);
        device_stack::forget(physical);
        return Err(status);
    }
    Ok(device)
}

/// The devices that the driver put above devices of the bus.
pub(super) fn stacks() -> Vec<u64> {
    device_stack::physical().into_iter().filter_map(device_stack::above).collect()
}

/// Takes a device away. A device that the driver made by itself is its own affair.
pub(super) fn remove_device(device: u64, surprise: bool) -> Result<(), NtStatus> {
    let driver = lock(&kernel().io).driver;
    if devices::add_device_routine(driver) == 0 || !devices::exists(device) {
        return Ok(());
    }
    if surprise {
        let _ = tell(device, PNP, SURPRISE_REMOVAL, [0; 4]);
    } else if let Err(status) = tell(device, PNP, QUERY_REMOVE, [0; 4]) {
        let _ = tell(device, PNP, CANCEL_REMOVE, [0; 4]);
        return Err(status);
    }
    plug::close_all(device);
    let below = device_stack::below(device);
    let _ = tell(device, PNP, REMOVE_DEVICE, [0; 4]);
    below.into_iter().for_each(device_stack::forget);
    Ok(())
}

/// Tells the driver that the system goes to sleep or wakes up. What its device does then is for the driver to ask for.
pub(super) fn set_power(device: u64, on: bool) -> Result<(), NtStatus> {
    if !devices::exists(device) {
        return Err(NtStatus::NoSuchDevice);
    }
    if on {
        return tell(device, POWER, SET_POWER, [0, 0, WORKING, 0]);
    }
    tell(device, POWER, QUERY_POWER, [0, 0, SLEEPING, 0])?;
    tell(device, POWER, SET_POWER, [0, 0, SLEEPING, 0])
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) device: u64,
    file: u64,
    packet: Packet,
    buffers: Buffers,
    room: u32,
}

impl Sent {
    pub(super) fn cancel(&self) {
        self.packet.cancel();
    }
}

/// Opens a device and sends it a request.
pub(super) fn begin(device: u64, asked: &Asked) -> Result<Sent, Outcome> {
    if !devices::exists(device) {
        return Err(Outcome { status: NtStatus::NoSuchDevice.as_int(), ..Outcome::default() });
    }
    let file = lock(&kernel().pool).object(FILE_SIZE);
    guest::write(file, 5_u16);
    guest::write(file + 2, FILE_SIZE as u16);
    guest::write(file + 8, device);
    let status = send(device, &Submission { major: CREATE, file, ..Submission::default() }).status;
    if !NtStatus::from_int(status).is_success() {
        lock(&kernel().pool).free_object(file);
        return Err(Outcome { status, ..Outcome::default() });
    }
    let control = asked.kind == plug::CONTROL;
    let method = if control { asked.code & 3 } else { transfer_method(device) };
    let room = if control { asked.output } else { asked.output.max(asked.input.len() as u32) };
    let input = if control || method == 0 { asked.input.as_slice() } else { &[] };
    let buffers = Buffers::new(method, input, room);
    if !control && method != 0 {
        guest::put(buffers.output, &asked.input);
    }
    let neither = if control && method == 3 { buffers.system } else { 0 };
    let parameters = if control {
        [room.into(), asked.input.len() as u64, asked.code.into(), neither]
    } else {
        [room.into(), 0, 0, 0]
    };
    let submission = Submission {
        major: asked.kind as u8,
        minor: 0,
        parameters,
        system_buffer: if neither == 0 { buffers.system } else { 0 },
        user_buffer: buffers.user,
        mdl: buffers.mdl,
        file,
    };
    let packet = packet_client::begin(device, &submission);
    let room = if asked.kind == WRITE { 0 } else { room };
    Ok(Sent { device, file, packet, buffers, room })
}

/// How reads and writes of a device pass their data.
fn transfer_method(device: u64) -> u32 {
    match guest::read::<u32>(device + devices::FLAGS) {
        flags if flags & BUFFERED != 0 => 0,
        flags if flags & DIRECT != 0 => 2,
        _ => 3,
    }
}

/// Waits for the end of a request and closes the file.
pub(super) fn finish(sent: Sent) -> Outcome {
    let end = packet_client::finish(sent.packet);
    if devices::exists(sent.device) {
        for major in [CLEANUP, CLOSE] {
            send(sent.device, &Submission { major, file: sent.file, ..Submission::default() });
        }
    }
    lock(&kernel().pool).free_object(sent.file);
    sent.buffers.finish(end.status, end.information, sent.room)
}

/// Buffers as a request's method wants them: where its data lies, and what to free.
#[derive(Debug)]
struct Buffers {
    system: u64,
    user: u64,
    mdl: u64,
    /// Where the output is.
    output: u64,
}

impl Buffers {
    /// `METHOD_BUFFERED` 0, `METHOD_IN_DIRECT` 1, `METHOD_OUT_DIRECT` 2, `METHOD_NEITHER` 3.
    fn new(method: u32, input: &[u8], output: u32) -> Self {
        let mut pool = lock(&kernel().pool);
        let mut buffers = Self { system: 0, user: 0, mdl: 0, output: 0 };
        let both = (input.len() as u64).max(if method == 0 { output.into() } else { 0 });
        if both != 0 {
            buffers.system = pool.object(both);
            guest::put(buffers.system, input);
        }
        buffers.output = buffers.system;
        if method != 0 && output != 0 {
            buffers.output = pool.object(output.into());
            buffers.user = buffers.output;
        }
        if matches!(method, 1 | 2) && output != 0 {
            buffers.mdl = pool.object(0x30 + u64::from(output).div_ceil(4096) * 8 + 8);
            mdl::describe(buffers.mdl, buffers.output, output);
        }
        buffers
    }

    fn finish(self, status: u32, information: u64, room: u32) -> Outcome {
        let failed = status & 0xC000_0000 == 0xC000_0000;
        let length = if failed { 0 } else { information.min(room.into()) };
        let output = if self.output == 0 { Vec::new() } else { guest::bytes(self.output, length) };
        let mut pool = lock(&kernel().pool);
        let second = if self.output == self.system { 0 } else { self.output };
        for address in [self.system, second, self.mdl].into_iter().filter(|address| *address != 0) {
            pool.free_object(address);
        }
        Outcome { status, information, output }
    }
}
