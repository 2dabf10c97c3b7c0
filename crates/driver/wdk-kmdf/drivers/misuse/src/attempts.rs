//! Passes what does not fit: names that are too long, values of another type, indices and sizes outside of everything.

use core::time::Duration;

use wdk_etw::{Guid, IrpActivity, NtStatus};
use wdk_kmdf::{
    Access, ChildInit, DeviceHandle, DeviceInit, DeviceProperty, DriverHandle, Memory, Passive, PdoInit, RegistryKey,
    Request, UnicodeString, wide,
};
use wdk_sys::REG_BINARY;

use crate::{Misuse, Other};

/// A name that is too long for a counted string.
static LONG: [u16; 0x8000] = [0x78; 0x8000];
const NAME: [u16; 7] = wide(b"Attempt");
const MISSING: [u16; 7] = wide(b"Missing");
/// A class that nothing has.
const CLASS: Guid = Guid::from_u128(0x7f3a_14c2_8f21_4f7e_9a51_0d2b_33c9_61b1);
const SDDL: [u16; 27] = wide(b"D:P(A;;GA;;;SY)(A;;GA;;;BA)");

/// An attempt, and whether it was refused.
type Attempt = (&'static str, bool);

/// Makes all attempts at `PASSIVE_LEVEL`, and returns how many were not refused.
pub(crate) fn run(driver: DriverHandle, device: DeviceHandle<'_, Misuse>) -> u32 {
    let passive = device.passive();
    let mut taken = 0;
    let mut note = |attempts: &[Attempt]| {
        for (what, _) in attempts.iter().filter(|(_, is_refused)| !is_refused) {
            wdk::println!("misuse: takes {what}");
            taken += 1;
        }
    };
    note(&[
        ("a link with a long name", device.create_symbolic_link(&LONG) == Err(NtStatus::InvalidParameter)),
        ("a target with a long name", device.open_target(&LONG, 0).err() == Some(NtStatus::InvalidParameter)),
        ("a target that does not exist", device.open_target(&MISSING, 0).is_err()),
        ("a property without room", device.query_property(DeviceProperty::HardwareId, &mut []).is_err()),
        ("an interface of no class", device.interface_string(&CLASS).err() == Some(NtStatus::ObjectNameNotFound)),
        ("a long text", UnicodeString::new(passive, &LONG).err() == Some(NtStatus::InvalidParameter)),
        (
            "a period of centuries",
            device.create_periodic_timer(Duration::MAX).err() == Some(NtStatus::InvalidParameter),
        ),
        ("no memory", Memory::new(0, *b"Misu").is_err() && Memory::copy_of(&[], *b"Misu").is_err()),
        ("all memory", Memory::new(usize::MAX, *b"Misu").is_err()),
        ("a version that does not exist", !driver.is_version_available(passive, 1, u32::MAX)),
        ("a long descriptor", driver.control_device::<Other>(passive, &LONG).is_err()),
        ("a control device with a long name", long_name(driver, device).is_err()),
    ]);
    note(&children(device));
    note(&control(driver, passive));
    // The device has no such interface.
    device.set_interface_state(&CLASS, true);
    for key in [device.open_hardware_key(Access::Write), device.open_software_key(Access::Write)].into_iter().flatten()
    {
        note(&registry(&key));
    }
    if let Ok(key) = driver.open_parameters(passive, Access::Write) {
        note(&registry(&key));
    }
    taken
}

fn long_name(driver: DriverHandle, device: DeviceHandle<'_, Misuse>) -> Result<(), NtStatus> {
    driver.control_device::<Other>(device.passive(), &SDDL)?.name(&LONG).map(drop)
}

/// Uses a control device as if it were one of Plug and Play.
fn control(driver: DriverHandle, passive: Passive<'_>) -> [Attempt; 7] {
    let refused = Some(NtStatus::InvalidDeviceRequest);
    let mut attempts = [("a control device without a value", false); 7];
    let build = |device: DeviceHandle<'_, Misuse>| {
        device.set_failed(true);
        device.set_interface_state(&CLASS, true);
        attempts = [
            ("a control device as a bus", device.child_device::<Other>().err() == refused),
            ("a control device with a list of children", device.create_child_list::<()>().err() == refused),
            ("an idle control device", device.assign_idle_settings(Duration::ZERO, true).err() == refused),
            ("a control device that wakes", device.assign_wake_settings().err() == refused),
            ("a control device with data blocks", device.create_wmi_block::<()>(&CLASS).err() == refused),
            ("a control device with interrupts", device.create_interrupt::<()>().err() == refused),
            ("a control device with interfaces", device.create_interface(&CLASS).err() == refused),
        ];
        Err(NtStatus::Unsuccessful)
    };
    let created = driver.control_device::<Misuse>(passive, &SDDL).and_then(|init| init.create(build));
    if let Ok(device) = created {
        device.delete(passive);
    }
    attempts
}

fn children(device: DeviceHandle<'_, Misuse>) -> [Attempt; 4] {
    let is_refused = |describe: fn(&mut PdoInit<'_>) -> Result<(), NtStatus>| {
        let child: Result<ChildInit<'_, Other>, _> = device.child_device();
        child.and_then(|child| child.describe(describe)).err() == Some(NtStatus::InvalidParameter)
    };
    [
        (
            "a child with a long id",
            is_refused(|init| init.id(&LONG, &NAME)) && is_refused(|init| init.id(&NAME, &LONG)),
        ),
        ("a long hardware id", is_refused(|init| init.hardware_id(&LONG))),
        ("a long compatible id", is_refused(|init| init.compatible_id(&LONG))),
        ("a long description", is_refused(|init| init.text(&LONG, &NAME))),
    ]
}

fn registry(key: &RegistryKey<'_>) -> [Attempt; 5] {
    let long = Err(NtStatus::InvalidParameter);
    let set = key.set_value(&NAME, REG_BINARY, &[1, 2, 3]);
    let is_other = key.u32(&NAME).is_err() && key.string(&NAME).is_err();
    let is_small = key.value(&NAME, &mut []).is_err();
    let removed = key.remove_value(&NAME);
    [
        ("bytes as a number or text", set.is_ok() && is_other && removed.is_ok()),
        ("a value without room", is_small),
        ("a missing value", key.remove_value(&NAME).is_err() && key.open_key(&MISSING, Access::Read).is_err()),
        ("a value with a long name", key.set_u32(&LONG, 1) == long && key.set_string(&LONG, &NAME) == long),
        (
            "a key with a long name",
            key.create_key(&LONG, Access::Read).is_err() && key.set_string(&NAME, &LONG) == long,
        ),
    ]
}

/// Uses the buffers of a request for more than they have: five bytes of input, 32 of output.
pub(crate) fn overrun(request: &mut Request) -> Result<(), NtStatus> {
    static NO_ROUTINES: IrpActivity = IrpActivity::new();
    let small = NtStatus::BufferTooSmall;
    let mut copy = [0; 8];
    let inputs = [
        request.input_ref::<u64>() == Err(small) && request.input_value::<[u64; 4]>() == Err(small),
        request.copy_input(usize::MAX, &mut copy) == Ok(0),
        request.copy_direct_input(0, &mut copy) == Err(NtStatus::InvalidDeviceRequest),
        request.offset().is_none() && !request.is_cancelled() && !request.is_from_kernel(),
        request.activity_id(&NO_ROUTINES) == Err(NtStatus::NotSupported),
        request.reply_value(&[0_u64; 8]) == Err(small),
    ];
    let mut output = request.output()?;
    let outputs = [output.write_value(&[0_u64; 8]) == Err(small), output.value::<[u64; 8]>() == Err(small)];
    // A control request has no bytes to take.
    request.consume(usize::MAX);
    let is_refused = inputs.iter().chain(&outputs).all(|is_refused| *is_refused) && request.information() == 0;
    if is_refused { Ok(()) } else { Err(NtStatus::InternalError) }
}

/// Makes a mistake while a device is added.
pub(crate) fn add(init: DeviceInit<'_>, mistake: u32) -> Result<(), NtStatus> {
    match mistake {
        1 => init.filter().exclusive().device_type(u32::MAX).name(&LONG).map(drop),
        2 => {
            // The framework deletes what the device already has.
            let build = |device: DeviceHandle<'_, Misuse>| {
                device.create_timer()?;
                Err(NtStatus::Unsuccessful)
            };
            init.device().passive_level().create(build).map(drop)
        }
        _ => {
            // The device has no value, and the driver says that all is well.
            let _ = init.device().lock_user_buffers().create(|_: DeviceHandle<'_, Misuse>| Err(NtStatus::Unsuccessful));
            Ok(())
        }
    }
}
