//! A control device with a request for each way to pass buffers: a port of Microsoft's sample `general/ioctl/kmdf`.
//!
//! The original also reads and writes a log file. This one keeps the last input of each open file instead: a read returns it.
#![no_std]

extern crate wdk_panic;

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ControlDevice, Device, DeviceHandle, DeviceInit, Driver, DriverHandle, FileEvents, FileHandle, Memory, Passive,
    QueueConfig, QueueEvents, Request, SpinLock, create_driver, wide,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

const NAME: [u16; 14] = wide(br"\Device\NONPNP");
const LINK: [u16; 18] = wide(br"\DosDevices\NONPNP");
/// System and administrators.
const SDDL: [u16; 27] = wide(b"D:P(A;;GA;;;SY)(A;;GA;;;BA)");

/// The device type of the control codes.
const DEVICE_TYPE: u32 = 40001;
const IN_DIRECT: u32 = DEVICE_TYPE << 16 | 0x900 << 2 | 1;
const OUT_DIRECT: u32 = DEVICE_TYPE << 16 | 0x901 << 2 | 2;
const BUFFERED: u32 = DEVICE_TYPE << 16 | 0x902 << 2;

const REPLY: &[u8] = b"this String is from Device Driver !!!\0";
/// As much of a client's data as is kept.
const KEPT: usize = 256;

static DEVICE: SpinLock<Option<ControlDevice<Control>>> = SpinLock::new(None);

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<IoctlDriver>(driver, path) };
    created.and_then(create_device).err().unwrap_or(NtStatus::Success).as_signed()
}

fn create_device(driver: DriverHandle) -> Result<(), NtStatus> {
    let passive = Passive::current().ok_or(NtStatus::Unsuccessful)?;
    let device = driver.control_device(passive, &SDDL)?.name(&NAME)?.files().create(|device| {
        device.create_symbolic_link(&LINK)?;
        device.create_queue(QueueConfig::sequential().default_queue())?;
        Ok(Control)
    })?;
    DEVICE.with(|place| *place = Some(device));
    Ok(())
}

struct IoctlDriver;

impl Driver for IoctlDriver {
    const HAS_DEVICES: bool = false;

    fn device_add(_: DriverHandle, _: DeviceInit<'_>) -> Result<(), NtStatus> {
        Err(NtStatus::NotSupported)
    }

    fn unload(passive: Passive<'_>) {
        if let Some(device) = DEVICE.with(Option::take) {
            device.delete(passive);
        }
    }
}

struct Control;

impl Device for Control {}

/// What an open file keeps: the last input.
struct Kept(SpinLock<(Memory, usize)>);

impl FileEvents for Control {
    type File = Kept;

    fn file_open(&self, _: DeviceHandle<'_, Self>, _: FileHandle<'_>) -> Result<Kept, NtStatus> {
        Ok(Kept(SpinLock::new((Memory::new(KEPT, *b"Ioct")?, 0))))
    }
}

impl QueueEvents for Control {
    fn read(&self, mut request: Request) {
        let mut copy = [0; KEPT];
        let length = request.file::<Kept>().map_or(0, |file| {
            file.0.with(|(memory, length)| {
                copy.copy_from_slice(memory);
                *length
            })
        });
        let length = length.min(request.output_length());
        let result = request.reply(copy.get(..length).unwrap_or_default());
        request.finish(result);
    }

    fn device_control(&self, mut request: Request, code: u32) {
        let result = serve(&mut request, code);
        request.finish(result);
    }
}

fn serve(request: &mut Request, code: u32) -> Result<(), NtStatus> {
    if request.input_length() == 0 || request.output_length() == 0 {
        return Err(NtStatus::InvalidParameter);
    }
    let mut data = [0; KEPT];
    let length = match code {
        IN_DIRECT => request.copy_direct_input(0, &mut data)?,
        BUFFERED | OUT_DIRECT => request.copy_input(0, &mut data)?,
        _ => return Err(NtStatus::InvalidDeviceRequest),
    };
    if let Some(file) = request.file::<Kept>() {
        file.0.with(|(memory, kept)| {
            memory.copy_from_slice(&data);
            *kept = length;
        });
    }
    if code == IN_DIRECT {
        request.consume(request.output_length());
        return Ok(());
    }
    let length = REPLY.len().min(request.output_length());
    request.reply(REPLY.get(..length).unwrap_or_default())
}
