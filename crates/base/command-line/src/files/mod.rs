//! The files that a command reads, and those that it may write.

mod error;
mod inputs;
mod outputs;
mod own;
mod partial;

pub use error::OutputError;
pub use inputs::Inputs;
pub use outputs::{Output, OutputDir, OutputPath, Outputs};
pub use own::OwnDir;
