//! The model of a PE image, one module for each part of the format.
//!
//! Everything in here describes; nothing judges. Structures are read through a view that knows where the
//! loader would map each byte of the file and refuses what lies outside.

mod checksum;
mod debug;
mod exports;
mod framework;
mod header;
mod image;
mod imports;
mod layout;
mod load_config;
mod map;
mod relocations;
mod sections;
mod signature;
mod values;
mod view;

pub use checksum::{Checksum, checksum};
pub use debug::{DebugEntry, Pdb};
pub use exports::{Export, ExportTarget, Exports};
pub use header::{Header, Version};
pub use image::{Entry, Image, Symbol, SymbolSource};
pub use imports::{AddressTable, Imported, Imports, Module};
pub use layout::Layout;
pub use load_config::LoadConfig;
pub use map::LinkerMap;
pub use relocations::Relocations;
pub use sections::Section;
pub use signature::{Certificate, Signature};
pub use values::{Characteristics, DllCharacteristics, Machine, SectionFlags, Subsystem};
