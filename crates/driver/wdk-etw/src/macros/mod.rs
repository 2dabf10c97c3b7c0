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
