//! The public API: a host with one driver, its devices, and traces with expectations.

mod align;
mod builder;
mod callbacks;
mod calls;
mod compare;
mod coverage;
mod device;
mod expect;
mod file;
mod frameworks;
mod hardware;
mod host;
mod images;
mod matrix;
mod memory;
mod network;
mod places;
mod storm;
mod system;
mod target;
mod trace;
mod volume;
mod volume_files;

pub use builder::Builder;
pub use callbacks::Callback;
pub use compare::Difference;
pub use device::{Device, PendingRequest};
pub use expect::Expectation;
pub use file::File;
#[cfg(feature = "cli")]
pub(crate) use file::output_is_lost;
pub use frameworks::Frameworks;
pub use hardware::{HardwareLog, pci_header};
pub use host::NtHost;
pub use matrix::{Attempt, Broken, Matrix, Mistake, Survey};
pub use memory::ClientMemory;
pub use storm::Storm;
pub(crate) use target::Target;
pub use trace::{Trace, TraceSession};
pub use volume::{FileOperation, Port, Volume, VolumeFile};
