//! A test driver without a framework: a named device, dispatch routines, a deferred procedure call on a timer, a work
//! item, and an unload routine.

#![no_std]

extern crate alloc;
extern crate wdk_panic;

use alloc::boxed::Box;
use core::alloc::Layout;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use wdk_alloc::WdkAllocator;
use wdk_sys::ntddk::{
    IoAllocateWorkItem, IoCreateDevice, IoCreateSymbolicLink, IoDeleteDevice, IoDeleteSymbolicLink, IoFreeWorkItem,
    IoGetCurrentProcess, IoQueueWorkItem, IofCompleteRequest, KeCancelTimer, KeFlushQueuedDpcs, KeInitializeDpc,
    KeInitializeTimer, KeQueryActiveProcessorCount, KeQuerySystemTimePrecise, KeSetTimerEx, RtlInitUnicodeString,
};
use wdk_sys::{
    _WORK_QUEUE_TYPE, CCHAR, DEVICE_OBJECT, DO_DEVICE_INITIALIZING, DRIVER_OBJECT, FILE_ANY_ACCESS,
    FILE_DEVICE_SECURE_OPEN, FILE_DEVICE_UNKNOWN, IO_NO_INCREMENT, IRP, IRP_MJ_CLOSE, IRP_MJ_CREATE,
    IRP_MJ_DEVICE_CONTROL, KDPC, KTIMER, LARGE_INTEGER, METHOD_BUFFERED, NT_SUCCESS, NTSTATUS, PCUNICODE_STRING,
    PDEVICE_OBJECT, PEPROCESS, PIO_WORKITEM, PVOID, PsProcessType, STATUS_BUFFER_TOO_SMALL,
    STATUS_INSUFFICIENT_RESOURCES, STATUS_INTERNAL_ERROR, STATUS_INVALID_DEVICE_REQUEST, STATUS_SUCCESS, ULONG,
    ULONG_PTR, UNICODE_STRING,
};

#[global_allocator]
static ALLOCATOR: WdkAllocator = WdkAllocator;

const QUERY_TIME: ULONG = (FILE_DEVICE_UNKNOWN << 16) | (FILE_ANY_ACCESS << 14) | (0x801 << 2) | METHOD_BUFFERED;

/// No priority boost for the thread that waits for the request.
#[expect(clippy::cast_possible_truncation, reason = "zero")]
const NO_INCREMENT: CCHAR = IO_NO_INCREMENT as CCHAR;
/// The size of a device's extension: a pointer to its state.
const EXTENSION: ULONG = 8;

/// The state that the device extension points to. It must not move, because the kernel holds pointers to the timer and the DPC.
struct State {
    timer: KTIMER,
    dpc: KDPC,
    work: PIO_WORKITEM,
    ticks: AtomicU32,
}

/// Converts ASCII text to terminated UTF-16.
macro_rules! wide {
    ($text:literal) => {
        const { &units::<{ $text.len() + 1 }>($text) }
    };
}

const fn units<const N: usize>(text: &str) -> [u16; N] {
    let mut units = [0; N];
    let mut at = 0;
    while at < text.len() {
        units[at] = text.as_bytes()[at] as u16;
        at += 1;
    }
    units
}

static DEVICE: &[u16] = wide!("\\Device\\KitWdm");
static LINK: &[u16] = wide!("\\DosDevices\\KitWdm");

fn string(units: &'static [u16]) -> UNICODE_STRING {
    let mut string = UNICODE_STRING::default();
    // SAFETY: the text is terminated and static.
    unsafe { RtlInitUnicodeString(&raw mut string, units.as_ptr()) };
    string
}

#[link(name = "ntoskrnl")]
unsafe extern "C" {
    static KeNumberProcessors: CCHAR;
    static PsInitialSystemProcess: PEPROCESS;
}

/// Returns whether kernel variables can be read: those that this driver imports, and those that wdk-sys declares.
fn can_read_variables() -> bool {
    // SAFETY: the kernel sets the variable before it loads drivers.
    let processors = unsafe { KeNumberProcessors };
    // SAFETY: no pointer is passed.
    let active = unsafe { KeQueryActiveProcessorCount(ptr::null_mut()) };
    // SAFETY: the kernel sets the variable before it loads drivers, and the routine has no requirements. The system process
    // calls the entry point of a driver.
    let is_system = unsafe { PsInitialSystemProcess } == unsafe { IoGetCurrentProcess() };
    // SAFETY: this is the slot that the loader wrote the variable's address to.
    let place = unsafe { PsProcessType };
    // SAFETY: the slot contains the address of the kernel's variable.
    let kind = unsafe { place.read() };
    u32::try_from(processors) == Ok(active) && is_system && !kind.is_null()
}

/// The driver's entry point.
///
/// # Safety
///
/// Called by the system.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: &mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {
    if !can_read_variables() {
        return STATUS_INTERNAL_ERROR;
    }
    driver.DriverUnload = Some(unload);
    driver.MajorFunction[IRP_MJ_CREATE as usize] = Some(open_or_close);
    driver.MajorFunction[IRP_MJ_CLOSE as usize] = Some(open_or_close);
    driver.MajorFunction[IRP_MJ_DEVICE_CONTROL as usize] = Some(control);

    let mut name = string(DEVICE);
    let mut link = string(LINK);
    let mut device: PDEVICE_OBJECT = ptr::null_mut();
    // SAFETY: all pointers are valid for the call.
    let status = unsafe {
        IoCreateDevice(
            driver,
            EXTENSION,
            &raw mut name,
            FILE_DEVICE_UNKNOWN,
            FILE_DEVICE_SECURE_OPEN,
            0,
            &raw mut device,
        )
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: both strings are valid.
    let linked = unsafe { IoCreateSymbolicLink(&raw mut link, &raw mut name) };
    let status = if NT_SUCCESS(linked) { start(device) } else { linked };
    if !NT_SUCCESS(status) {
        if NT_SUCCESS(linked) {
            // SAFETY: the link was created above.
            let _ = unsafe { IoDeleteSymbolicLink(&raw mut link) };
        }
        // SAFETY: the device exists, and no handle to it is open.
        unsafe { IoDeleteDevice(device) };
        return status;
    }
    // SAFETY: the device exists.
    unsafe { (*device).Flags &= !DO_DEVICE_INITIALIZING };
    STATUS_SUCCESS
}

/// Returns the state of a device.
fn state(device: PDEVICE_OBJECT) -> *mut State {
    // SAFETY: the device exists.
    let extension = unsafe { (*device).DeviceExtension };
    // SAFETY: the extension has room for one pointer, which `start` writes.
    unsafe { extension.cast::<*mut State>().read() }
}

fn start(device: PDEVICE_OBJECT) -> NTSTATUS {
    // SAFETY: the device exists.
    let work = unsafe { IoAllocateWorkItem(device) };
    if work.is_null() {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    let fresh = State { timer: KTIMER::default(), dpc: KDPC::default(), work, ticks: AtomicU32::new(0) };
    // The state stays at this address until the driver is unloaded.
    let state = allocate(fresh);
    if state.is_null() {
        // SAFETY: the work item was never queued.
        unsafe { IoFreeWorkItem(work) };
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    // SAFETY: the state was allocated above.
    let timer = unsafe { &raw mut (*state).timer };
    // SAFETY: as before.
    let dpc = unsafe { &raw mut (*state).dpc };
    // SAFETY: the device exists.
    let extension = unsafe { (*device).DeviceExtension };
    // SAFETY: the extension has room for one pointer.
    unsafe { extension.cast::<*mut State>().write(state) };
    // SAFETY: the timer does not move.
    unsafe { KeInitializeTimer(timer) };
    // SAFETY: as before.
    unsafe { KeInitializeDpc(dpc, Some(tick), device.cast()) };
    let due = LARGE_INTEGER { QuadPart: -10_000_000 };
    // SAFETY: both were initialised above.
    unsafe { KeSetTimerEx(timer, due, 1000, dpc) };
    STATUS_SUCCESS
}

/// Allocates the state. Returns null if there is no memory; `Box::new` would stop the machine.
fn allocate(fresh: State) -> *mut State {
    // SAFETY: the size of the type is not zero.
    let memory = unsafe { alloc::alloc::alloc(Layout::new::<State>()) }.cast::<State>();
    if !memory.is_null() {
        // SAFETY: the memory is new and has the layout of the type.
        unsafe { memory.write(fresh) };
    }
    memory
}

unsafe extern "C" fn tick(_: *mut KDPC, device: PVOID, _: PVOID, _: PVOID) {
    let state = state(device.cast());
    // SAFETY: the state outlives the timer.
    let ticks = unsafe { &(*state).ticks };
    // SAFETY: as before.
    let work = unsafe { (*state).work };
    if ticks.fetch_add(1, Ordering::Relaxed) == 0 {
        // SAFETY: the work item is queued only once.
        unsafe { IoQueueWorkItem(work, Some(report), _WORK_QUEUE_TYPE::DelayedWorkQueue, ptr::null_mut()) };
    }
}

unsafe extern "C" fn report(device: PDEVICE_OBJECT, _: PVOID) {
    // SAFETY: the state outlives the work item.
    let ticks = unsafe { &(*state(device)).ticks }.load(Ordering::Relaxed);
    wdk::println!("wdm: {ticks} ticks");
}

unsafe extern "C" fn open_or_close(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    complete(irp, STATUS_SUCCESS, 0)
}

unsafe extern "C" fn control(_: *mut DEVICE_OBJECT, irp: *mut IRP) -> NTSTATUS {
    // SAFETY: this driver owns the request.
    let tail = unsafe { &(*irp).Tail };
    // SAFETY: while a driver owns a request, `Overlay` is the active variant of the union.
    let overlay = unsafe { &tail.Overlay };
    // SAFETY: a request that reaches a driver has a current stack location.
    let stack = unsafe { overlay.__bindgen_anon_2.__bindgen_anon_1.CurrentStackLocation };
    // SAFETY: as before.
    let parameters = unsafe { &(*stack).Parameters };
    // SAFETY: the request is a device control.
    let parameters = unsafe { parameters.DeviceIoControl };
    if parameters.IoControlCode != QUERY_TIME {
        return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
    if (parameters.OutputBufferLength as usize) < size_of::<LARGE_INTEGER>() {
        return complete(irp, STATUS_BUFFER_TOO_SMALL, 0);
    }
    // SAFETY: this driver owns the request.
    let associated = unsafe { &(*irp).AssociatedIrp };
    // SAFETY: a buffered control code has a system buffer of at least the output's length.
    let buffer = unsafe { associated.SystemBuffer };
    // SAFETY: the length of the buffer was checked above.
    unsafe { KeQuerySystemTimePrecise(buffer.cast()) };
    complete(irp, STATUS_SUCCESS, size_of::<LARGE_INTEGER>() as ULONG_PTR)
}

fn complete(irp: *mut IRP, status: NTSTATUS, information: ULONG_PTR) -> NTSTATUS {
    // SAFETY: this driver owns the request until it completes it.
    let result = unsafe { &mut (*irp).IoStatus };
    result.__bindgen_anon_1.Status = status;
    result.Information = information;
    // SAFETY: each request is completed once.
    unsafe { IofCompleteRequest(irp, NO_INCREMENT) };
    status
}

unsafe extern "C" fn unload(driver: *mut DRIVER_OBJECT) {
    // SAFETY: the system passes our driver object.
    let device = unsafe { (*driver).DeviceObject };
    let mut link = string(LINK);
    // SAFETY: the link was created in `driver_entry`.
    let _ = unsafe { IoDeleteSymbolicLink(&raw mut link) };
    let state = state(device);
    // SAFETY: the state is freed only below.
    let timer = unsafe { &raw mut (*state).timer };
    // SAFETY: `start` initialised the timer.
    unsafe { KeCancelTimer(timer) };
    // SAFETY: the IRQL is PASSIVE_LEVEL. After this call the DPC is not running.
    unsafe { KeFlushQueuedDpcs() };
    // SAFETY: nothing refers to the state any more.
    let state = unsafe { Box::from_raw(state) };
    // SAFETY: `start` allocated the work item.
    unsafe { IoFreeWorkItem(state.work) };
    // SAFETY: this is the last use of the device.
    unsafe { IoDeleteDevice(device) };
}
