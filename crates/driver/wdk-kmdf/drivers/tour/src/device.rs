//! The device: what it does when it starts and stops.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{
    Access, ChildDevice, ChildList, Deferred, Device, DeviceHandle, DeviceProperty, FileEvents, FileHandle, Interrupt,
    InterruptEvents, IoTarget, IoType, Isr, OwnRequest, Passive, PendingRequest, PowerReference, PowerState, Queue,
    RegistryKey, RemoteTarget, Resource, Resources, SpinLock, UnicodeString, WaitLock, WakeEvents, WmiBlock, WmiEvents,
    WmiMethod, wide,
};
use wdk_sys::{FILE_GENERIC_READ, FILE_GENERIC_WRITE, REG_BINARY};

use crate::helper;
use crate::lamp::Lamp;

const INTERFACE: Guid = Guid::from_u128(0x5f0a_9f07_6b3e_4a51_93f0_19a4_2f0e_77c2);
/// The data blocks for WMI.
const OPENED: Guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61a0);
const LIMIT: Guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61a1);
/// The limit with which the device refuses to be armed.
const NOT_ARMED: u32 = 99;
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(1));

pub(crate) struct Tour {
    pub(crate) waiting: Queue,
    pub(crate) target: Option<IoTarget>,
    /// How often requests of a kind came.
    pub(crate) counts: WaitLock<[u32; 4]>,
    interrupt: Interrupt,
    message: Interrupt,
    interrupts: AtomicU32,
    _internal: Queue,
    /// A request for the device below, and the client's request that it is for.
    pub(crate) own: Option<OwnRequest>,
    pub(crate) client: PendingRequest,
    /// A device on this one.
    pub(crate) lamp: SpinLock<Option<ChildDevice<Lamp>>>,
    _opened: WmiBlock<[u32; 2]>,
    limit: WmiBlock<u32>,
    /// Other devices on this one, in a list.
    pub(crate) lamps: ChildList<u64>,
    /// Keeps this device in D0.
    pub(crate) power: SpinLock<Option<PowerReference<Self>>>,
    /// How often it has left D0.
    pub(crate) sleeps: AtomicU32,
}

impl Tour {
    pub(crate) fn new(device: DeviceHandle<'_, Self>, internal: Queue) -> Result<Self, NtStatus> {
        device.create_interface(&INTERFACE)?;
        let target = device.io_target();
        Ok(Self {
            waiting: device.create_manual_queue(false)?,
            own: target.as_ref().map(|target| device.create_request(target)).transpose()?,
            client: device.create_pending_request()?,
            lamp: SpinLock::new(None),
            _opened: device.create_wmi_block::<()>(&OPENED)?,
            limit: device.create_wmi_block::<Second>(&LIMIT)?,
            lamps: device.create_child_list()?,
            power: SpinLock::new(None),
            sleeps: AtomicU32::new(0),
            target,
            counts: device.create_wait_lock([0; 4])?,
            interrupt: device.create_interrupt::<()>()?,
            message: device.create_interrupt::<Second>()?,
            interrupts: AtomicU32::new(0),
            _internal: internal,
        })
    }
}

impl Drop for Tour {
    fn drop(&mut self) {
        helper::delete();
    }
}

impl Device for Tour {
    const IO_TYPE: IoType = IoType::Direct;

    fn prepare_hardware(&self, device: DeviceHandle<'_, Self>, resources: Resources<'_>) -> Result<(), NtStatus> {
        let count = resources.count();
        let is_complete =
            (0..count).all(|index| resources.translated(index).is_some() && resources.untranslated(index).is_some());
        let interrupts = (0..count).filter(|index| resources.translated(*index) == Some(Resource::Interrupt)).count();
        let is_one_more = resources.translated(count).is_some();
        wdk::println!("tour: {count} resources, {interrupts} interrupts, {is_complete}, and {is_one_more}");
        let mut id = [0; 256];
        let length = device.query_property(DeviceProperty::HardwareId, &mut id)?;
        wdk::println!("tour: a hardware id of {length} bytes");
        for key in [device.open_hardware_key(Access::Write)?, device.open_software_key(Access::Write)?] {
            registry(&key, device.passive())?;
        }
        query_helper(device)
    }

    fn release_hardware(&self, device: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        let counts = self.counts.with(device.passive(), |counts| *counts);
        wdk::println!("tour: counts {counts:?}");
        Ok(())
    }

    fn d0_entry(&self, device: DeviceHandle<'_, Self>, _: PowerState) -> Result<(), NtStatus> {
        device.set_interface_state(&INTERFACE, true);
        let link = device.interface_string(&INTERFACE)?;
        let copy = UnicodeString::new(device.passive(), link.text(device.passive()))?;
        drop(link);
        if copy.text(device.passive()).is_empty() {
            return Err(NtStatus::InternalError);
        }
        Ok(())
    }

    fn d0_exit(&self, _: DeviceHandle<'_, Self>, _: PowerState) -> Result<(), NtStatus> {
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn self_managed_io_flush(&self, device: DeviceHandle<'_, Self>) {
        self.waiting.purge_and_wait(device.passive());
        wdk::println!("tour: flush");
    }

    fn self_managed_io_cleanup(&self, _: DeviceHandle<'_, Self>) {
        self.waiting.drain();
        wdk::println!("tour: self-managed cleanup");
    }

    fn cleanup(&self) {
        // They refer to this device.
        drop(self.lamp.with(Option::take));
        drop(self.power.with(Option::take));
    }

    fn query_stop(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        Err(NtStatus::DeviceBusy)
    }

    fn query_remove(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        wdk::println!("tour: query remove");
        Ok(())
    }

    fn surprise_removal(&self, device: DeviceHandle<'_, Self>) {
        wdk::println!("tour: surprise removal");
        device.set_failed(false);
    }
}

/// Writes and reads a key below `key`.
fn registry(key: &RegistryKey<'_>, passive: Passive<'_>) -> Result<(), NtStatus> {
    const KEY: [u16; 4] = wide(b"Tour");
    const NUMBER: [u16; 6] = wide(b"Number");
    const BYTES: [u16; 5] = wide(b"Bytes");
    const TEXT: [u16; 4] = wide(b"Text");
    key.create_key(&KEY, Access::Write)?.set_u32(&NUMBER, 42)?;
    let key = key.open_key(&KEY, Access::Write)?;
    key.set_value(&BYTES, REG_BINARY, &[1, 2, 3])?;
    let mut buffer = [0; 8];
    let (length, kind) = key.value(&BYTES, &mut buffer)?;
    key.remove_value(&BYTES)?;
    let is_gone = key.value(&BYTES, &mut buffer).is_err();
    key.set_string(&TEXT, &wide(b"text"))?;
    let text = key.string(&TEXT)?;
    if key.string(&NUMBER).is_ok() || text.text(passive) != wide(b"text") {
        return Err(NtStatus::InternalError);
    }
    wdk::println!("tour: {}, {length} bytes of type {kind}, gone {is_gone}", key.u32(&NUMBER)?);
    Ok(())
}

/// Sends requests to the other device.
fn query_helper(device: DeviceHandle<'_, Tour>) -> Result<(), NtStatus> {
    let passive = device.passive();
    let helper: RemoteTarget = device.open_target(&helper::NAME, FILE_GENERIC_READ | FILE_GENERIC_WRITE)?;
    let mut reply = [0; 8];
    let control = helper.control(passive, 0x0022_2000, b"echo", &mut reply, TIMEOUT)?;
    let internal = helper.internal_control(passive, 0x0022_2004, &[], &mut reply, TIMEOUT)?;
    let read = helper.read(passive, 0, &mut reply, TIMEOUT)?;
    let write = helper.write(passive, 0, b"xyz", TIMEOUT)?;
    helper.stop(passive, true);
    let stopped = helper.start().is_ok();
    helper.close(passive);
    wdk::println!("tour: helper {control} {internal} {read} {write}, restarted {stopped}");
    let missing = device.open_target(&wide(br"\Device\Missing"), FILE_GENERIC_READ);
    wdk::println!("tour: missing {}", missing.is_err());
    Ok(())
}

/// An open file: its number.
pub(crate) struct Opened(u32);

impl FileEvents for Tour {
    type File = Opened;

    fn file_open(&self, device: DeviceHandle<'_, Self>, file: FileHandle<'_>) -> Result<Opened, NtStatus> {
        if file.name() == wide(br"\deny") {
            return Err(NtStatus::AccessDenied);
        }
        let number = self.counts.with(device.passive(), |counts| {
            let [opened, ..] = counts;
            *opened += 1;
            *opened
        });
        Ok(Opened(number))
    }

    fn file_cleanup(&self, file: &Opened) {
        wdk::println!("tour: cleanup of file {}", file.0);
    }

    fn file_close(&self, file: &Opened) {
        wdk::println!("tour: close of file {}", file.0);
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        wdk::println!("tour: drop of file {}", self.0);
    }
}

impl InterruptEvents for Tour {
    fn isr(&self, isr: Isr<'_>, _: u32) -> bool {
        self.interrupts.fetch_add(1, Ordering::Relaxed);
        isr.defer()
    }

    fn dpc(&self) {
        let count = self.interrupt.locked(|| self.interrupts.load(Ordering::Relaxed));
        wdk::println!("tour: DPC after {:?}", count.ok());
    }

    fn enable(&self) -> Result<(), NtStatus> {
        Ok(())
    }

    fn disable(&self) -> Result<(), NtStatus> {
        Ok(())
    }
}

/// The second interrupt and data block.
pub(crate) struct Second;

impl InterruptEvents<Second> for Tour {
    const DEFERRED: Deferred = Deferred::WorkItem;

    fn isr(&self, isr: Isr<'_>, _: u32) -> bool {
        isr.defer()
    }

    fn work(&self, device: DeviceHandle<'_, Self>) {
        let opened = self.counts.with(device.passive(), |[opened, ..]| *opened);
        wdk::println!("tour: work after {opened} files, {}", self.message.raw().is_null());
    }
}

impl WmiEvents for Tour {
    type Data = [u32; 2];

    fn query(&self, device: DeviceHandle<'_, Self>) -> Result<[u32; 2], NtStatus> {
        Ok(self.counts.with(device.passive(), |[opened, reads, ..]| [*opened, *reads]))
    }
}

impl WmiEvents<Second> for Tour {
    type Data = u32;

    fn query(&self, _: DeviceHandle<'_, Self>) -> Result<u32, NtStatus> {
        Ok(self.interrupts.load(Ordering::Relaxed))
    }

    fn set(&self, _: DeviceHandle<'_, Self>, data: u32) -> Result<(), NtStatus> {
        self.interrupts.store(data, Ordering::Relaxed);
        self.limit.fire_event(&data)
    }

    /// Method 1 adds to the limit and returns the sum.
    fn execute(&self, _: DeviceHandle<'_, Self>, method: WmiMethod<'_>) -> Result<(), NtStatus> {
        match method.id() {
            1 => {
                let term: u32 = method.input_value()?;
                let sum = self.interrupts.fetch_add(term, Ordering::Relaxed).wrapping_add(term);
                method.reply_value(&sum)
            }
            _ => Err(NtStatus::InvalidDeviceRequest),
        }
    }
}

impl WakeEvents for Tour {
    fn arm_wake_from_s0(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        wdk::println!("tour: armed while the system works");
        Ok(())
    }

    fn disarm_wake_from_s0(&self, _: DeviceHandle<'_, Self>) {
        wdk::println!("tour: disarmed while the system works");
    }

    fn wake_from_s0_triggered(&self, _: DeviceHandle<'_, Self>) {
        wdk::println!("tour: woke itself");
    }

    fn arm_wake_from_sx(&self, _: DeviceHandle<'_, Self>) -> Result<(), NtStatus> {
        wdk::println!("tour: armed");
        if self.interrupts.load(Ordering::Relaxed) == NOT_ARMED { Err(NtStatus::DeviceBusy) } else { Ok(()) }
    }

    fn disarm_wake_from_sx(&self, _: DeviceHandle<'_, Self>) {
        wdk::println!("tour: disarmed");
    }

    fn wake_from_sx_triggered(&self, _: DeviceHandle<'_, Self>) {
        wdk::println!("tour: woke the system");
    }
}
