//! The executive: objects and handles, callbacks, versions and processors, bug checks, the driver's image.

mod bugcheck;
mod callback;
mod directory;
mod event;
pub(crate) mod handle;
pub(crate) mod keys;
mod namespace;
mod notify;
pub(crate) mod object;
pub(crate) mod paths;
mod query;
mod raise;
mod recorder;
mod reference;
mod system;

pub(crate) use callback::Callbacks;
pub use keys::KeyOperation;
pub(crate) use notify::Notifications;
pub(crate) use raise::raise;
pub use raise::{Notification, Notified, TargetEvent};
pub(crate) use system::{SEED, random_bytes};

use crate::routine::Routine;

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
