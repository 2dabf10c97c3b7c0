//! The executive: objects and handles, callbacks, versions and processors, bug checks, the driver's image.

mod bugcheck;
mod callback;
mod directory;
mod event;
pub mod handle;
pub mod keys;
mod namespace;
mod notify;
pub mod object;
pub(crate) mod paths;
mod query;
pub(crate) mod raise;
mod recorder;
mod reference;
mod system;

use nt_verifier::routine::Routine;

pub use callback::Callbacks;
pub use keys::KeyOperation;
pub use notify::Notifications;
pub use raise::raise;
pub use raise::{Notification, Notified, TargetEvent};
pub(crate) use system::SEED;
pub use system::random_bytes;

pub(super) const ROUTINES: &[&[Routine]] = &[
    bugcheck::ROUTINES,
    callback::ROUTINES,
    directory::ROUTINES,
    event::ROUTINES,
    keys::ROUTINES,
    notify::ROUTINES,
    query::ROUTINES,
    recorder::ROUTINES,
    reference::ROUTINES,
    system::ROUTINES,
];
