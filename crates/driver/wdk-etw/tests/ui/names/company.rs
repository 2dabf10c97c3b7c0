//! A company's library: it re-exports `wdk-etw`, which it knows by another name, and has macros and a provider of its
//! own. Only this crate depends on `wdk-etw`.
#![deny(warnings)]

/// The whole crate.
pub use tracing as etw;
/// One macro by a path of the company's.
pub use tracing::write_event as event;

tracing::define_provider!(pub PROVIDER, "Company");

/// Writes an event of the company's provider.
#[macro_export]
macro_rules! note {
    ($name:literal $(, $($field:tt)*)?) => {
        $crate::etw::write_event!($crate::PROVIDER, $name, level(Warning) $(, $($field)*)?)
    };
}

/// A macro that uses a macro: runs `$body` as an activity of the company's provider.
#[macro_export]
macro_rules! activity {
    ($name:literal, $body:block) => {{
        let scope = $crate::etw::start_activity!($crate::PROVIDER, $name, level(Informational));
        $crate::note!("Inside", guid("Activity", scope.id()));
        let value = $body;
        $crate::etw::stop_activity!(scope, u32("Value", &value));
        value
    }};
}

/// Writes an event from the library itself.
pub fn started() -> etw::NtStatus {
    note!("Started", str8("Library", "company"), u8("Level", &etw::Level::Warning.as_int()))
}
