//! The process, the thread and the call stack that the engine records when a driver writes an event.

use etw_engine::Environment;
use nt_processor::cpu::walk::{self, Frame};

use crate::sync::process::{SYSTEM, thread_id};

/// The machine as seen by the driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverView;

impl Environment for DriverView {
    /// The same as `KeGetCurrentProcessorNumber` returns. The machine of the host would make runs differ.
    fn processor(&self) -> u16 {
        0
    }

    fn process_id(&self) -> u32 {
        SYSTEM as u32
    }

    fn thread_id(&self) -> u32 {
        thread_id() as u32
    }

    /// Returns the driver's frames, starting with the return address of the routine. On Windows there are also frames
    /// of the kernel; here there are none.
    fn stack(&self, frames: &mut Vec<u64>) {
        if let Some(registers) = walk::here() {
            walk::walk(&registers, |Frame { address, .. }| {
                frames.push(address);
                true
            });
        }
    }
}
