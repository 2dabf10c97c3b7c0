//! The information classes of sessions and of the machine: `TraceSetInformation`, `TraceQueryInformation` and
//! `EnumerateTraceGuidsEx`.
//!
//! Every class has a typed value; the functions that take bytes check the length and convert to it. The checks are made
//! in this order: the class, whether the function supports it, the build, the right to control sessions, the kind of
//! handle, the length, the session, the profile privilege, the limits. The order is our choice; the error codes are the
//! documented ones, or those of [`Answers`](crate::Answers).

mod apply;
mod bytes;
mod class;
mod enumerate;
mod query;
mod set;

pub(crate) use class::MachineInformation;
pub use class::QueryError;
pub use enumerate::{Enabled, Enumeration, ProviderInstance};
pub use query::{Information, PmcSession};
pub use set::SetInformation;
