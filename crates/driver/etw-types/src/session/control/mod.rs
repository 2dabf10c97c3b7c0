//! Sessions as values: what is asked of them and of providers, what can be changed, what they say about themselves, and
//! their blocks of bytes.
//!
//! For those that control sessions and for those that run them. Needs the feature `std`, for names and paths; a driver does
//! without.

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
