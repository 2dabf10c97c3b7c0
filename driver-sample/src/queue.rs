//! Control requests. Each one is an activity with a start and a stop.

use wdk_etw::NtStatus;
use wdk_kmdf::{QueueEvents, Request};

use crate::device::SampleDevice;
use crate::events;
use crate::ioctl::{Command, Refusal};

impl From<Refusal> for NtStatus {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownCode => Self::InvalidDeviceRequest,
            Refusal::BufferTooSmall => Self::BufferTooSmall,
            Refusal::BadInterval => Self::InvalidParameter,
        }
    }
}

impl QueueEvents for SampleDevice {
    fn device_control(&self, mut request: Request, code: u32) {
        let activity = events::request_start(&self.device, code, request.input_length(), request.output_length());
        if let Ok(client) = request.activity_id(&events::IRP_ACTIVITY) {
            events::request_client(activity.id(), &client);
        }
        self.device.count_request();
        let result = self.serve(&mut request, code);
        if let Err(status) = result {
            events::request_refused(activity.id(), code, status);
        }
        // Stop the activity before completing the request: the client may react to the reply immediately, and the trace
        // should show the stop event first.
        let information = if result.is_ok() { request.information() } else { 0 };
        events::request_stop(activity, result.err().unwrap_or(NtStatus::Success), information);
        request.finish(result);
    }
}

impl SampleDevice {
    /// Handles the request.
    fn serve(&self, request: &mut Request, code: u32) -> Result<(), NtStatus> {
        let output_length = request.output_length();
        match Command::parse(code, request.input()?, output_length)? {
            Command::Echo => {
                request.reply_with_input()?;
                self.device.count_bytes(u64::try_from(request.information()).unwrap_or_default());
                Ok(())
            }
            Command::GetStatistics => request.reply(&self.device.statistics().encode()),
            Command::GetStatuses => request.reply(&events::statuses().encode()),
            Command::SetInterval(interval) => {
                self.device.set_interval(interval);
                self.restart_timer();
                Ok(())
            }
        }
    }
}
