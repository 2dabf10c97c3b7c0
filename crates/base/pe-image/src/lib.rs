//! Windows driver images: their contents, their memory layout, and the names of their addresses.
//!
//! [`Image`] is the model of a PE file, [`Layout`] is the memory layout of an x64 image, [`unwind`] unwinds calls with the tables
//! of an image, and [`Symbols`] finds names for addresses in the image's PDB. This crate never decides whether Windows loads an
//! image, and it never maps or runs one.
//!
//! All input is untrusted: the result is a value or an error that names the damaged field, never a panic and never unbounded
//! work. The crate has no `unsafe` code.
//!
//! ```
//! let error = pe_image::Image::parse(b"MZ, but nothing more").unwrap_err();
//! assert_eq!(error.field(), "DOS header");
//! ```
#![forbid(unsafe_code)]

mod bytes;
mod checksum;
mod debug;
mod error;
mod exports;
mod frame;
pub mod framework;
mod framework_calls;
mod header;
mod image;
mod imports;
mod layout;
mod load_config;
mod map;
mod own;
pub mod pdb;
mod relocations;
mod resources;
mod sections;
mod signature;
mod signing;
mod symbols;
pub mod unwind;
mod values;
mod view;

pub use checksum::{checksum, write_checksum};
pub use debug::{DebugEntry, PdbReference};
pub use error::Error;
pub use exports::{Export, ExportTarget, Exports};
pub use frame::{Frame, Nearest};
pub use framework_calls::framework_calls;
pub use header::{Checksum, Header, Version};
pub use image::{Entry, Image, Symbol, SymbolSource};
pub use imports::{AddressTable, Imported, Imports, Module};
pub use layout::{Guard, Import, Layout};
pub use load_config::LoadConfig;
pub use map::LinkerMap;
pub use relocations::{Fixup, Relocations};
pub use resources::{Resource, ResourceType, resources};
pub use sections::Section;
pub use signature::{Certificate, Signature};
pub use signing::SigningOffsets;
pub use symbols::Symbols;
pub use values::{Characteristics, DllCharacteristics, Machine, SectionFlags, Subsystem};
