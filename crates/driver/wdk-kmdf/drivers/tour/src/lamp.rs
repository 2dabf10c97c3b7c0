//! A device on the driver's device, as a bus driver has.

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{ChildDevice, ChildListEvents, Device, DeviceHandle, PdoInit, PowerState, wide};

use crate::device::Tour;

/// The setup class of devices that need no driver.
const CLASS: Guid = Guid::from_u128(0x6bdd_1fc6_810f_11d0_bec7_0800_2be2_092f);

pub(crate) struct Lamp {
    watts: u32,
}

/// Reports a lamp.
pub(crate) fn plug(device: DeviceHandle<'_, Tour>) -> Result<ChildDevice<Lamp>, NtStatus> {
    device.child_device()?.describe(|init| describe(init, &wide(b"1")))?.create(|_| Ok(Lamp { watts: 40 }))
}

fn describe(init: &mut PdoInit<'_>, instance: &[u16]) -> Result<(), NtStatus> {
    init.id(&wide(br"TOUR\Lamp"), instance)?;
    init.hardware_id(&wide(br"TOUR\Lamp"))?;
    init.compatible_id(&wide(br"TOUR\Light"))?;
    init.text(&wide(b"A lamp"), &wide(b"On the tour"))?;
    init.raw_device(&CLASS)
}

/// Lamps in a list, by their numbers.
impl ChildListEvents for Tour {
    type Id = u64;
    type Child = Lamp;

    fn describe_child(&self, _: DeviceHandle<'_, Self>, id: &u64, init: &mut PdoInit<'_>) -> Result<(), NtStatus> {
        let Ok(digit @ 0..=9) = u16::try_from(*id) else { return Err(NtStatus::InvalidParameter) };
        describe(init, &[u16::from(b'L'), u16::from(b'0') + digit])
    }

    fn create_child(&self, id: &u64, _: DeviceHandle<'_, Lamp>) -> Result<Lamp, NtStatus> {
        wdk::println!("tour: lamp {id} in the list");
        Ok(Lamp { watts: 60 })
    }
}

impl Lamp {
    pub(crate) fn shine(&self) {
        wdk::println!("tour: {} W", self.watts);
    }
}

impl Device for Lamp {
    fn d0_entry(&self, _: DeviceHandle<'_, Self>, _: PowerState) -> Result<(), NtStatus> {
        wdk::println!("tour: the lamp is on");
        Ok(())
    }

    fn cleanup(&self) {
        wdk::println!("tour: the lamp goes");
    }
}

impl Drop for Lamp {
    fn drop(&mut self) {
        wdk::println!("tour: the lamp is gone");
    }
}
