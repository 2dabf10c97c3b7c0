//! The information classes of sessions and of the machine: `TraceSetInformation`, `TraceQueryInformation` and
//! `EnumerateTraceGuidsEx`.
//!
//! The declaration of a class ([`etw_types::session::info`]) says which functions accept it, and has its layout and its
//! limits. The checks follow from it, and so does a class without a behaviour of its own: what is set is kept, and a
//! query returns it. Only what a class does besides is here: in `set` and `query` for sessions and the machine, in
//! `enumerate` for providers.
//!
//! The checks are made in this order: the class, whether the function supports it, the build, the right to control
//! sessions, the kind of handle, the length, the session, the profile privilege, the limits. The order is our choice;
//! the error codes are the documented ones, or those of [`Answers`](crate::Answers).

mod check;
mod enumerate;
mod query;
mod set;

pub use check::QueryError;
