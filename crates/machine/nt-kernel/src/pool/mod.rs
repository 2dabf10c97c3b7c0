//! Pool: its allocations, its routines, lookaside lists, and memory that may be paged out.

mod blocks;
mod kind;
mod lookaside;
mod pages;
pub mod paging;
mod routines;
mod sheets;
mod together;

use nt_verifier::routine::Routine;

pub use blocks::Pool;
pub(crate) use blocks::unwritten;
pub(crate) use kind::EXECUTABLE;
pub use kind::Kind;
pub use routines::free;
pub use together::together;

pub(super) const ROUTINES: &[&[Routine]] = &[lookaside::ROUTINES, routines::ROUTINES];
