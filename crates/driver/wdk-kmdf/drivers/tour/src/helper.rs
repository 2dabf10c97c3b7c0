//! A control device that the driver opens by name, as an I/O target.

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ControlDevice, Device, DriverHandle, Passive, QueueConfig, QueueEvents, Request, RequestKind, SpinLock, wide,
};

pub(crate) const NAME: [u16; 18] = wide(br"\Device\TourHelper");
const SDDL: [u16; 27] = wide(b"D:P(A;;GA;;;SY)(A;;GA;;;BA)");

static HELPER: SpinLock<Option<ControlDevice<Helper>>> = SpinLock::new(None);

pub(crate) struct Helper {
    greeting: [u8; 2],
}

impl Device for Helper {}

/// Creates the control device, unless it exists.
pub(crate) fn create(driver: DriverHandle) -> Result<(), NtStatus> {
    if HELPER.with(|helper| helper.is_some()) {
        return Ok(());
    }
    let passive = Passive::current().ok_or(NtStatus::Unsuccessful)?;
    let helper = driver.control_device(passive, &SDDL)?.name(&NAME)?.create(|device| {
        device.create_queue(QueueConfig::sequential().default_queue())?;
        Ok(Helper { greeting: *b"hi" })
    })?;
    HELPER.with(|place| *place = Some(helper));
    Ok(())
}

/// Deletes the control device. Windows does not unload a driver while it has one, so this is not left to `unload`.
pub(crate) fn delete() {
    if let (Some(passive), Some(helper)) = (Passive::current(), HELPER.with(Option::take)) {
        helper.delete(passive);
    }
}

impl QueueEvents for Helper {
    fn read(&self, mut request: Request) {
        let result = request.reply(&self.greeting);
        request.finish(result);
    }

    fn write(&self, mut request: Request) {
        request.consume(request.input_length());
        request.complete(NtStatus::Success);
    }

    fn device_control(&self, mut request: Request, code: u32) {
        let result = if request.kind() == RequestKind::Control(code) {
            request.reply_with_input()
        } else {
            Err(NtStatus::InternalError)
        };
        request.finish(result);
    }

    fn internal_device_control(&self, mut request: Request, code: u32) {
        let result = request.reply_value(&code);
        request.finish(result);
    }
}
