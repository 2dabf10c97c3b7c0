//! Memory: pages from the system, and what a driver's addresses point at.

pub(crate) mod guest;
mod region;

pub(crate) use region::{PAGE, Protection, Region, protect};
