//! Interrupt objects: the service routine at the device's IRQL, the interrupt lock, and the DPC or work item.
//!
//! As in Microsoft's framework, interrupts are assigned by position. When the device starts, the first object that
//! `EvtDriverDeviceAdd` created gets the first interrupt of the device, the second object gets the second interrupt,
//! and so on. An object that `EvtDevicePrepareHardware` creates has the interrupt whose descriptors the driver gives,
//! and is deleted after `EvtDeviceReleaseHardware`. An interrupt object is connected while the device is in its working
//! state. An object without an interrupt is never connected, and the device starts anyway. What the driver may not do with an
//! object that is not connected follows `shared/irphandlers/pnp/interruptobject.cpp`.

use etw_types::NtStatus;
use nt_kernel::io::hardware::interrupt::{self as io, Service};
use nt_kernel::io::hardware::resources::{self, DEVICE_IRQL, Interrupt as Resource};
use nt_kernel::sync::worker::submit;
use nt_kernel::{call_back, kernel};
use nt_processor::layout::{
    CM_PARTIAL_RESOURCE_DESCRIPTOR, DEVICE_OBJECT, INTERRUPT_OBJECT, WDF_INTERRUPT_CONFIG,
    WDF_INTERRUPT_EXTENDED_POLICY, WDF_INTERRUPT_INFO, WDF_OBJECT_ATTRIBUTES,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque, OrStop as _};
use nt_verifier::routine::{ANY, Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::locks::LockKind;
use nt_verifier::verify::{self, Rule};

use crate::device::{self, with_device};
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::life;
use crate::object::{self, created};
use crate::pnp::resource_list;
use crate::{Handle, locks, structures, sync};

/// The size of `WDF_INTERRUPT_CONFIG` before version 1.11.
const OLD_CONFIG: u32 = 56;

functions! { pub(super) FUNCTIONS;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfInterruptCreate(
        &call,
        device: Handle,
        config: GuestPtr<WDF_INTERRUPT_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(create_interrupt(call, device, config, attributes), place)
    }

    #[irql(ANY)]
    fn WdfInterruptQueueDpcForIsr(handle: Handle) -> bool {
        let interrupt = interrupt(handle);
        let run = move || later(handle, "EvtInterruptDpc", interrupt.dpc, DISPATCH);
        if interrupt.dpc.is_null() {
            verify::find(Rule::FrameworkMisuse, format_args!("queues the DPC of an interrupt without EvtInterruptDpc"));
            return false;
        }
        kernel().scheduler.defer(handle.as_int(), run)
    }

    #[irql(ANY)]
    fn WdfInterruptQueueWorkItemForIsr(handle: Handle) -> bool {
        let interrupt = interrupt(handle);
        if interrupt.work.is_null() {
            verify::find(Rule::FrameworkMisuse, format_args!("queues the work item of an interrupt without EvtInterruptWorkItem"));
            return false;
        }
        let queued = kernel().scheduler.look(|state| state.has_work(handle.as_int()));
        if !queued {
            submit(handle.as_int(), move || later(handle, "EvtInterruptWorkItem", interrupt.work, PASSIVE));
        }
        !queued
    }

    #[irql(ANY)]
    fn WdfInterruptSynchronize(
        handle: Handle,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> Result<bool, Fault> {
        object::needs_place(routine);
        let arguments = [handle.as_int(), context.address()];
        // `FxInterrupt::Synchronize` passes what there is, also NULL, to `KeSynchronizeExecution`, which then reads through it.
        let object = wdm_object(&interrupt(handle));
        locked(handle, object, |irql| call_back("EvtInterruptSynchronize", irql, routine, &arguments) as u8 != 0)
    }

    #[irql(ANY), keeps]
    fn WdfInterruptAcquireLock(&call, handle: Handle) -> Result<(), Fault> {
        acquire(handle, call.from)
    }

    #[irql(ANY)]
    fn WdfInterruptReleaseLock(handle: Handle) -> Result<(), Fault> {
        release(handle)
    }

    #[irql(PASSIVE)]
    fn WdfInterruptTryToAcquireLock(handle: Handle) -> bool {
        let interrupt = interrupt(handle);
        if !interrupt.passive {
            verify::find(Rule::FrameworkMisuse, format_args!("the interrupt is not handled at passive level"));
            return false;
        }
        locks::try_wait_lock(interrupt.wait_lock)
    }

    #[irql(PASSIVE)]
    fn WdfInterruptEnable(handle: Handle) {
        let connected = with_interrupt(handle, |interrupt| {
            interrupt.is_disabled = false;
            interrupt.connected
        });
        if connected {
            misuse("connects an interrupt that is already connected, and loses the first interrupt object");
        }
        let _ = enable(handle);
    }

    #[irql(PASSIVE)]
    fn WdfInterruptDisable(handle: Handle) {
        with_interrupt(handle, |interrupt| interrupt.is_disabled = true);
        let _ = disable(handle);
    }

    #[irql(ANY)]
    fn WdfInterruptGetDevice(handle: Handle) -> Handle {
        interrupt(handle).device
    }

    #[irql(ANY)]
    fn WdfInterruptWdmGetInterrupt(handle: Handle) -> GuestPtr<INTERRUPT_OBJECT> {
        wdm_object(&interrupt(handle))
    }

    #[irql(DISPATCH)]
    fn WdfInterruptGetInfo(handle: Handle, info: GuestPtr<WDF_INTERRUPT_INFO>) -> Result<(), Fault> {
        let interrupt = interrupt(handle);
        object::needs_place(info);
        if !structures::INTERRUPT_INFO.fits(info)? {
            return Ok(());
        }
        let resource = interrupt.resource;
        let is_message = resource.is_some_and(|resource| resource.message.is_some());
        let processors = resource.is_some();
        info.TargetProcessorSet().write(processors.into())?;
        info.MessageNumber().write(interrupt.message)?;
        info.Vector().write(resource.map_or(0, |resource| resource.vector))?;
        info.Irql().write(if interrupt.passive || resource.is_none() { PASSIVE } else { DEVICE_IRQL })?;
        info.Mode().write(is_message.into())?;
        info.Polarity().write(0)?;
        info.MessageSignaled().write(is_message.into())?;
        info.ShareDisposition().write(resource.map_or(0, resources::sharing))
    }

    /// The host assigns the interrupt, whatever the driver prefers.
    #[irql(DISPATCH), fixed]
    fn WdfInterruptSetPolicy(handle: Handle, policy: i32, priority: i32, _processors: Ignored<u64>) {
        check_policy(handle, policy, priority);
    }

    #[irql(DISPATCH), fixed]
    fn WdfInterruptSetExtendedPolicy(
        handle: Handle,
        policy: GuestPtr<WDF_INTERRUPT_EXTENDED_POLICY>,
    ) -> Result<(), Fault> {
        if structures::INTERRUPT_EXTENDED_POLICY.fits(policy)? {
            check_policy(handle, policy.Policy().read()?, policy.Priority().read()?);
            if policy.Reserved().read()? != [0; 3] {
                verify::find(Rule::BadArgument, format_args!("the reserved members of the processors are not zero"));
            }
        }
        Ok(())
    }

    #[irql(DISPATCH), fixed]
    fn WdfInterruptReportActive(handle: Handle) {
        report_state(handle);
    }

    #[irql(DISPATCH), fixed]
    fn WdfInterruptReportInactive(handle: Handle) {
        report_state(handle);
    }
}

/// An interrupt object.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
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
    object: GuestPtr<INTERRUPT_OBJECT>,
    old_irql: u8,
    /// The number of the object among those of the device, also if its interrupt is not a message.
    message: u32,
    resource: Option<Resource>,
    /// Created in `EvtDevicePrepareHardware`, for the hardware resources of this start.
    for_hardware: bool,
    connected: bool,
    /// `EvtInterruptEnable` succeeded.
    is_enabled: bool,
    /// `WdfInterruptDisable` was called: the object stays disconnected until `WdfInterruptEnable`.
    is_disabled: bool,
}

impl Kind for Interrupt {
    fn name(&self) -> &'static str {
        "interrupt"
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn free(&self) {
        nt_kernel::lock(&kernel().pool).free_object(self.object.address());
    }
}

fn with_interrupt<R>(handle: Handle, body: impl FnOnce(&mut Interrupt) -> R) -> R {
    object::part(handle, body)
}

fn interrupt(handle: Handle) -> Interrupt {
    with_interrupt(handle, |interrupt| *interrupt)
}

fn create_interrupt(
    call: &Call,
    device: Handle,
    config: GuestPtr<WDF_INTERRUPT_CONFIG>,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
) -> Outcome<Handle> {
    let (late, preparing) = with_device(device, |device| (device.resources != [Handle::NULL; 2], device.preparing));
    let old = structures::INTERRUPT_CONFIG.check(config)? <= OLD_CONFIG;
    let newer = |part: GuestPtr<GuestPtr<Code>>| if old { Ok(GuestPtr::NULL) } else { part.read() };
    let dpc = config.EvtInterruptDpc().read()?;
    let work = newer(config.EvtInterruptWorkItem())?;
    let isr = config.EvtInterruptIsr().read()?;
    let passive = !old && config.PassiveHandling().read()? != 0;
    let spin_lock = Handle::new(config.SpinLock().read()?);
    let wait_lock = Handle::new(if old { 0 } else { config.WaitLock().read()? });
    let [raw, named] =
        if old { [GuestPtr::NULL; 2] } else { [config.InterruptRaw().read()?, config.InterruptTranslated().read()?] };
    let parameter = NtStatus::InvalidParameter;
    let state = NtStatus::InvalidDeviceState;
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
    let serialized = config.AutomaticSerialization().read()? != 0;
    let options = if serialized { Options::default() } else { Options::WITHOUT_PARENT };
    let attributes = Attributes::read(attributes, options)?;
    let spin = if spin_lock.is_null() { GuestPtr::NULL } else { locks::word(spin_lock) };
    let service = Service { routine: isr, context: 0, lock: spin, irql: DEVICE_IRQL };
    let wait_lock = if passive && wait_lock.is_null() { locks::new_wait_lock(call.from, device)? } else { wait_lock };
    let data = Interrupt {
        device,
        isr,
        dpc,
        enable: config.EvtInterruptEnable().read()?,
        disable: config.EvtInterruptDisable().read()?,
        work,
        serialized,
        passive,
        wait_lock,
        object: io::new_object(service)?,
        old_irql: 0,
        message: with_device(device, |device| device.interrupts.len()) as u32,
        resource: named.non_null().and_then(|named| by_descriptor(device, named)),
        for_hardware: late,
        connected: false,
        is_enabled: false,
        is_disabled: false,
    };
    let handle = object::create_with(call.from, &attributes, Some(device), data)?;
    with_device(device, |device| device.interrupts.push(handle));
    Ok(handle)
}

/// Returns the interrupt that a resource descriptor of a device describes.
fn by_descriptor(device: Handle, named: GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>) -> Option<Resource> {
    let lists = with_device(device, |device| device.resources);
    let mut lists = lists.into_iter().filter(|list| object::exists(*list));
    let vector = lists.find_map(|list| resource_list::by_copy(list, named))?.u.get(1).copied().unwrap_or_default();
    resources::interrupts().into_iter().find(|interrupt| interrupt.vector == vector)
}

/// Called before a device starts: creates its resource lists and assigns the interrupts to its interrupt objects.
pub(super) fn assign(device: Handle) -> Outcome<[Handle; 2]> {
    let mut lists = [Handle::NULL; 2];
    let has_hardware = with_device(device, |device| !device.init.control && device.init.parent == Handle::NULL);
    let all = if has_hardware { resources::descriptors() } else { Default::default() };
    for (list, descriptors) in lists.iter_mut().zip(all) {
        *list = resource_list::new(device, descriptors)?;
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

/// Disables and disconnects the interrupts of a device that leaves its working state. Returns the last failure.
pub(super) fn disable_all(device: Handle) -> Result<(), NtStatus> {
    let interrupts = with_device(device, |device| device.interrupts.clone());
    let mut result = Ok(());
    for interrupt in interrupts.into_iter().rev() {
        result = disable(interrupt).and(result);
    }
    result
}

fn enable(handle: Handle) -> Result<(), NtStatus> {
    let (interrupt, physical) = physical(handle);
    let may_connect = !interrupt.connected && !interrupt.is_disabled;
    let Some(resource) = interrupt.resource.filter(|_| may_connect) else { return Ok(()) };
    with_interrupt(handle, |interrupt| interrupt.connected = true);
    io::listen(interrupt.object, physical, resource, move || {
        let arguments = [handle.as_int(), interrupt.message.into()];
        let serve = |irql| call_back("EvtInterruptIsr", irql, interrupt.isr, &arguments) as u8 != 0;
        locked(handle, interrupt.object, serve).or_stop()
    });
    run_callback(handle, "EvtInterruptEnable", interrupt.enable)?;
    with_interrupt(handle, |interrupt| interrupt.is_enabled = true);
    Ok(())
}

fn disable(handle: Handle) -> Result<(), NtStatus> {
    let interrupt = interrupt(handle);
    if !interrupt.connected {
        return Ok(());
    }
    let was_enabled = with_interrupt(handle, |interrupt| std::mem::take(&mut interrupt.is_enabled));
    let disabled = if was_enabled { run_callback(handle, "EvtInterruptDisable", interrupt.disable) } else { Ok(()) };
    io::disconnect(interrupt.object);
    with_interrupt(handle, |interrupt| interrupt.connected = false);
    // The DPC or work item of the service routine must run before the device leaves its working state.
    kernel().scheduler.wait(None, |state| (!state.is_pending(handle.as_int())).then_some(()));
    disabled
}

fn physical(handle: Handle) -> (Interrupt, GuestPtr<DEVICE_OBJECT>) {
    let interrupt = interrupt(handle);
    (interrupt, with_device(interrupt.device, |device| device.init.physical))
}

fn run_callback(handle: Handle, name: &'static str, callback: GuestPtr<Code>) -> Result<(), NtStatus> {
    if callback.is_null() {
        return Ok(());
    }
    let Interrupt { device, object, .. } = interrupt(handle);
    let arguments = [handle.as_int(), device.as_int()];
    let status = locked(handle, object, |irql| call_back(name, irql, callback, &arguments)).or_stop();
    NtStatus::from_int(status as u32).ok().inspect_err(|status| {
        with_device(device, |device| device.failed = Some((name, *status)));
    })
}

/// Returns the object that the kernel has for an interrupt; NULL if it is not connected.
fn wdm_object(interrupt: &Interrupt) -> GuestPtr<INTERRUPT_OBJECT> {
    if interrupt.connected { interrupt.object } else { GuestPtr::NULL }
}

/// Reports a mistake that stops Microsoft's framework only with its verifier.
fn misuse(what: &str) {
    verify::find(Rule::FrameworkMisuse, format_args!("{what}"));
}

/// Returns whether an interrupt is connected, so that its lock can be used. Otherwise reports a mistake: the framework then does
/// nothing.
fn can_lock(interrupt: &Interrupt) -> bool {
    if !interrupt.connected {
        misuse("uses the lock of an interrupt that is not connected, which locks nothing");
    }
    interrupt.connected
}

fn report_state(handle: Handle) {
    if !interrupt(handle).connected {
        misuse("reports the state of an interrupt that is not connected");
    }
}

/// Checks the values of `WDF_INTERRUPT_POLICY` and `WDF_INTERRUPT_PRIORITY`. The framework ignores others.
fn check_policy(handle: Handle, policy: i32, priority: i32) {
    interrupt(handle);
    if !(0..=5).contains(&policy) || !(1..=3).contains(&priority) {
        verify::find(Rule::BadArgument, format_args!("the policy {policy} or the priority {priority} does not exist"));
    }
}

/// Runs `body` under the interrupt's lock, and passes it the IRQL of the lock. `object` is the kernel's, which it reads.
fn locked<R>(handle: Handle, object: GuestPtr<INTERRUPT_OBJECT>, body: impl FnOnce(u8) -> R) -> Result<R, Fault> {
    let interrupt = interrupt(handle);
    if !interrupt.passive {
        return io::locked(object, body);
    }
    object.SynchronizeIrql().read()?;
    locks::take_wait_lock(interrupt.wait_lock);
    let result = body(PASSIVE);
    locks::give_wait_lock(interrupt.wait_lock);
    Ok(result)
}

fn acquire(handle: Handle, from: u64) -> Result<(), Fault> {
    let interrupt = interrupt(handle);
    if interrupt.passive {
        object::needs_passive(true);
        locks::take_wait_lock(interrupt.wait_lock);
        return Ok(());
    }
    if !can_lock(&interrupt) {
        return Ok(());
    }
    let old = io::acquire(LockKind::Interrupt, interrupt.object, from)?;
    with_interrupt(handle, |interrupt| interrupt.old_irql = old);
    Ok(())
}

fn release(handle: Handle) -> Result<(), Fault> {
    let interrupt = interrupt(handle);
    if interrupt.passive {
        locks::give_wait_lock(interrupt.wait_lock);
        return Ok(());
    }
    if !can_lock(&interrupt) {
        return Ok(());
    }
    io::release(LockKind::Interrupt, interrupt.object, interrupt.old_irql)
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
pub fn source(handle: Handle) -> Option<GuestPtr<DEVICE_OBJECT>> {
    (object::exists(handle) && device::nearest(handle) == Some(handle))
        .then(|| with_device(handle, |device| device.init.physical))
}
