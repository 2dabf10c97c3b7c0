//! Events of `.etl` traces as Parquet, for traces that outgrow one machine: `DuckDB`, Polars and Spark read a folder of such
//! files.
//!
//! A [`Folder`] has one file per kind of event, where a kind is a provider, an event and its fields. Every file has these
//! columns:
//!
//! | column | type | |
//! |---|---|---|
//! | `time` | timestamp, ns, UTC | |
//! | `provider`, `provider_id`, `event`, `kind` | string | as in JSON |
//! | `id`, `version`, `level`, `opcode`, `task`, `pid`, `tid`, `cpu` | unsigned integer | |
//! | `keyword` | unsigned 64-bit integer | |
//! | `activity`, `related` | string | |
//! | `message` | string | the text from the manifest or the TMF file |
//! | `stack` | list of unsigned 64-bit integers | return addresses, innermost first |
//! | `raw` | binary | the event's data, if it was not decoded completely or a value does not fit its column |
//! | `process`, `command_line`, `thread`, `file`, `key` | string | names of the process and the thread, and of the file and the registry key that the event is about |
//! | `parent_pid`, `session_id` | unsigned integer | of the process |
//!
//! The fields of the event follow under their own names, or as `name_2` if a column already has that name, ignoring case. The
//! column of a field is a boolean, an integer of the field's width and sign, a 32-bit or 64-bit floating-point number, a
//! timestamp (microseconds), binary, or a string for everything else: text, GUIDs, addresses, SIDs, statuses with their names,
//! names of values. Pointers and other hexadecimal numbers are unsigned integers. Members of structs are columns `outer.inner`;
//! arrays of values are lists; arrays of structs and data in a provider-defined encoding are JSON. Any value may be null. A date of 0 is
//! null, because it was never set.
//!
//! Events whose fields are single values or arrays of numbers go from the payload to the columns without a tree. A text is stored once
//! per row group, integers are stored as differences, and a column with one value in all rows takes some bytes ([`chunk`]).
//!
//! Memory is bounded: rows are buffered up to a limit, then the rows of the largest buffer are written as a row group. At most one
//! file is open at a time.

mod append;
mod chunk;
mod column;
mod common;
mod dataset;
mod delta;
mod dictionary;
mod fields;
mod file;
mod flat;
mod folder;
mod hybrid;
mod kind;
mod registry;
mod rows;
mod table_index;

pub(crate) use dataset::Dataset;
pub(crate) use folder::Folder;
