//! Memory: pages from the system, and typed access to the memory that a driver's addresses refer to.
//!
//! [`GuestPtr`] and [`GuestSlice`] are the only way to guest memory. Only the instructions in `access` touch it.

#[cfg(not(miri))]
mod access;
#[cfg(miri)]
#[path = "model.rs"]
mod access;
mod fault;
mod plain;
mod pointer;
mod poke;
mod region;
mod slice;

#[cfg(miri)]
pub use access::map;
pub use access::recover;
pub use fault::{Access, Fault, MayFault, OrStop, Recovery, Unhandled, is_canonical, on_unhandled};
pub use plain::Plain;
pub use pointer::{Code, GuestPtr, Opaque};
pub(crate) use poke::poke;
pub use region::{
    PAGE, Protection, Region, USER_END, give_back, guard, guard_all, map_file, memory_file, pages, populate_all,
    protect, release, unguard,
};
pub use slice::GuestSlice;
