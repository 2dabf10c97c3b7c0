//! Serialises what the Plug and Play manager and the power manager do with a device. Windows has one thread for Plug and
//! Play.

use nt_kernel::kernel;

use crate::Handle;
use crate::device::{Device, Phase};
use crate::state::{Framework, with};

/// The right to change the state of a device. It ends when the value is dropped.
pub(crate) struct Turn(Handle);

impl Turn {
    /// Waits until nothing else happens to a device. Returns `None` if the device was deleted: references can keep it in memory.
    pub(crate) fn take(device: Handle, phase: Phase) -> Option<Self> {
        let attempt = |framework: &mut Framework| {
            let Some(state) = framework.living::<Device>(device) else { return Some(None) };
            // A new device waits for its start.
            let is_free = state.phase.is_none() || (state.phase, phase) == (Some(Phase::Start), Phase::Start);
            is_free.then(|| {
                state.phase = Some(phase);
                Some(Self(device))
            })
        };
        kernel().scheduler.wait(None, |_| with(attempt)).flatten()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        with(|framework| {
            if let Some(device) = framework.get_mut::<Device>(self.0) {
                device.phase = None;
            }
        });
        kernel().scheduler.change(|_| ());
    }
}
