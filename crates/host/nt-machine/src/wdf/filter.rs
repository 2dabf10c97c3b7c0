//! Filter drivers: requests that a filter does not handle go to the device below.

use etw_types::NtStatus;

use super::Handle;
use super::deliver::complete;
use super::request::{Options, with_request};
use super::send::{IGNORE_TARGET_STATE, SEND_AND_FORGET, send};
use super::target_state::default_target;
use crate::memory::OrStop as _;
use crate::routine::Outcome;

/// Passes a request on to the device below, which completes it.
pub(super) fn forward(device: Handle, request: Handle) {
    // The framework has it on behalf of the driver.
    with_request(request, |request| (request.presented, request.delivered) = (true, true));
    match send_down(device, request).or_stop() {
        Ok(true) => {}
        Ok(false) => complete(request, NtStatus::InvalidDeviceState, 0),
        Err(status) => complete(request, status, 0),
    }
}

fn send_down(device: Handle, request: Handle) -> Outcome<bool> {
    let options = Options { flags: SEND_AND_FORGET | IGNORE_TARGET_STATE, deadline: None };
    Ok(send(request, default_target(0, device)?, options)?)
}
