//! Filter drivers: requests that a filter does not handle go to the device below, and its buffers are those of that device.

use etw_types::NtStatus;
use nt_processor::memory::{Fault, OrStop as _};
use nt_verifier::routine::Outcome;
use windows_constants::device::{DO_BUFFERED_IO, DO_DIRECT_IO};
use windows_constants::framework::{
    WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE, WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET,
};

use crate::Handle;
use crate::device::with_device;
use crate::queue::deliver::complete;
use crate::request::{Options, with_request};
use crate::target::send::send;
use crate::target::state::default_target;

/// Gives a filter the I/O type of the device below, whatever its driver has set; other devices keep theirs. As
/// `FxDevice::SetFilterIoType` (`shared/core/fxdevice.cpp`), when the device is attached and again each time it starts.
pub(crate) fn inherit_io_type(device: Handle) -> Result<(), Fault> {
    let (wdm, below, is_filter) = with_device(device, |device| (device.wdm, device.init.physical, device.init.filter));
    let Some(below) = below.non_null().filter(|_| is_filter) else { return Ok(()) };
    let inherited = below.Flags().read()? & (DO_BUFFERED_IO | DO_DIRECT_IO);
    wdm.Flags().change(|flags| flags & !(DO_BUFFERED_IO | DO_DIRECT_IO) | inherited)?;
    with_device(device, |device| device.init.direct = inherited & DO_BUFFERED_IO == 0);
    Ok(())
}

/// Passes a request on to the device below, which completes it.
pub(crate) fn forward(device: Handle, request: Handle) {
    // The framework has it on behalf of the driver.
    with_request(request, |request| (request.presented, request.delivered) = (true, true));
    match send_down(device, request).or_stop() {
        Ok(true) => {}
        Ok(false) => complete(request, NtStatus::InvalidDeviceState, 0),
        Err(status) => complete(request, status, 0),
    }
}

fn send_down(device: Handle, request: Handle) -> Outcome<bool> {
    let options = Options {
        flags: WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET | WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE,
        deadline: None,
    };
    Ok(send(request, default_target(0, device)?, options)?)
}
