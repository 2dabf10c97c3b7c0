//! The declarative macros, and the documentation of all macros.
//!
//! The procedural macros are in `wdk-etw-macros`. Their documentation is here, because its links and examples need this
//! crate.

#[doc = include_str!("define_provider.md")]
pub use wdk_etw_macros::define_provider;

#[doc = include_str!("write_event.md")]
pub use wdk_etw_macros::write_event;

#[doc = include_str!("start_activity.md")]
pub use wdk_etw_macros::start_activity;

#[doc = include_str!("stop_activity.md")]
pub use wdk_etw_macros::stop_activity;

/// Converts a `std::time::SystemTime` to a `FILETIME` of Windows: an `i64` in units of 100 ns since 1601.
///
/// Use it for `win_filetime` and `win_filetime_slice` fields of [`write_event!`](crate::write_event). A `systemtime`
/// field does this conversion itself. A time before 1601 or after 30827, which Windows cannot show as a date, becomes
/// the nearest one that Windows can show. This is a macro and not a function, because this crate does not use `std`.
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
