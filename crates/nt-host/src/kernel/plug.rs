//! Devices as a client sees them: they come, take requests, and go.
//!
//! What happens in the kernel for it depends on the driver: one of the framework's is served by [`crate::wdf`], any other
//! gets IRPs.

use etw_types::NtStatus;

use super::devices;
use super::io::{self, Submission};
use super::routine::PASSIVE;
use super::{call_back, kernel, lock, mdl};
use crate::memory::guest;
use crate::wdf;

/// What came of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: u32,
    pub(crate) information: u64,
    pub(crate) output: Vec<u8>,
}

const CREATE: u8 = 0x00;
const CLOSE: u8 = 0x02;
const READ: u8 = 0x03;
const WRITE: u8 = 0x04;
const DEVICE_CONTROL: u8 = 0x0E;
const CLEANUP: u8 = 0x12;
const PNP: u8 = 0x1B;
const START_DEVICE: u8 = 0;
const QUERY_REMOVE: u8 = 1;
const REMOVE_DEVICE: u8 = 2;
/// `FILE_OBJECT` has 0xD8 bytes.
const FILE_SIZE: u64 = 0xD8;
/// `DO_BUFFERED_IO`, `DO_DIRECT_IO`.
const BUFFERED: u32 = 4;
const DIRECT: u32 = 16;

/// Finds a device for the driver, and starts it: by plug and play, or one that the driver made by itself.
pub(crate) fn add_device() -> Result<u64, NtStatus> {
    if wdf::is_bound() {
        return wdf::add_device();
    }
    let driver = lock(&kernel().io).driver;
    let routine = devices::add_device_routine(driver);
    if routine == 0 {
        return devices::find(None).ok_or(NtStatus::NoSuchDevice);
    }
    let physical = devices::new_physical_device();
    let status = call_back("AddDevice", PASSIVE, routine, &[driver, physical]) as u32;
    NtStatus::from_int(status).ok()?;
    let device = devices::find(None).ok_or(NtStatus::NoSuchDevice)?;
    let start = Submission { major: PNP, minor: START_DEVICE, ..Submission::default() };
    NtStatus::from_int(io::send(device, &start).status).ok()?;
    Ok(device)
}

/// Takes a device away.
pub(crate) fn remove_device(device: u64) {
    if wdf::is_bound() {
        return wdf::remove_device(device);
    }
    let driver = lock(&kernel().io).driver;
    if devices::add_device_routine(driver) == 0 {
        return;
    }
    for minor in [QUERY_REMOVE, REMOVE_DEVICE] {
        io::send(device, &Submission { major: PNP, minor, ..Submission::default() });
    }
}

/// Opens the device, sends a request, closes it again.
fn with_file(device: u64, request: impl FnOnce(u64) -> Outcome) -> Outcome {
    let file = lock(&kernel().pool).object(FILE_SIZE);
    guest::write(file, 5_u16);
    guest::write(file + 2, FILE_SIZE as u16);
    guest::write(file + 8, device);
    let send = |major| io::send(device, &Submission { major, file, ..Submission::default() }).status;
    let opened = send(CREATE);
    let outcome = if NtStatus::from_int(opened).is_success() {
        let outcome = request(file);
        send(CLEANUP);
        send(CLOSE);
        outcome
    } else {
        Outcome { status: opened, ..Outcome::default() }
    };
    lock(&kernel().pool).free_object(file);
    outcome
}

/// Buffers as a request's method wants them: where its data lies, and what to free.
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

/// A control request.
pub(crate) fn ioctl(device: u64, code: u32, input: &[u8], output: u32) -> Outcome {
    if wdf::is_bound() {
        return wdf::ioctl(device, code, input, output);
    }
    with_file(device, |file| {
        let method = code & 3;
        let buffers = Buffers::new(method, input, output);
        let submission = Submission {
            major: DEVICE_CONTROL,
            parameters: [output.into(), input.len() as u64, code.into(), if method == 3 { buffers.system } else { 0 }],
            system_buffer: if method == 3 { 0 } else { buffers.system },
            user_buffer: buffers.user,
            mdl: buffers.mdl,
            file,
            ..Submission::default()
        };
        let end = io::send(device, &submission);
        buffers.finish(end.status, end.information, output)
    })
}

/// A read request.
pub(crate) fn read(device: u64, length: u32) -> Outcome {
    transfer(device, READ, &[], length)
}

/// A write request.
pub(crate) fn write(device: u64, data: &[u8]) -> Outcome {
    transfer(device, WRITE, data, 0)
}

fn transfer(device: u64, major: u8, data: &[u8], output: u32) -> Outcome {
    if wdf::is_bound() {
        return wdf::transfer(device, major == WRITE, data, output);
    }
    with_file(device, |file| {
        let flags: u32 = guest::read(device + devices::FLAGS);
        let length = output.max(data.len() as u32);
        let method = match flags {
            flags if flags & BUFFERED != 0 => 0,
            flags if flags & DIRECT != 0 => 2,
            _ => 3,
        };
        let buffers = Buffers::new(method, if method == 0 { data } else { &[] }, length);
        if method != 0 {
            guest::put(buffers.output, data);
        }
        let submission = Submission {
            major,
            parameters: [length.into(), 0, 0, 0],
            system_buffer: buffers.system,
            user_buffer: buffers.user,
            mdl: buffers.mdl,
            file,
            ..Submission::default()
        };
        let end = io::send(device, &submission);
        buffers.finish(end.status, end.information, output)
    })
}
