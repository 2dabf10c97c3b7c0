//! Hardware that a test scripts: ports, and registers in the memory of a device.
//!
//! A driver reaches a port by an instruction, and a register through memory that it maps. Both fault in this process, and
//! the fault handler comes here: [`read`] returns what the `script` says, and [`write()`] takes what the driver writes. All
//! accesses are recorded, for the test. Memory that no script is about is plain memory, and costs nothing.

mod script;
mod state;

pub use script::{HardwareAccess, HardwareScript, Register};
pub use state::{Hardware, attach, map, read, take, unmap, write};
pub(crate) use state::{Mapping, mapping_at};
