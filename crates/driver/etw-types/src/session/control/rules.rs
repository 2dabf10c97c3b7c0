//! The rules of `StartTrace` and `EnableTraceEx2`, each with its message and its error code.
//!
//! The sources are Microsoft's pages about these functions, `EVENT_TRACE_PROPERTIES`, logging modes and
//! `EVENT_FILTER_DESCRIPTOR`. Where they name no error code, a comment marks it as our choice.

use super::{Enable, Filter, Properties};
use crate::Win32Error;
use crate::session::filter::MAX_FILTERS;
use crate::session::{BUFFER_KIB, ClockType, Limit, MAX_NAME, SYSTEM_TRACE_CONTROL, enable, mode};

/// A rule about the properties of a session or about the parameters of an enable request.
#[derive(Clone, Copy, Debug)]
pub struct Rule<T = Properties> {
    /// The rule, as a sentence without a full stop.
    pub message: &'static str,
    /// The code that the function returns if the rule is violated.
    pub code: Win32Error,
    /// Whether the function fails if the rule is violated. Otherwise it adjusts the values to their limits or ignores
    /// them.
    pub is_enforced: bool,
    /// Returns whether the rule holds.
    pub holds: fn(&T) -> bool,
}

const fn rule<T>(message: &'static str, holds: fn(&T) -> bool) -> Rule<T> {
    Rule { message, code: Win32Error::InvalidParameter, is_enforced: true, holds }
}

/// The rules, in the order in which they are checked. Names and modes that exclude each other are checked before them.
pub const RULES: &[Rule] = &[
    rule(
        "an in-process session (EVENT_TRACE_PRIVATE_IN_PROC) must also be private (EVENT_TRACE_PRIVATE_LOGGER_MODE)",
        |requested| !has(requested, mode::PRIVATE_IN_PROC) || has(requested, mode::PRIVATE_LOGGER),
    ),
    rule("SystemTraceControlGuid is reserved for the session \"NT Kernel Logger\"", |requested| {
        requested.guid != SYSTEM_TRACE_CONTROL || requested.is_kernel_logger()
    }),
    rule("a session with system providers cannot use paged memory", |requested| {
        !(has(requested, mode::USE_PAGED_MEMORY) && requested.is_system())
    }),
    rule("a circular, numbered or preallocated file needs a maximum size", |requested| {
        !has(requested, mode::CIRCULAR | mode::NEWFILE | mode::PREALLOCATE) || requested.maximum_file_size != 0
    }),
    Rule {
        code: Win32Error::BadPathname,
        ..rule("a session needs a file, real-time mode or buffering mode, and a file mode needs a file", |requested| {
            let without_file = has(requested, mode::REAL_TIME | mode::BUFFERING) && !has(requested, mode::FILE_MODES);
            requested.log_file.is_some() || without_file
        })
    },
    // The error code is our choice: the page says only that the name must contain it.
    rule("the name of numbered files must contain %d", |requested| {
        !has(requested, mode::NEWFILE) || requested.file_name().is_some_and(|name| name.contains("%d"))
    }),
    // The error code is our choice: the page names none.
    rule("the clock must be 1 (performance counter), 2 (system time) or 3 (cycles)", |requested| {
        requested.clock <= ClockType::Cycles
    }),
    rule("appending to a file needs clock 2 (system time)", |requested| {
        !has(requested, mode::APPEND) || requested.clock == ClockType::SystemTime
    }),
    Rule {
        is_enforced: false,
        ..rule("the buffer size must be 4 to 16384 KiB", |requested| {
            requested.buffer_kib == 0 || BUFFER_KIB.contains(&requested.buffer_kib)
        })
    },
    Rule {
        is_enforced: false,
        ..rule("the minimum number of buffers must not exceed the maximum", |requested| {
            requested.maximum_buffers == 0 || requested.minimum_buffers <= requested.maximum_buffers
        })
    },
];

/// The rules of `EnableTraceEx2`. The limits of each filter are checked before them.
pub const ENABLE_RULES: &[Rule<Enable>] = &[
    rule("a request can have only one filter of each kind", |requested| {
        let mut rest = requested.filters.as_slice();
        while let [first, others @ ..] = rest {
            if others.iter().any(|other| other.kind() == first.kind()) {
                return false;
            }
            rest = others;
        }
        true
    }),
    Rule {
        is_enforced: false,
        ..rule("a filter for stacks needs the property EVENT_ENABLE_PROPERTY_STACK_TRACE", |requested| {
            requested.property & enable::STACK_TRACE != 0 || !requested.filters.iter().any(Filter::is_about_stacks)
        })
    },
];

fn has(requested: &Properties, bits: u32) -> bool {
    requested.mode & bits != 0
}

/// Checks the rules about names and modes, and those rules of the table for which `applies` returns true.
pub(super) fn check(requested: &Properties, applies: fn(&Rule) -> bool) -> Result<(), Limit> {
    Limit::rule(!requested.name.is_empty(), "a session needs a name")?;
    Limit::rule(!requested.name.contains('\0'), "a session's name cannot contain NUL")?;
    Limit::no_longer("the session's name", requested.name.encode_utf16().count(), MAX_NAME)?;
    let file = requested.file_name().map_or(0, |name| name.encode_utf16().count());
    Limit::no_longer("the file's name", file, MAX_NAME)?;
    if let Some(conflict) = mode::conflict(requested.mode) {
        Limit::rule(false, conflict)?;
    }
    check_table(RULES, requested, applies)
}

/// Checks the limits of a request and its filters, and those rules of the table for which `applies` returns true.
pub(super) fn check_enable(requested: &Enable, applies: fn(&Rule<Enable>) -> bool) -> Result<(), Limit> {
    Limit::at_most("filters of a request", requested.filters.len(), MAX_FILTERS)?;
    requested.filters.iter().try_for_each(|filter| filter.encode().map(drop))?;
    check_table(ENABLE_RULES, requested, applies)
}

fn check_table<T>(rules: &[Rule<T>], requested: &T, applies: fn(&Rule<T>) -> bool) -> Result<(), Limit> {
    let broken = rules.iter().filter(|rule| applies(rule)).find(|rule| !(rule.holds)(requested));
    broken.map_or(Ok(()), |rule| Limit::rule_as(false, rule.message, rule.code))
}
