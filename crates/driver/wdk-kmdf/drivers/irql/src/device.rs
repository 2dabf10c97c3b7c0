//! The device, whose callbacks call the functions.

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{
    Access, ChildDevice, ChildList, ChildListEvents, Completion, Device, DeviceHandle, DriverHandle, FileEvents,
    FileHandle, Interrupt, InterruptEvents, IoTarget, Isr, Memory, OwnRequest, OwnRequestEvents, Passive, PdoInit,
    PendingRequest, Queue, QueueConfig, QueueEvents, Request, Resources, SendEvents, SpinLock, StoppedRequest, Timer,
    TimerEvents, UnicodeString, WaitLock, WmiBlock, WmiEvents, WmiMethod, WorkItem, WorkItemEvents, wide,
};
use wdk_sys::call_unsafe_wdf_function_binding;

use crate::{apc, dirql, dispatch, high};

const fn code(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}

const TRACE: u32 = code(0);
const USE_OBJECTS: u32 = code(1);
const USE_BUFFERS: u32 = code(2);
const REPLY_AT_HIGH: u32 = code(3);
const FORWARD: u32 = code(4);
const KEEP: u32 = code(5);
const RELEASE: u32 = code(6);
const SEND: u32 = code(7);
const FORGET: u32 = code(8);
const SEND_OWN: u32 = code(9);
const UNPLUG: u32 = code(10);
/// What is sent to the device below.
pub(crate) const TO_TARGET: u32 = code(11);

const BLOCK: Guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61c0);
/// The setup class of devices that need no driver.
const CLASS: Guid = Guid::from_u128(0x6bdd_1fc6_810f_11d0_bec7_0800_2be2_092f);

pub(crate) struct Irql {
    pub(crate) driver: DriverHandle,
    pub(crate) timer: Timer,
    pub(crate) work: WorkItem,
    pub(crate) manual: Queue,
    pub(crate) pending: PendingRequest,
    pub(crate) children: ChildList<u32>,
    pub(crate) child: SpinLock<Option<ChildDevice<Child>>>,
    pub(crate) interrupt: Interrupt,
    pub(crate) block: WmiBlock<u32>,
    pub(crate) wait_lock: WaitLock<u32>,
    pub(crate) target: IoTarget,
    pub(crate) own: OwnRequest,
    pub(crate) count: SpinLock<u32>,
    /// How often the interrupt was locked in its DPC.
    locked: AtomicU32,
}

/// A device on this one, and a control device.
pub(crate) struct Child;

impl Device for Child {}

pub(crate) struct Opened;

impl Irql {
    pub(crate) fn new(driver: DriverHandle, device: DeviceHandle<'_, Self>) -> Result<Self, NtStatus> {
        device.create_queue(QueueConfig::parallel().default_queue())?;
        let target = device.io_target().ok_or(NtStatus::NoSuchDevice)?;
        let child = device.child_device()?.describe(|init| describe(init, &wide(b"1")))?;
        high::child(&child);
        Ok(Self {
            driver,
            timer: device.create_timer()?,
            work: device.create_work_item()?,
            manual: device.create_manual_queue(false)?,
            pending: device.create_pending_request()?,
            children: device.create_child_list()?,
            child: SpinLock::new(Some(child.create(|_| Ok(Child))?)),
            interrupt: device.create_interrupt()?,
            block: device.create_wmi_block(&BLOCK)?,
            wait_lock: device.create_wait_lock(0)?,
            own: device.create_request(&target)?,
            target,
            count: SpinLock::new(0),
            locked: AtomicU32::new(0),
        })
    }
}

fn describe(init: &mut PdoInit<'_>, instance: &[u16]) -> Result<(), NtStatus> {
    high::description(init);
    init.id(&wide(br"IRQL\Child"), instance)?;
    init.raw_device(&CLASS)
}

impl Device for Irql {
    fn prepare_hardware(&self, device: DeviceHandle<'_, Self>, resources: Resources<'_>) -> Result<(), NtStatus> {
        high::resources(&resources);
        dispatch::resources(&resources);
        let key = device.open_hardware_key(Access::Read)?;
        let string = UnicodeString::new(device.passive(), &wide(b"text"))?;
        high::values_of(&Memory::new(4, *b"Irql")?, &string, &key);
        Ok(())
    }

    fn cleanup(&self) {
        drop(self.child.with(Option::take));
        wdk::println!("irql: the interrupt was locked {} times", self.locked.load(Ordering::Relaxed));
    }

    fn surprise_removal(&self, device: DeviceHandle<'_, Self>) {
        dispatch::fail(device);
    }
}

impl FileEvents for Irql {
    type File = Opened;

    fn file_open(&self, _: DeviceHandle<'_, Self>, file: FileHandle<'_>) -> Result<Opened, NtStatus> {
        high::file(&file);
        Ok(Opened)
    }
}

impl ChildListEvents for Irql {
    type Id = u32;
    type Child = Child;

    fn describe_child(&self, _: DeviceHandle<'_, Self>, _: &u32, init: &mut PdoInit<'_>) -> Result<(), NtStatus> {
        describe(init, &wide(b"2"))
    }

    fn create_child(&self, _: &u32, _: DeviceHandle<'_, Child>) -> Result<Child, NtStatus> {
        Ok(Child)
    }
}

impl TimerEvents for Irql {
    fn tick(&self) {}
}

impl WorkItemEvents for Irql {
    fn work(&self, _: DeviceHandle<'_, Self>) {}
}

impl InterruptEvents for Irql {
    fn isr(&self, isr: Isr<'_>, _: u32) -> bool {
        high::interrupt(&isr);
        dirql::defer(&isr)
    }

    fn dpc(&self) {
        self.locked.fetch_add(dirql::lock(&self.interrupt).into(), Ordering::Relaxed);
    }
}

impl WmiEvents for Irql {
    type Data = u32;

    fn query(&self, _: DeviceHandle<'_, Self>) -> Result<u32, NtStatus> {
        Ok(7)
    }

    fn execute(&self, _: DeviceHandle<'_, Self>, method: WmiMethod<'_>) -> Result<(), NtStatus> {
        high::method(&method);
        method.reply_value(&7_u32)
    }
}

impl SendEvents for Irql {
    fn sent(&self, request: Request, status: NtStatus) {
        request.complete(status);
    }
}

impl OwnRequestEvents for Irql {
    fn completed(&self, _: Completion) {}
}

impl QueueEvents for Irql {
    fn device_control(&self, mut request: Request, code: u32) {
        let result = match code {
            TRACE => {
                trace(&request);
                Ok(())
            }
            USE_OBJECTS => self.use_objects(&request),
            USE_BUFFERS => dispatch::buffers(&mut request),
            REPLY_AT_HIGH => {
                high::client(&mut request);
                return dispatch::complete(request);
            }
            FORWARD => return dispatch::forward(self, request),
            KEEP => return dispatch::keep(self, request),
            RELEASE => dispatch::take(self).map(dispatch::complete).ok_or(NtStatus::NotFound),
            SEND => return dispatch::send(self, request),
            FORGET => return dispatch::send_and_forget(self, request),
            SEND_OWN => dispatch::send_own(self),
            UNPLUG => self.child.with(Option::take).map_or(Err(NtStatus::NotFound), dispatch::unplug),
            _ => Err(NtStatus::InvalidDeviceRequest),
        };
        dispatch::finish(request, result);
    }

    fn io_stop(&self, stopped: StoppedRequest<'_>) {
        high::stopped(&stopped);
        if !dispatch::acknowledge(self, &stopped) {
            wdk::println!("irql: a request that is not kept");
        }
    }
}

fn trace(request: &Request) {
    high::events();
    high::activities();
    high::values();
    apc::threads();
    // SAFETY: the driver owns the request.
    let irp = unsafe { call_unsafe_wdf_function_binding!(WdfRequestWdmGetIrp, request.raw()) };
    high::irp(irp.cast());
}

impl Irql {
    fn use_objects(&self, request: &Request) -> Result<(), NtStatus> {
        let passive = Passive::current().ok_or(NtStatus::InvalidDeviceState)?;
        let device = request.device::<Self>(passive).ok_or(NtStatus::InternalError)?;
        high::objects(self);
        dispatch::objects(self)?;
        let reference = dispatch::handle(device).ok_or(NtStatus::InternalError)?;
        if let Some(child) = self.child.with(Option::take) {
            high::handles(&device, &reference, &child);
            self.child.with(|place| *place = Some(child));
        }
        self.control(passive)
    }

    fn control(&self, passive: Passive<'_>) -> Result<(), NtStatus> {
        let _ = self.driver.is_version_available(passive, 1, 33);
        let init = self.driver.control_device(passive, &wide(b"D:P(A;;GA;;;SY)"))?;
        high::control(&init);
        let device = init.create(|_| Ok(Child))?;
        high::control_device(&device);
        device.delete(passive);
        Ok(())
    }
}
