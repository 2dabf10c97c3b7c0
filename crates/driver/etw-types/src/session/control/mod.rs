//! Sessions as values: what is asked for, what can be changed, what they say about themselves, and their blocks of bytes.
//!
//! For those that control sessions and for those that run them. Needs the feature `std`, for names and paths; a driver does
//! without.

mod block;
mod properties;
mod rules;
mod status;
mod update;

pub use block::empty_block;
pub use properties::Properties;
pub use rules::{RULES, Rule};
pub use status::SessionStatus;
pub use update::Update;
