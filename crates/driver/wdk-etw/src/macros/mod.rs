//! The macros by example, and where all macros are documented.
//!
//! The procedural macros are in `wdk-etw-macros`; their text is here, where its links and examples resolve.

#[doc = include_str!("define_provider.md")]
pub use wdk_etw_macros::define_provider;

#[doc = include_str!("write_event.md")]
pub use wdk_etw_macros::write_event;

#[doc = include_str!("start_activity.md")]
pub use wdk_etw_macros::start_activity;

#[doc = include_str!("stop_activity.md")]
pub use wdk_etw_macros::stop_activity;

/// Whether `write_event!` with this level and keyword would write.
///
/// `provider_enabled!(PROVIDER, level, keyword)`: `PROVIDER` is the symbol or path of a provider, the others are constant
/// expressions of type [`Level`](crate::Level) and `u64`. [`write_event!`](crate::write_event) makes this test itself;
/// use the macro to skip work that only an event needs.
///
/// The answer is `false` for a provider that is not registered.
///
/// # IRQL
///
/// Any.
///
/// # Examples
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Level, define_provider, provider_enabled};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// if provider_enabled!(PROVIDER, Level::Verbose, 0x10) {
///     // Collect what a verbose event would need.
/// }
/// # assert!(!provider_enabled!(PROVIDER, Level::Verbose, 0x10));
/// ```
#[macro_export]
macro_rules! provider_enabled {
    ($provider:path, $level:expr, $keyword:expr $(,)?) => {{
        const __WDK_ETW_LEVEL: $crate::Level = $level;
        const __WDK_ETW_KEYWORD: ::core::primitive::u64 = $keyword;
        $provider.enabled(__WDK_ETW_LEVEL, __WDK_ETW_KEYWORD)
    }};
}

/// A `std::time::SystemTime` as Windows' FILETIME, an `i64`: units of 100 ns since 1601.
///
/// For `win_filetime` and `win_filetime_slice` fields of [`write_event!`](crate::write_event); the `systemtime` field
/// converts by itself. A time that Windows cannot show as a date (before 1601, after 30827) becomes the nearest that it
/// can. A macro and not a function, because this crate does without `std`.
///
/// # Examples
///
/// ```
/// # use etw_symbols as _;
/// use std::time::SystemTime;
/// use wdk_etw::win_filetime_from_systemtime;
///
/// assert_eq!(win_filetime_from_systemtime!(SystemTime::UNIX_EPOCH), 116_444_736_000_000_000);
/// ```
#[macro_export]
macro_rules! win_filetime_from_systemtime {
    ($time:expr $(,)?) => {
        match $time.duration_since(::std::time::SystemTime::UNIX_EPOCH) {
            ::core::result::Result::Ok(after) => $crate::__private::filetime_from_duration_after_1970(after),
            ::core::result::Result::Err(before) => {
                $crate::__private::filetime_from_duration_before_1970(before.duration())
            }
        }
    };
}
