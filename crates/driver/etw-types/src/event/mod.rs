//! The parts that every event has (descriptor and data descriptors), and the parameters of enable callbacks.

pub(crate) mod channel;
pub(crate) mod control;
pub(crate) mod data_descriptor;
pub(crate) mod descriptor;
pub(crate) mod keyword;
pub(crate) mod level;
pub(crate) mod opcode;
