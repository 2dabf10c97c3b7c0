//! Requests to the minidriver. Each is an IRP of the class driver.

use etw_types::NtStatus;
use nt_kernel::RequestKind;
use nt_kernel::io::request::client::{self, Completion, Packet, Submission};
use nt_kernel::io::request::{self, dispatch_to};
use nt_processor::layout::MDL;
use nt_processor::memory::{Code, Fault, GuestPtr};

use super::state::{Object, state};

/// An internal control request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    pub(super) code: u32,
    pub(super) input: u32,
    pub(super) output: u32,
    /// `Type3InputBuffer`.
    pub(super) argument: u64,
    pub(super) buffer: GuestPtr<u8>,
    pub(super) mdl: GuestPtr<MDL>,
}

impl Control {
    fn submission(self) -> Submission {
        Submission {
            major: RequestKind::INTERNAL_DEVICE_CONTROL.as_int(),
            parameters: [self.output.into(), self.input.into(), self.code.into(), self.argument],
            user_buffer: self.buffer,
            mdl: self.mdl,
            ..Submission::default()
        }
    }
}

/// Returns the minidriver's dispatch routine for a major function.
pub(super) fn routine(device: Object, major: u8) -> Option<GuestPtr<Code>> {
    state().minidriver(device)?.functions.get(usize::from(major))?.non_null()
}

/// Sends a request. Returns `None` if the minidriver does not handle such requests.
fn begin_with(device: Object, submission: &Submission) -> Result<Option<Packet>, Fault> {
    let Some(routine) = routine(device, submission.major) else { return Ok(None) };
    let deliver = |irp| {
        request::descend(device, irp)?;
        dispatch_to(device, irp, routine)
    };
    client::begin_with(device, submission, routine, deliver).map(Some)
}

/// Sends an internal control request.
pub(super) fn begin(device: Object, control: Control) -> Result<Option<Packet>, Fault> {
    begin_with(device, &control.submission())
}

/// Sends a request, and waits until it is completed.
pub(super) fn send(device: Object, submission: &Submission) -> Result<Completion, Fault> {
    let refused = Completion { status: NtStatus::InvalidDeviceRequest, ..Completion::default() };
    begin_with(device, submission)?.map_or(Ok(refused), client::finish)
}

/// Sends an internal control request, and waits until it is completed.
pub(super) fn send_control(device: Object, control: Control) -> Result<Completion, Fault> {
    send(device, &control.submission())
}
