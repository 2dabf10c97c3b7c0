//! What the engine asks of the machine when a driver writes an event.

use etw_engine::Environment;

use crate::cpu::walk;
use crate::kernel::sync::process::{SYSTEM, thread_id};

/// The machine as the driver sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverView;

impl Environment for DriverView {
    fn process_id(&self) -> u32 {
        SYSTEM as u32
    }

    fn thread_id(&self) -> u32 {
        thread_id() as u32
    }

    /// The driver's part of the stack, from where the routine returns to. On Windows frames of the kernel are around and
    /// in between; here there is none.
    fn stack(&self, frames: &mut Vec<u64>) {
        if let Some(registers) = walk::here() {
            walk::walk(&registers, |address| {
                frames.push(address);
                true
            });
        }
    }
}
