//! A device on the driver's device, as a bus driver has.

use wdk_etw::{Guid, NtStatus};
use wdk_kmdf::{ChildDevice, Device, DeviceHandle, PowerState, wide};

use crate::device::Tour;

/// The setup class of devices that need no driver.
const CLASS: Guid = Guid::from_u128(0x6bdd_1fc6_810f_11d0_bec7_0800_2be2_092f);

pub(crate) struct Lamp {
    watts: u32,
}

/// Reports a lamp.
pub(crate) fn plug(device: DeviceHandle<'_, Tour>) -> Result<ChildDevice<Lamp>, NtStatus> {
    device
        .child_device()?
        .id(&wide(br"TOUR\Lamp"), &wide(b"1"))?
        .hardware_id(&wide(br"TOUR\Lamp"))?
        .compatible_id(&wide(br"TOUR\Light"))?
        .text(&wide(b"A lamp"), &wide(b"On the tour"))?
        .raw_device(&CLASS)?
        .create(|_| Ok(Lamp { watts: 40 }))
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
