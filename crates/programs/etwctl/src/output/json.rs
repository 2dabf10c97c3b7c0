//! JSON values, and their text in tables.

use etw_etl::escaped;

/// A value.
pub(crate) type Json = serde_json::Value;

/// An object with members in this order.
pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A whole document, as `--json` prints it. docs/conventions.md lists the members. Removing or renaming one, or changing its
/// meaning, needs a new `schema_version`.
pub(crate) fn document(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    object([("schema_version", 1.into())].into_iter().chain(members))
}

/// A duration in milliseconds, the unit of all summaries. `ticks` are units of 100 ns.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 units, which are 28 years")]
pub(crate) fn milliseconds(ticks: i64) -> Json {
    Json::from(ticks as f64 / 10_000.0)
}

/// The text of a value in a cell of a table.
pub(crate) fn cell_text(value: &Json) -> String {
    let all = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(" ");
    match value {
        Json::Null => "-".to_owned(),
        Json::Bool(value) => if *value { "yes" } else { "no" }.to_owned(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => escaped(text).into_owned(),
        Json::Array(values) => all(&mut values.iter().map(cell_text)),
        Json::Object(members) => all(&mut members.iter().map(|(name, value)| format!("{name}={}", cell_text(value)))),
    }
}
