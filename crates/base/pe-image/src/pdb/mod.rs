//! Program databases: the functions and source lines of an image.
//!
//! Only what is needed to name an address is read. PDB files are untrusted: every offset and length is checked, and the work is
//! bounded by the length of the file. The formats are those of the LLVM project's document "The PDB File Format".

mod address;
mod annotations;
mod formats;
mod lines;
mod module;
mod msf;
mod names;
mod table;

pub use formats::trace_formats;
pub use msf::Msf;
pub use table::Table;
