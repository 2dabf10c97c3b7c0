//! Finds a driver's mistakes with requests that it makes up: a coverage-guided fuzzer.
//!
//! An input is a sequence of clients' steps. The driver's process runs inputs in batches, without a message for each
//! request, and reports which of them ran code that had not run before. Those are kept and changed further. A process
//! runs some thousand inputs, then the driver is unloaded, which shows what it leaks. A mistake is traced back to the
//! shortest input that leads to it from the start of the driver.

mod bug;
mod bytes;
mod corpus;
mod dictionary;
mod engine;
mod filtered;
mod follow;
mod grammar;
mod input;
mod minimise;
mod mutate;
mod names;
mod packet;
mod plan;
mod runner;
mod session;
mod test_code;

pub use bug::{Bug, Progress, Watcher};
pub use grammar::{Field, Grammar, RequestFormat};
pub use input::{Environment, Input};
pub use session::{Fuzz, Harvest};
