//! Runs a plan in `nt-host`, for the trace and the replies to compare with.

use std::path::Path;

use driver_client::Reply;
use etw_types::{Guid, Level};
use nt_host::NtHost;

use crate::plan::Plan;

/// Runs the driver without Windows, in the order of the exercise: the recording is there first, then the driver is loaded, gets
/// a device and the requests, and is unloaded. Writes the trace, and returns the replies.
///
/// # Errors
///
/// If the driver cannot be loaded, a request cannot be sent, or the trace cannot be written.
pub fn run(image: &Path, plan: &Plan, etl: impl AsRef<Path>) -> Result<Vec<Reply>, String> {
    let text = |error: nt_host::Error| error.to_string();
    let host = NtHost::builder().driver(image).prepare().map_err(text)?;
    let session = host.session("expected").map_err(text)?;
    // The level and the keywords that record.ps1 enables.
    let trace = session.enable(Guid::from_name(&plan.provider), Level::from_int(0xFF), u64::MAX).map_err(text)?;
    host.load().map_err(text)?;
    let device = host.add_device().map_err(text)?;
    let file = device.open().map_err(text)?;
    let mut replies = Vec::new();
    for request in &plan.requests {
        let sent = file.ioctl(request.code, &request.input, request.output).map_err(text)?;
        replies.push(Reply::new(request.clone(), sent.status, sent.information, &sent.output));
    }
    file.close().map_err(text)?;
    device.remove().map_err(text)?;
    host.unload().map_err(text)?;
    trace.write_etl(etl).map_err(text)?;
    Ok(replies)
}
