//! Events of `.etl` traces as Parquet, for traces that outgrow one machine: `DuckDB`, Polars and Spark read a folder of them.
//!
//! A [`Folder`] gets one file for each kind of event, which is a provider, an event and its fields. A file has the columns of
//! every event, always with these names and types:
//!
//! | column | type | |
//! |---|---|---|
//! | `time` | timestamp, ns, UTC | |
//! | `provider`, `provider_id`, `event`, `kind` | string | as in JSON |
//! | `id`, `version`, `level`, `opcode`, `task`, `pid`, `tid`, `cpu` | unsigned integer | |
//! | `keyword` | unsigned 64-bit integer | |
//! | `activity`, `related` | string | |
//! | `message` | string | the text of its manifest or its TMF file |
//! | `stack` | list of unsigned 64-bit integers | return addresses, the innermost first |
//! | `raw` | binary | the event's data, if not all of it was decoded or a value does not fit its column |
//!
//! and behind them its fields, by their own names; `name_2` if a column is called so already, without regard to case. A field's
//! column is a boolean, an integer of its width and sign, a 32-bit or 64-bit floating-point number, a timestamp (microseconds), binary,
//! or a string for everything else: text, GUIDs, addresses, SIDs, statuses with their names, names of values. Pointers and other
//! hexadecimal numbers are unsigned integers. Members of structs are columns `outer.inner`; arrays of values are lists; arrays of
//! structs, and data in an encoding of the provider's own, are JSON. Any value may be null.
//!
//! Memory is bounded: rows wait in memory up to a limit, then the file with the most of them gets a row group.
#![forbid(unsafe_code)]

mod column;
mod fields;
mod file;
mod folder;

pub use folder::{Folder, Summary};
