//! IRPs that drivers allocate, IRPs that the I/O manager builds for drivers, and power IRPs that drivers request.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, IO_STATUS_BLOCK, IRP, KEVENT, MDL, THREAD};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque, OrStop as _};
use nt_verifier::routine::{APC, Call, DISPATCH, Failure, Ignored, NO_RESOURCES, Out, Outcome, done, fail, routines};
use windows_constants::device::{DO_BUFFERED_IO, DO_DIRECT_IO};
use windows_constants::power::DevicePowerState;
use windows_constants::request::{
    IRP_MJ_DEVICE_CONTROL, IRP_MJ_INTERNAL_DEVICE_CONTROL, IRP_MJ_POWER, IRP_MJ_READ, IRP_MJ_WRITE, IRP_MN_WAIT_WAKE,
    METHOD_BUFFERED, METHOD_NEITHER, SL_INVOKE_ON_CANCEL, SL_INVOKE_ON_ERROR, SL_INVOKE_ON_SUCCESS,
};

use super::contract::Buffers;
use super::history::{History, Origin};
use super::{activity, irp, rules};
use crate::io::device::{Held, stack};
use crate::io::mdl;
use crate::io::request::{self, Io, Request, call_driver};
use crate::pool;
use crate::pool::Pool;
use crate::sync::event;
use crate::sync::process;
use crate::sync::worker;
use crate::{Kernel, call_back, kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails_with_zero]
    fn IoAllocateIrp(&call, stack: i8, _quota: Ignored<bool>) -> Result<Option<GuestPtr<IRP>>, Fault> {
        allocate(stack.cast_unsigned(), call.from)
    }

    #[irql(DISPATCH)]
    fn IoInitializeIrp(request: GuestPtr<IRP>, _size: Ignored<u16>, stack: i8) -> Result<(), Fault> {
        let stack = stack.cast_unsigned();
        irp::initialize(request, stack)?;
        track_own(request, stack);
        Ok(())
    }

    #[irql(DISPATCH)]
    fn IoFreeIrp(request: GuestPtr<IRP>) {
        if rules::frees(request) {
            free(request);
        }
    }

    #[irql(DISPATCH)]
    fn IoReuseIrp(request: GuestPtr<IRP>, status: NtStatus) -> Result<(), Fault> {
        if !rules::reuses(request) {
            return Ok(());
        }
        let stack = request.StackCount().read()?;
        let flags = request.AllocationFlags().read()?;
        irp::initialize(request, stack)?;
        request.AllocationFlags().write(flags)?;
        request.IoStatus().Status().write(status)?;
        track_own(request, stack);
        Ok(())
    }

    #[irql(APC), fails_with_zero]
    fn IoBuildDeviceIoControlRequest(
        &call,
        code: u32,
        device: GuestPtr<DEVICE_OBJECT>,
        input: GuestSlice<u8>,
        output: GuestSlice<u8>,
        internal: bool,
        event: GuestPtr<KEVENT>,
        block: GuestPtr<IO_STATUS_BLOCK>,
    ) -> Outcome<Option<GuestPtr<IRP>>> {
        let major = if internal { IRP_MJ_INTERNAL_DEVICE_CONTROL } else { IRP_MJ_DEVICE_CONTROL };
        build_control(call, (major, code), device, (input, output), End { event, block })
    }

    #[irql(APC), fails_with_zero]
    fn IoBuildSynchronousFsdRequest(
        &call,
        major: u32,
        device: GuestPtr<DEVICE_OBJECT>,
        buffer: GuestSlice<u8>,
        offset: Option<GuestPtr<u64>>,
        event: GuestPtr<KEVENT>,
        block: GuestPtr<IO_STATUS_BLOCK>,
    ) -> Outcome<Option<GuestPtr<IRP>>> {
        build_transfer(call, major, device, buffer, offset, (Origin::Synchronous, End { event, block }))
    }

    #[irql(DISPATCH), fails_with_zero]
    fn IoBuildAsynchronousFsdRequest(
        &call,
        major: u32,
        device: GuestPtr<DEVICE_OBJECT>,
        buffer: GuestSlice<u8>,
        offset: Option<GuestPtr<u64>>,
        block: GuestPtr<IO_STATUS_BLOCK>,
    ) -> Outcome<Option<GuestPtr<IRP>>> {
        let end = End { event: GuestPtr::NULL, block };
        build_transfer(call, major, device, buffer, offset, (Origin::Asynchronous, end))
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    #[on_failure(rules::fails_to_register(request))]
    fn IoSetCompletionRoutineEx(
        device: GuestPtr<DEVICE_OBJECT>,
        request: GuestPtr<IRP>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        on_success: bool,
        on_error: bool,
        on_cancel: bool,
    ) -> Outcome {
        rules::registers(device, request)?;
        let next = request.next_location()?;
        let bit = |wanted: bool, bit: u8| if wanted { bit } else { 0 };
        next.CompletionRoutine().write(routine)?;
        next.Context().write(context.address())?;
        next.Control().write(bit(on_success, SL_INVOKE_ON_SUCCESS) | bit(on_error, SL_INVOKE_ON_ERROR) | bit(on_cancel, SL_INVOKE_ON_CANCEL))?;
        done(())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn PoRequestPowerIrp(
        &call,
        device: GuestPtr<DEVICE_OBJECT>,
        minor: u8,
        state: u32,
        callback: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        place: Out<GuestPtr<IRP>>,
    ) -> Outcome<NtStatus> {
        rules::requests_power(minor, place.is_wanted());
        request_power(call, Power { device, minor, state, callback, context: context.address() }, place)
    }

    #[irql(DISPATCH), fixed]
    fn PoStartNextPowerIrp(_request: Ignored<GuestPtr<IRP>>) {}

    #[irql(DISPATCH)]
    fn IoGetRequestorProcess(request: GuestPtr<IRP>) -> GuestPtr<THREAD> {
        process::by_id(request::requestor(request)).unwrap_or_else(process::process)
    }
}

/// Records an IRP that the driver allocated.
fn track_own(request: GuestPtr<IRP>, stack: u8) {
    let request_state = Request { history: History::new(Origin::Allocated), ..Request::default() };
    lock(&kernel().io).track(request, stack, request_state);
}

fn allocate(stack: u8, from: u64) -> Result<Option<GuestPtr<IRP>>, Fault> {
    let request = irp::new(stack, from)?;
    if let Some(request) = request {
        track_own(request, stack);
    }
    Ok(request)
}

/// Frees an IRP.
fn free(request: GuestPtr<IRP>) {
    lock(&kernel().io).requests.remove(&request);
    activity::end(request);
    pool::free(request.address(), None);
}

/// Allocates an IRP for a device. Its first stack location has this major function and these parameters.
fn packet(
    call: &Call,
    device: GuestPtr<DEVICE_OBJECT>,
    major: u8,
    parameters: [u64; 4],
) -> Result<Option<GuestPtr<IRP>>, Fault> {
    let Some(request) = allocate(device.StackSize().read()?, call.from)? else { return Ok(None) };
    let next = request.next_location()?;
    next.MajorFunction().write(major)?;
    next.Parameters().write(parameters)?;
    request.Thread().write(thread::object())?;
    Ok(Some(request))
}

/// What is told about the end of an IRP: its event and its status block.
#[derive(Clone, Copy)]
struct End {
    event: GuestPtr<KEVENT>,
    block: GuestPtr<IO_STATUS_BLOCK>,
}

/// Builds a control request with this major function.
fn build_control(
    call: &Call,
    (major, code): (u8, u32),
    device: GuestPtr<DEVICE_OBJECT>,
    (input, output): (GuestSlice<u8>, GuestSlice<u8>),
    end: End,
) -> Outcome<Option<GuestPtr<IRP>>> {
    let Kernel { io, pool, .. } = kernel();
    let method = code & 3;
    let type3 = if method == METHOD_NEITHER { input.start().address() } else { 0 };
    let request = packet(call, device, major, [output.len(), input.len(), code.into(), type3])?;
    let Some(request) = request else { return Ok(None) };
    let system = match method {
        METHOD_BUFFERED => input.len().max(output.len()),
        METHOD_NEITHER => 0,
        _ => input.len(),
    };
    let build = || {
        if system != 0 {
            let buffer: GuestPtr<u8> = lock(pool).try_new_objects(system)?;
            request.SystemBuffer().write(buffer)?;
            buffer.array(input.len()).copy_from(input.start())?;
        }
        if matches!(method, 1 | 2) && !output.is_empty() {
            request.MdlAddress().write(mdl::describe(output.start(), output.len() as u32)?)?;
        }
        let built = Built { copy: (method == METHOD_BUFFERED).then_some(output), origin: Origin::Control };
        Ok(own(io, request, built, output.start(), end)?)
    };
    finish_building(request, build())
}

/// Builds a request with this major function. `place` has the offset.
fn build_transfer(
    call: &Call,
    major: u32,
    device: GuestPtr<DEVICE_OBJECT>,
    buffer: GuestSlice<u8>,
    place: Option<GuestPtr<u64>>,
    (origin, end): (Origin, End),
) -> Outcome<Option<GuestPtr<IRP>>> {
    let Kernel { io, pool, .. } = kernel();
    let offset = place.map_or(Ok(0), GuestPtr::read)?;
    let has_data = matches!(u8::try_from(major), Ok(IRP_MJ_READ | IRP_MJ_WRITE));
    let parameters = if has_data { [buffer.len(), 0, offset, 0] } else { [0; 4] };
    let Some(request) = packet(call, device, major as u8, parameters)? else { return Ok(None) };
    let build = || {
        let flags = device.Flags().read()?;
        let mut copy = None;
        if has_data && !buffer.is_empty() {
            if flags & DO_BUFFERED_IO != 0 {
                let system: GuestPtr<u8> = lock(pool).try_new_objects(buffer.len())?;
                request.SystemBuffer().write(system)?;
                if major == u32::from(IRP_MJ_WRITE) {
                    system.array(buffer.len()).copy_from(buffer.start())?;
                } else {
                    copy = Some(buffer);
                }
            } else if flags & DO_DIRECT_IO != 0 {
                request.MdlAddress().write(mdl::describe(buffer.start(), buffer.len() as u32)?)?;
            }
        }
        Ok(own(io, request, Built { copy, origin }, buffer.start(), end)?)
    };
    finish_building(request, build())
}

/// Returns an IRP that was built. If building it failed, frees it; without memory the routine returns NULL.
fn finish_building(request: GuestPtr<IRP>, built: Outcome) -> Outcome<Option<GuestPtr<IRP>>> {
    let Kernel { pool, .. } = kernel();
    if built.is_err() {
        free_buffers(pool, request.SystemBuffer().read()?, request.MdlAddress().read()?);
        free(request);
    }
    match built {
        Ok(()) => Ok(Some(request)),
        Err(Failure::Status(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Frees the system buffer and the MDL of an IRP.
fn free_buffers(pool: &Mutex<Pool>, system: GuestPtr<u8>, mdl: GuestPtr<MDL>) {
    for address in [system.address(), mdl.address()].into_iter().filter(|address| *address != 0) {
        lock(pool).free_object(address);
    }
}

/// An IRP that the I/O manager built for a driver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Built {
    /// The driver's buffer to which the output is copied from the system buffer.
    copy: Option<GuestSlice<u8>>,
    origin: Origin,
}

fn own(io: &Mutex<Io>, request: GuestPtr<IRP>, built: Built, user: GuestPtr<u8>, end: End) -> Result<(), Fault> {
    request.UserBuffer().write(user)?;
    request.UserEvent().write(end.event)?;
    request.UserIosb().write(end.block)?;
    let first = request.next_location()?;
    let buffers = Buffers::new(
        first.MajorFunction().read()?,
        first.Parameters().read()?,
        request.SystemBuffer().read()?,
        request.MdlAddress().read()?,
    );
    let history = History { event: end.event.address(), ..History::new(built.origin) };
    let state = Request { built: Some(built), buffers: Some(buffers), history, ..Request::default() };
    lock(io).track(request, request.StackCount().read()?, state);
    Ok(())
}

/// Finishes an IRP that was built, after the last completion routine: copies the output and frees the buffers. If the
/// IRP is synchronous, also stores the status, frees the IRP and signals the event.
pub(super) fn ended(request: GuestPtr<IRP>, built: Built, buffers: &Buffers) -> Result<(), Fault> {
    let Kernel { io, pool, .. } = kernel();
    let IO_STATUS_BLOCK { Status: status, Information: information, .. } = request.IoStatus().read()?;
    if let Some(output) = built.copy.filter(|_| !status.is_error()) {
        output.take(information).copy_from(buffers.system)?;
    }
    free_buffers(pool, buffers.system, buffers.mdl);
    let block = request.UserIosb().read()?;
    let user_event = request.UserEvent().read()?;
    block.write_if(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: information })?;
    if built.origin == Origin::Asynchronous {
        // The completion routine of the driver frees the IRP.
        return Ok(());
    }
    free(request);
    lock(io).ended.insert(request, built.origin);
    if let Some(user_event) = user_event.non_null() {
        event::signal(user_event.Header(), 1)?;
    }
    Ok(())
}

/// A power IRP that a driver requested: its parameters and the driver's completion callback.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    device: GuestPtr<DEVICE_OBJECT>,
    minor: u8,
    state: u32,
    callback: GuestPtr<Code>,
    context: u64,
}

fn request_power(call: &Call, power: Power, place: Out<GuestPtr<IRP>>) -> Outcome<NtStatus> {
    let Kernel { io, .. } = kernel();
    let Power { device, minor, state, .. } = power;
    // The others are IRP_MN_SET_POWER and IRP_MN_QUERY_POWER.
    if !matches!(minor, IRP_MN_WAIT_WAKE | 2 | 3) {
        return fail(NtStatus::InvalidParameter);
    }
    let target = stack::top(device)?;
    let request = packet(call, target, IRP_MJ_POWER, [0, DevicePowerState, state.into(), 0])?;
    let Some(request) = request else { return fail(NO_RESOURCES) };
    request.next_location()?.MinorFunction().write(minor)?;
    request.IoStatus().Status().write(NtStatus::NotSupported)?;
    place.set_if_wanted(request)?;
    let stack = request.StackCount().read()?;
    lock(io).track(
        request,
        stack,
        Request { power: Some(power), history: History::new(Origin::Power), ..Request::default() },
    );
    let is_next = minor == IRP_MN_WAIT_WAKE || {
        let mut io = lock(io);
        let queue = io.power.get_or_default(target);
        queue.push_back(request);
        queue.len() == 1
    };
    if is_next {
        send_power(target, request);
    }
    Ok(NtStatus::Pending)
}

/// Sends a power IRP. As in Windows, a thread of the power manager does so, and the device lives until it is sent.
fn send_power(target: GuestPtr<DEVICE_OBJECT>, request: GuestPtr<IRP>) {
    let held = Held::new(target);
    worker::submit(request.address(), move || {
        call_driver(target, request).or_stop();
        drop(held);
    });
}

/// Sends the next power IRP of a device. Since Windows Vista the power manager sends them one at a time.
fn send_next_power(request: GuestPtr<IRP>) {
    let next = {
        let mut io = lock(&kernel().io);
        let device = io.power.iter().find(|(_, queue)| queue.front() == Some(&request)).map(|(device, _)| *device);
        device.and_then(|device| {
            let queue = io.power.get_mut(&device)?;
            queue.pop_front();
            let next = queue.front().copied();
            if next.is_none() {
                io.power.remove(&device);
            }
            next.map(|next| (device, next))
        })
    };
    if let Some((device, next)) = next {
        send_power(device, next);
    }
}

/// Waits until the power IRPs that drivers requested are completed, except those that wait for a wake-up signal.
pub(in crate::io) fn wait_for_power() {
    let Kernel { config, io, scheduler, .. } = kernel();
    let deadline = scheduler.now() + config.give_up_after();
    scheduler.wait(Some(deadline), |_| {
        let io = lock(io);
        let is_pending = |request: &Request| request.power.is_some_and(|power| power.minor != IRP_MN_WAIT_WAKE);
        (!io.requests.values().any(is_pending)).then_some(())
    });
}

/// Calls the completion callback of a power IRP, and frees the IRP.
pub(super) fn power_ended(request: GuestPtr<IRP>, power: Power) {
    if let Some(callback) = power.callback.non_null() {
        let block = request.IoStatus().address();
        let arguments = [power.device.address(), power.minor.into(), power.state.into(), power.context, block];
        call_back("power completion", thread::irql(), callback, &arguments);
    }
    free(request);
    send_next_power(request);
}
