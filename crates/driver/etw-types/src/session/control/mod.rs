//! Types for session control: properties, updates, status, enable parameters and filters, and the blocks of bytes that
//! encode them.
//!
//! They are used both by controllers and by the implementation of sessions. They need the feature `std`, for names and
//! paths. Drivers do not need them.

mod block;
mod enable;
mod filter;
mod properties;
mod rules;
mod status;
mod update;

pub use block::empty_block;
pub use enable::Enable;
pub use filter::{Filter, Listed, Selection};
pub use properties::Properties;
pub use rules::{ENABLE_RULES, RULES, Rule};
pub use status::SessionStatus;
pub use update::Update;
