//! The information classes of sessions and of the machine: `TraceSetInformation`, `TraceQueryInformation` and
//! `EnumerateTraceGuidsEx` as engine state.
//!
//! Every class has a typed value; the functions over bytes check lengths and turn them into those. Order of checks: the
//! class, whether the function takes it, the build, the kind of handle, the length, the session, the rights, the limits.
//! That order is a choice of ours; the codes are those of the documents, or of [`Answers`](crate::Answers).

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
