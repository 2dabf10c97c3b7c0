//! The macros, and their documentation.
//!
//! The procedural macros are in `wdk-etw-macros`. They are called through declarative macros, because only these know the
//! path of this crate, `$crate`: a driver may have renamed the crate, or use it through a crate of its own.

#[doc = include_str!("define_provider.md")]
#[macro_export]
macro_rules! define_provider {
    // In braces, as rustc wants it of a macro that expands to items.
    ($($input:tt)*) => { $crate::__private::define_provider! { [$crate] $($input)* } };
}

#[doc = include_str!("write_event.md")]
#[macro_export]
macro_rules! write_event {
    ($($input:tt)*) => { $crate::__private::write_event!([$crate] $($input)*) };
}

#[doc = include_str!("start_activity.md")]
#[macro_export]
macro_rules! start_activity {
    ($($input:tt)*) => { $crate::__private::start_activity!([$crate] $($input)*) };
}

#[doc = include_str!("stop_activity.md")]
#[macro_export]
macro_rules! stop_activity {
    ($($input:tt)*) => { $crate::__private::stop_activity!([$crate] $($input)*) };
}

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
