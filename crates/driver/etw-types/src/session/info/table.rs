//! The table of all classes, and the documentation page generated from it.

use std::borrow::ToOwned;
use std::fmt::Write;
use std::format;
use std::string::{String, ToString};

use super::Facts;
use crate::session::TraceInfoClass;
use crate::session::class::CLASSES;

/// Returns every class, ordered by number.
#[must_use]
pub const fn all() -> &'static [Facts] {
    CLASSES
}

/// Returns the facts about a class.
#[must_use]
pub fn facts(class: TraceInfoClass) -> Option<&'static Facts> {
    all().iter().find(|facts| facts.class == class)
}

/// Finds a class by number, C name, type name or short name. The comparison ignores case.
///
/// ```
/// use etw_types::session::info::find;
///
/// for name in ["3", "TraceStackTracingInfo", "StackTracing", "stack-tracing"] {
///     assert_eq!(find(name).map(|facts| facts.class.as_int()), Some(3));
/// }
/// assert!(find("29").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static Facts> {
    let number = name.parse::<u32>().ok();
    all().iter().find(|facts| {
        number == Some(facts.class.as_int())
            || facts.c_name.eq_ignore_ascii_case(name)
            || facts.type_name.eq_ignore_ascii_case(name)
            || facts.short_name().eq_ignore_ascii_case(name)
    })
}

/// Returns the documentation page: a table of all classes.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    for facts in CLASSES {
        let set = facts.set.map_or_else(String::new, |set| {
            let length = set.length;
            let first = if length.may_be_empty && length.least != 0 { "0 or ".to_owned() } else { String::new() };
            let more = if length.step == 0 { String::new() } else { format!(" + {}·n", length.step) };
            format!("{first}{}{more}", length.least)
        });
        let result = facts.query.and_then(|query| query.length);
        let result = result.map_or_else(String::new, |length| length.to_string());
        let cells = [
            &facts.class.as_int().to_string(),
            &format!("`{}`", facts.c_name),
            &format!("`{}`", facts.type_name),
            facts.purpose,
            &facts.directions().join(", "),
            facts.handle_name(),
            facts.since.name,
            facts.layout,
            &set,
            &result,
            facts.limit,
            facts.note,
        ];
        // Writing to a `String` cannot fail.
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
    page
}

const INTRODUCTION: &str = "\
# Information classes of trace sessions

Every `TRACE_QUERY_INFO_CLASS` and its type in `etw_session::info`. This page is generated from the code; a test fails if it is stale.

*Directions*: `set` is `TraceSetInformation`, `query` is `TraceQueryInformation`, `enumerate` is `EnumerateTraceGuidsEx`.
*Handle*: a `system session` is a session with the system-logger mode, or the NT Kernel Logger. *Set* and *result* are lengths in bytes;
`n` is the number of list elements beyond the minimum. A result without a length is variable, and the buffer grows as needed. The sources
are the public header, Learn, and the behaviour of other tools; this project has run none of it on Windows. The engine implements every class
except the reserved one, and the tests in `crates/traces/etw-session/tests` exercise them.

| # | class | type | about | directions | handle | since | layout | set | result | limit | note |
|---|---|---|---|---|---|---|---|---|---|---|---|
";
