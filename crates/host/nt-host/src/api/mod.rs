//! The public API: a host with one driver, its devices, and traces with expectations.

mod builder;
mod callbacks;
mod compare;
mod coverage;
mod device;
mod expect;
mod file;
mod frameworks;
mod host;
mod images;
mod matrix;
mod network;
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
pub use frameworks::Frameworks;
pub use host::{NtHost, Storm};
pub use matrix::{Broken, Matrix, Mistake, Survey};
pub(crate) use target::Target;
pub use trace::{Trace, TraceSession};
pub use volume::{FileOperation, Port, Volume, VolumeFile};
