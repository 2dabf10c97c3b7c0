//! The executive: objects and handles, callbacks, versions and processors, bug checks, the driver's image.

mod bugcheck;
mod callback;
mod directory;
pub(crate) mod object;
mod recorder;
mod system;

pub(crate) use callback::Callbacks;
pub(crate) use system::SEED;

use crate::routine::Routine;

pub(super) const ROUTINES: [&[Routine]; 6] = [
    bugcheck::ROUTINES,
    callback::ROUTINES,
    directory::ROUTINES,
    object::ROUTINES,
    recorder::ROUTINES,
    system::ROUTINES,
];
