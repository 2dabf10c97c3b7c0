//! IRPs that drivers build: to other devices, with buffers, and to devices' power.

use super::io::{POWER, Request, call_driver};
use super::packet::{irp, location, new_irp};
use super::routine::{APC, Call, DISPATCH, PASSIVE, Routine, routine};
use super::{call_back, device_stack, devices, kernel, lock, mdl, pool};
use crate::cpu::thread;
use crate::memory::guest;

const NOT_SUPPORTED: u32 = 0xC000_00BB;
const INVALID_PARAMETER: u64 = 0xC000_000D;
const PENDING: u64 = 0x103;
const READ: u32 = 3;
const WRITE: u32 = 4;
const DEVICE_CONTROL: u8 = 0x0E;
const INTERNAL_CONTROL: u8 = 0x0F;
/// `DevicePowerState`.
const DEVICE_STATE: u64 = 1;

pub(super) const ROUTINES: &[Routine] = &[
    routine("IoAllocateIrp", DISPATCH, |call| allocate(call.u8(0), call.from)).fails_with_zero(),
    // Arguments: packet, size, stack locations.
    routine("IoInitializeIrp", DISPATCH, |call| {
        super::packet::initialize(call.arg(0), call.u8(2));
        lock(&kernel().io).requests.insert(call.arg(0), Request::default());
        0
    }),
    routine("IoFreeIrp", DISPATCH, |call| {
        free(call.arg(0));
        0
    }),
    routine("IoReuseIrp", DISPATCH, |call| {
        let request = call.arg(0);
        super::packet::initialize(request, guest::read(request + irp::STACK_COUNT));
        guest::write(request + irp::STATUS, call.u32(1));
        lock(&kernel().io).requests.insert(request, Request::default());
        0
    }),
    routine("IoBuildDeviceIoControlRequest", PASSIVE, build_control).fails_with_zero(),
    routine("IoBuildSynchronousFsdRequest", PASSIVE, |call| build_transfer(call, true)).fails_with_zero(),
    routine("IoBuildAsynchronousFsdRequest", DISPATCH, |call| build_transfer(call, false)).fails_with_zero(),
    // Arguments: device, packet, routine, context, on success, on error, on cancel.
    routine("IoSetCompletionRoutineEx", DISPATCH, |call| {
        let next = guest::read::<u64>(call.arg(1) + irp::CURRENT_STACK) - location::SIZE;
        let bit = |index: u64, bit: u8| if call.is(index) { bit } else { 0 };
        guest::write(next + location::COMPLETION, call.arg(2));
        guest::write(next + location::CONTEXT, call.arg(3));
        guest::write(next + location::CONTROL, bit(4, 0x40) | bit(5, 0x80) | bit(6, 0x20));
        0
    })
    .fails(super::routine::NO_RESOURCES),
    routine("PoRequestPowerIrp", DISPATCH, request_power).fails(super::routine::NO_RESOURCES),
    routine("PoStartNextPowerIrp", DISPATCH, |_| 0),
    routine("IoGetRequestorProcess", APC, |_| super::threads::process()),
];

fn allocate(stack: u8, from: u64) -> u64 {
    let request = new_irp(stack, from);
    if request != 0 {
        lock(&kernel().io).requests.insert(request, Request::default());
    }
    request
}

/// Frees a packet.
pub(super) fn free(request: u64) {
    lock(&kernel().io).requests.remove(&request);
    pool::free(request, None);
}

/// A packet for a device, with its first location's major function and parameters.
fn packet(call: &Call, device: u64, major: u8, parameters: [u64; 4]) -> u64 {
    let request = allocate(guest::read(device + devices::STACK_SIZE), call.from);
    if request != 0 {
        let next = guest::read::<u64>(request + irp::CURRENT_STACK) - location::SIZE;
        guest::write(next + location::MAJOR, major);
        for (index, parameter) in (0..).zip(parameters) {
            guest::write(next + location::PARAMETERS + index * 8, parameter);
        }
    }
    request
}

/// Arguments: code, device, input, its length, output, its length, whether internal, event, status block.
fn build_control(call: &Call) -> u64 {
    let (code, device) = (call.u32(0), call.arg(1));
    let (input, input_size) = (call.arg(2), u64::from(call.u32(3)));
    let (output, output_size) = (call.arg(4), u64::from(call.u32(5)));
    let major = if call.is(6) { INTERNAL_CONTROL } else { DEVICE_CONTROL };
    let method = code & 3;
    let type3 = if method == 3 { input } else { 0 };
    let request = packet(call, device, major, [output_size, input_size, code.into(), type3]);
    if request == 0 {
        return 0;
    }
    let mut pool = lock(&kernel().pool);
    let system = match method {
        0 => input_size.max(output_size),
        3 => 0,
        _ => input_size,
    };
    if system != 0 {
        let buffer = pool.object(system);
        guest::copy(buffer, input, input_size);
        guest::write(request + irp::SYSTEM_BUFFER, buffer);
    }
    if matches!(method, 1 | 2) && output_size != 0 {
        let list = pool.object(0x30 + output_size.div_ceil(4096) * 8 + 8);
        mdl::describe(list, output, output_size as u32);
        guest::write(request + irp::MDL, list);
    }
    drop(pool);
    let built = Built { copy: if method == 0 { Some((output, output_size)) } else { None }, synchronous: true };
    own(request, built, output, call.arg(7), call.arg(8))
}

/// Arguments: major function, device, buffer, length, place of the offset, then event (if synchronous) and status block.
fn build_transfer(call: &Call, synchronous: bool) -> u64 {
    let (major, device, buffer, length) = (call.u32(0), call.arg(1), call.arg(2), u64::from(call.u32(3)));
    let offset = if call.arg(4) == 0 { 0 } else { guest::read(call.arg(4)) };
    let parameters = if matches!(major, READ | WRITE) { [length, 0, offset, 0] } else { [0; 4] };
    let request = packet(call, device, major as u8, parameters);
    if request == 0 {
        return 0;
    }
    let flags: u32 = guest::read(device + devices::FLAGS);
    let mut copy = None;
    if matches!(major, READ | WRITE) && length != 0 {
        let mut pool = lock(&kernel().pool);
        if flags & 4 != 0 {
            let system = pool.object(length);
            guest::write(request + irp::SYSTEM_BUFFER, system);
            if major == WRITE {
                guest::copy(system, buffer, length);
            } else {
                copy = Some((buffer, length));
            }
        } else if flags & 16 != 0 {
            let list = pool.object(0x30 + length.div_ceil(4096) * 8 + 8);
            mdl::describe(list, buffer, length as u32);
            guest::write(request + irp::MDL, list);
        }
    }
    let (event, block) = if synchronous { (call.arg(5), call.arg(6)) } else { (0, call.arg(5)) };
    own(request, Built { copy, synchronous }, buffer, event, block)
}

/// A packet that a driver had built for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Built {
    /// Where output goes from the system's buffer.
    copy: Option<(u64, u64)>,
    /// The system frees the packet, and the driver waits for its event.
    synchronous: bool,
}

fn own(request: u64, built: Built, user: u64, event: u64, block: u64) -> u64 {
    guest::write(request + irp::USER_BUFFER, user);
    guest::write(request + irp::USER_EVENT, event);
    guest::write(request + irp::USER_STATUS, block);
    lock(&kernel().io).requests.insert(request, Request { built: Some(built), ..Request::default() });
    request
}

/// A packet that was built has come back to the top: what the I/O manager does then.
pub(super) fn ended(request: u64, built: Built) {
    let (status, information): (u32, u64) =
        (guest::read(request + irp::STATUS), guest::read(request + irp::INFORMATION));
    let system: u64 = guest::read(request + irp::SYSTEM_BUFFER);
    if let Some((place, room)) = built.copy
        && status & 0xC000_0000 != 0xC000_0000
    {
        guest::copy(place, system, information.min(room));
    }
    let list: u64 = guest::read(request + irp::MDL);
    for address in [system, list].into_iter().filter(|address| *address != 0) {
        lock(&kernel().pool).free_object(address);
    }
    if !built.synchronous {
        // Its driver has a completion routine for the rest, and frees it.
        return;
    }
    let (block, event): (u64, u64) = (guest::read(request + irp::USER_STATUS), guest::read(request + irp::USER_EVENT));
    if block != 0 {
        guest::write(block, u64::from(status));
        guest::write(block + 8, information);
    }
    free(request);
    if event != 0 {
        super::events::signal(event, 1);
    }
}

/// Arguments: device, minor function, state, callback, context, place for the packet.
fn request_power(call: &Call) -> u64 {
    let (device, minor, state) = (call.arg(0), call.u8(1), call.u32(2));
    // IRP_MN_WAIT_WAKE, IRP_MN_SET_POWER, IRP_MN_QUERY_POWER.
    if !matches!(minor, 0 | 2 | 3) {
        return INVALID_PARAMETER;
    }
    let target = device_stack::top(device);
    let request = packet(call, target, POWER, [0, DEVICE_STATE, state.into(), 0]);
    let next = guest::read::<u64>(request + irp::CURRENT_STACK) - location::SIZE;
    guest::write(next + location::MINOR, minor);
    guest::write(request + irp::STATUS, NOT_SUPPORTED);
    guest::write_if(call.arg(5), request);
    let (callback, context) = (call.arg(3), call.arg(4));
    let told = Request { power: Some((device, minor, state, callback, context)), ..Request::default() };
    lock(&kernel().io).requests.insert(request, told);
    // Power packets come on a thread of the power manager's.
    super::submit(request, move || {
        call_driver(target, request);
    });
    PENDING
}

/// A power packet is over: its sender is told, and it is freed.
pub(super) fn power_ended(request: u64, (device, minor, state, callback, context): (u64, u8, u32, u64, u64)) {
    if callback != 0 {
        let block = request + irp::STATUS;
        let arguments = [device, minor.into(), state.into(), context, block];
        call_back("power completion", thread::irql(), callback, &arguments);
    }
    free(request);
}
