//! What the generated items share: attributes, doc comments, and the Rust types of a manifest's types.

use std::collections::HashMap;

/// Attributes of every item: a driver may use only some of them, and names and signatures come from the manifest.
pub(super) const ATTRIBUTES: &str =
    "#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = \"generated from a manifest\")]\n";

/// The types of maps, by the names of the maps.
pub(super) type Mapped = HashMap<String, String>;

/// Types of fixed size: the name in manifests, the Rust type of a parameter, and the Rust type of an array element.
pub(super) const SCALARS: [(&str, &str, &str); 18] = [
    ("win:Int8", "i8", "i8"),
    ("win:UInt8", "u8", "u8"),
    ("win:Int16", "i16", "i16"),
    ("win:UInt16", "u16", "u16"),
    ("win:Int32", "i32", "i32"),
    ("win:UInt32", "u32", "u32"),
    ("win:Int64", "i64", "i64"),
    ("win:UInt64", "u64", "u64"),
    ("win:Float", "f32", "f32"),
    ("win:Double", "f64", "f64"),
    // A BOOL has four bytes.
    ("win:Boolean", "bool", "u32"),
    ("win:GUID", "&wdk_etw::Guid", "wdk_etw::Guid"),
    ("win:Pointer", "usize", "usize"),
    ("win:FILETIME", "u64", "u64"),
    ("win:SYSTEMTIME", "&[u16; 8]", "[u16; 8]"),
    ("win:HexInt32", "u32", "u32"),
    ("win:HexInt64", "u64", "u64"),
    ("trace:SizeT", "usize", "usize"),
];

/// Returns text for a doc comment, on one line and without markup.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('`', "'")
}
