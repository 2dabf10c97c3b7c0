//! Interrupt objects: the service routine at the device's IRQL, the interrupt lock, and the DPC or work item.
//!
//! As in Microsoft's framework, interrupts are assigned by position. When the device starts, the first object that
//! `EvtDriverDeviceAdd` created gets the first interrupt of the device, the second object gets the second interrupt,
//! and so on. An object that `EvtDevicePrepareHardware` creates has the interrupt whose descriptors the driver gives,
//! and is deleted after `EvtDeviceReleaseHardware`. An interrupt object is connected while the device is in its working
//! state. An object without an interrupt is never connected, and the device starts anyway.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::device::{self, with_device};
use super::object::{self, Data, create, created};
use super::{Handle, life, locks, structures, sync, with};
use crate::kernel::io::interrupt::{self as io, Service};
use crate::kernel::io::resources::{self, DEVICE_IRQL, Interrupt as Resource};
use crate::kernel::{self, call_back, kernel, submit};
use crate::layout::{CM_PARTIAL_RESOURCE_DESCRIPTOR, INTERRUPT_OBJECT, WDF_INTERRUPT_CONFIG, WDF_INTERRUPT_INFO};
use crate::memory::{Code, GuestPtr, OrStop as _};
use crate::routine::{ANY, Call, DISPATCH, Outcome, PASSIVE, Routine, done, fail, fixed, routine};
use crate::verify::{self, Rule};

/// The size of `WDF_INTERRUPT_CONFIG` before version 1.11.
const OLD_CONFIG: u32 = 56;

pub(super) const FUNCTIONS: &[Routine] = &[
    // Arguments: device, configuration, attributes, place for the interrupt.
    routine!("WdfInterruptCreate", DISPATCH, create_interrupt).fails(NtStatus::InsufficientResources),
    routine!("WdfInterruptQueueDpcForIsr", ANY, |call| {
        let handle = call.handle(1);
        let interrupt = interrupt(handle);
        let run = move || later(handle, "EvtInterruptDpc", interrupt.dpc, DISPATCH);
        if interrupt.dpc.is_null() {
            verify::find(Rule::FrameworkMisuse, format_args!("the interrupt has no EvtInterruptDpc"));
            return false;
        }
        kernel().scheduler.change(|state| state.defer(handle.as_int(), run))
    }),
    routine!("WdfInterruptQueueWorkItemForIsr", ANY, |call| {
        let handle = call.handle(1);
        let interrupt = interrupt(handle);
        if interrupt.work.is_null() {
            verify::find(Rule::FrameworkMisuse, format_args!("the interrupt has no EvtInterruptWorkItem"));
            return false;
        }
        let queued = kernel().scheduler.look(|state| state.has_work(handle.as_int()));
        if !queued {
            submit(handle.as_int(), move || later(handle, "EvtInterruptWorkItem", interrupt.work, PASSIVE));
        }
        !queued
    }),
    // Arguments: interrupt, routine, context.
    routine!("WdfInterruptSynchronize", ANY, |call| {
        let (handle, routine, context) = (call.handle(1), call.ptr(2), call.arg(3));
        locked(handle, |irql| {
            call_back("EvtInterruptSynchronize", irql, routine, &[handle.as_int(), context]) as u8 != 0
        })
    }),
    routine!("WdfInterruptAcquireLock", ANY, |call| acquire(call.handle(1), call.from)).keeps(),
    routine!("WdfInterruptReleaseLock", ANY, |call| release(call.handle(1))),
    routine!("WdfInterruptTryToAcquireLock", PASSIVE, |call| {
        let handle = call.handle(1);
        if !interrupt(handle).passive {
            verify::find(Rule::FrameworkMisuse, format_args!("the interrupt is not handled at passive level"));
            return false;
        }
        locks::try_wait_lock(interrupt(handle).wait_lock)
    }),
    routine!("WdfInterruptEnable", PASSIVE, |call| {
        let _ = enable(call.handle(1));
    }),
    routine!("WdfInterruptDisable", PASSIVE, |call| disable(call.handle(1))),
    routine!("WdfInterruptGetDevice", ANY, |call| interrupt(call.handle(1)).device),
    routine!("WdfInterruptWdmGetInterrupt", DISPATCH, |call| {
        let interrupt = interrupt(call.handle(1));
        if interrupt.connected { interrupt.object } else { GuestPtr::NULL }
    }),
    // Arguments: interrupt, place for the information.
    routine!("WdfInterruptGetInfo", DISPATCH, |call| {
        let (resource, info) = (interrupt(call.handle(1)).resource, call.ptr::<WDF_INTERRUPT_INFO>(2));
        info.TargetProcessorSet().write(1)?;
        let Some(resource) = resource else { return Ok(()) };
        info.MessageNumber().write(resource.message.unwrap_or_default())?;
        info.Vector().write(resource.vector)?;
        info.Irql().write(DEVICE_IRQL)?;
        info.Mode().write(resource.message.is_some().into())?;
        info.MessageSignaled().write(resource.message.is_some().into())
    }),
    fixed("WdfInterruptSetPolicy", DISPATCH, 0),
    fixed("WdfInterruptSetExtendedPolicy", DISPATCH, 0),
    fixed("WdfInterruptReportActive", DISPATCH, 0),
    fixed("WdfInterruptReportInactive", DISPATCH, 0),
    // Arguments: list.
    routine!("WdfCmResourceListGetCount", DISPATCH, |call| descriptors(call.handle(1), |list| list.len() as u32)),
    // Arguments: list, index. Returns NULL for an index after the last descriptor.
    routine!("WdfCmResourceListGetDescriptor", DISPATCH, |call| {
        descriptors(call.handle(1), |list| list.get(call.u32(2) as usize).copied())
    }),
];

/// An interrupt object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupt {
    device: Handle,
    isr: GuestPtr<Code>,
    dpc: GuestPtr<Code>,
    enable: GuestPtr<Code>,
    disable: GuestPtr<Code>,
    work: GuestPtr<Code>,
    /// The DPC or work item runs under the callback lock of the device.
    serialized: bool,
    /// The service routine runs at passive level, under a wait lock.
    passive: bool,
    wait_lock: Handle,
    pub(super) object: GuestPtr<INTERRUPT_OBJECT>,
    old_irql: u8,
    resource: Option<Resource>,
    /// Created in `EvtDevicePrepareHardware`, for the hardware resources of this start.
    for_hardware: bool,
    connected: bool,
}

fn with_interrupt<R>(handle: Handle, body: impl FnOnce(&mut Interrupt) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Interrupt(interrupt) => Some(body(interrupt)),
        _ => None,
    })
}

fn interrupt(handle: Handle) -> Interrupt {
    with_interrupt(handle, |interrupt| *interrupt)
}

fn create_interrupt(call: &Call) -> Outcome {
    let (device, place) = (call.handle(1), call.ptr::<WDF_INTERRUPT_CONFIG>(2));
    let (late, preparing) = with_device(device, |device| (device.resources != [Handle::NULL; 2], device.preparing));
    let old = structures::INTERRUPT_CONFIG.check(place)? <= OLD_CONFIG;
    let newer = |part: GuestPtr<GuestPtr<Code>>| if old { Ok(GuestPtr::NULL) } else { part.read() };
    let (dpc, work) = (place.EvtInterruptDpc().read()?, newer(place.EvtInterruptWorkItem())?);
    let isr = place.EvtInterruptIsr().read()?;
    let passive = !old && place.PassiveHandling().read()? != 0;
    let spin_lock = Handle::new(place.SpinLock().read()?);
    let wait_lock = Handle::new(if old { 0 } else { place.WaitLock().read()? });
    let [raw, named] =
        if old { [GuestPtr::NULL; 2] } else { [place.InterruptRaw().read()?, place.InterruptTranslated().read()?] };
    let (parameter, state) = (NtStatus::InvalidParameter, NtStatus::InvalidDeviceState);
    let rules = [
        (isr.is_null(), parameter, "EvtInterruptIsr is NULL"),
        (late && !preparing, state, "called outside of EvtDriverDeviceAdd and EvtDevicePrepareHardware"),
        (
            !late && [raw, named].into_iter().any(|descriptor| !descriptor.is_null()),
            parameter,
            "InterruptRaw and InterruptTranslated must be NULL in EvtDriverDeviceAdd",
        ),
        (
            late && [raw, named].into_iter().any(GuestPtr::is_null),
            state,
            "InterruptRaw and InterruptTranslated must be set in EvtDevicePrepareHardware",
        ),
        (!dpc.is_null() && !work.is_null(), parameter, "EvtInterruptDpc and EvtInterruptWorkItem are both set"),
        (!passive && !wait_lock.is_null(), parameter, "WaitLock is set, but PassiveHandling is not"),
        (passive && !spin_lock.is_null(), parameter, "SpinLock and PassiveHandling are both set"),
    ];
    if let Some((_, status, what)) = rules.into_iter().find(|(broken, ..)| *broken) {
        verify::find(Rule::FrameworkMisuse, format_args!("{what}"));
        return fail(status);
    }
    let spin = if spin_lock.is_null() { GuestPtr::NULL } else { locks::word(spin_lock) };
    let service = Service { routine: isr, context: 0, lock: spin, irql: DEVICE_IRQL };
    let wait_lock = if passive && wait_lock.is_null() { locks::new_wait_lock(call.from, device)? } else { wait_lock };
    let data = Interrupt {
        device,
        isr,
        dpc,
        enable: place.EvtInterruptEnable().read()?,
        disable: place.EvtInterruptDisable().read()?,
        work,
        serialized: place.AutomaticSerialization().read()? != 0,
        passive,
        wait_lock,
        object: io::new_object(service)?,
        old_irql: 0,
        resource: named.non_null().and_then(|named| by_descriptor(device, named)),
        for_hardware: late,
        connected: false,
    };
    let handle = create(call, call.ptr(3), Some(device), Data::Interrupt(Box::new(data)))?;
    with_device(device, |device| device.interrupts.push(handle));
    created(Ok(handle), call.ptr(4))
}

/// Passes the descriptors of a resource list to `body`.
fn descriptors<R>(list: Handle, body: impl FnOnce(&[GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>]) -> R) -> R {
    object::part(list, |data| match data {
        Data::Resources(list) => Some(body(list)),
        _ => None,
    })
}

/// Returns the interrupt that a resource descriptor of a device describes.
fn by_descriptor(device: Handle, named: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>) -> Option<Resource> {
    let lists = with_device(device, |device| device.resources);
    let vector = lists.into_iter().filter(|list| object::exists(*list)).find_map(|list| {
        descriptors(list, |list| list.contains(&named))
            .then(|| named.read().or_stop().u.get(1).copied().unwrap_or_default())
    })?;
    resources::interrupts().into_iter().find(|interrupt| interrupt.vector == vector)
}

/// Called before a device starts: creates its resource lists and assigns the interrupts to its interrupt objects.
pub(super) fn assign(device: Handle) -> Outcome<[Handle; 2]> {
    let mut lists = [Handle::NULL; 2];
    let has_hardware = with_device(device, |device| !device.init.control && device.init.parent == Handle::NULL);
    let all = if has_hardware { resources::descriptors() } else { Default::default() };
    for (list, descriptors) in lists.iter_mut().zip(all) {
        let mut places = Vec::new();
        for descriptor in descriptors {
            let place: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR> = kernel::lock(&kernel().pool).new_object();
            place.write(descriptor)?;
            places.push(place);
        }
        *list = object::create_with(0, &Attributes::default(), Some(device), Data::Resources(places))?;
    }
    let interrupts = with_device(device, |device| {
        device.resources = lists;
        device.interrupts.clone()
    });
    if has_hardware {
        for (handle, resource) in interrupts.into_iter().zip(resources::interrupts()) {
            with_interrupt(handle, |interrupt| interrupt.resource = Some(resource));
        }
    }
    Ok(lists)
}

/// Called after `EvtDeviceReleaseHardware`: deletes the interrupt objects that `EvtDevicePrepareHardware` created.
pub(super) fn released(device: Handle) {
    let all = with_device(device, |device| std::mem::take(&mut device.interrupts));
    let (gone, left): (Vec<_>, Vec<_>) = all.into_iter().partition(|handle| interrupt(*handle).for_hardware);
    with_device(device, |device| device.interrupts = left);
    gone.into_iter().for_each(life::delete);
}

/// Connects and enables the interrupts of a device that enters its working state.
pub(super) fn enable_all(device: Handle) -> Result<(), NtStatus> {
    with_device(device, |device| device.interrupts.clone()).into_iter().try_for_each(enable)
}

/// Disables and disconnects the interrupts of a device that leaves its working state.
pub(super) fn disable_all(device: Handle) {
    with_device(device, |device| device.interrupts.clone()).into_iter().rev().for_each(disable);
}

fn enable(handle: Handle) -> Result<(), NtStatus> {
    let (interrupt, physical) = physical(handle);
    let Some(resource) = interrupt.resource.filter(|_| !interrupt.connected) else { return Ok(()) };
    with_interrupt(handle, |interrupt| interrupt.connected = true);
    io::listen(interrupt.object, physical, resource, interrupt.passive, move || {
        let arguments = [handle.as_int(), resource.message.unwrap_or_default().into()];
        locked(handle, |irql| call_back("EvtInterruptIsr", irql, interrupt.isr, &arguments) as u8 != 0).or_stop()
    });
    let status = tell(handle, "EvtInterruptEnable", interrupt.enable);
    if status.is_error() { Err(status) } else { Ok(()) }
}

fn disable(handle: Handle) {
    let interrupt = interrupt(handle);
    if interrupt.connected {
        tell(handle, "EvtInterruptDisable", interrupt.disable);
        io::disconnect(interrupt.object);
        with_interrupt(handle, |interrupt| interrupt.connected = false);
        // The DPC or work item of the service routine must run before the device leaves its working state.
        kernel().scheduler.wait(None, |state| {
            let queued = state.deferred.iter().any(|(key, _)| *key == handle.as_int());
            (!queued && !state.has_work(handle.as_int()) && !state.active.contains(&handle.as_int())).then_some(())
        });
    }
}

fn physical(handle: Handle) -> (Interrupt, GuestPtr<crate::layout::DEVICE_OBJECT>) {
    let interrupt = interrupt(handle);
    (interrupt, with_device(interrupt.device, |device| device.init.physical))
}

fn tell(handle: Handle, name: &'static str, callback: GuestPtr<Code>) -> NtStatus {
    if callback.is_null() {
        return NtStatus::Success;
    }
    let arguments = [handle.as_int(), interrupt(handle).device.as_int()];
    NtStatus::from_int(locked(handle, |irql| call_back(name, irql, callback, &arguments)).or_stop() as u32)
}

/// Runs `body` under the interrupt's lock, and passes it the IRQL of the lock.
fn locked<R>(handle: Handle, body: impl FnOnce(u8) -> R) -> Result<R, crate::memory::Fault> {
    let interrupt = interrupt(handle);
    if !interrupt.passive {
        return io::locked(interrupt.object, body);
    }
    locks::take_wait_lock(interrupt.wait_lock);
    let result = body(PASSIVE);
    locks::give_wait_lock(interrupt.wait_lock);
    Ok(result)
}

fn acquire(handle: Handle, from: u64) -> Outcome {
    let interrupt = interrupt(handle);
    if interrupt.passive {
        object::needs_passive(true);
        locks::take_wait_lock(interrupt.wait_lock);
        return done(());
    }
    let old = io::acquire(interrupt.object, from)?;
    with_interrupt(handle, |interrupt| interrupt.old_irql = old);
    done(())
}

fn release(handle: Handle) -> Outcome {
    let interrupt = interrupt(handle);
    if interrupt.passive {
        locks::give_wait_lock(interrupt.wait_lock);
        return done(());
    }
    Ok(io::release(interrupt.object, interrupt.old_irql)?)
}

/// Runs the DPC or work item of an interrupt.
fn later(handle: Handle, name: &'static str, callback: GuestPtr<Code>, irql: u8) {
    if !object::exists(handle) {
        return;
    }
    let interrupt = interrupt(handle);
    let lock = if interrupt.serialized { sync::holder_for(interrupt.device) } else { None };
    let arguments = [handle.as_int(), interrupt.device.as_int()];
    sync::locked(lock, irql, |irql| call_back(name, irql, callback, &arguments));
}

/// Returns the physical device object whose interrupts a framework device handles.
pub(crate) fn source(handle: Handle) -> Option<GuestPtr<crate::layout::DEVICE_OBJECT>> {
    let exists = with(|framework| framework.objects.contains_key(&handle));
    (exists && device::of(handle) == Some(handle)).then(|| with_device(handle, |device| device.init.physical))
}
