//! Calls of the framework's functions.

use core::hint::assert_unchecked;

use wdk_sys::wdf::__private::get_wdf_function_count;

/// The number of functions in KMDF 1.9, the oldest version that the WDK has headers for. It has every function that this crate calls;
/// for another one, the comparison would stay.
const FUNCTIONS: usize = 396;

/// Calls a function of the framework, as `wdk_sys::call_unsafe_wdf_function_binding!`. That macro compares the function's index with
/// the number of functions at each call, and panics if the function is missing. Here this cannot happen.
macro_rules! wdf {
    ($function:ident $(, $argument:expr)* $(,)?) => {{
        $crate::call::has_functions();
        wdk_sys::call_unsafe_wdf_function_binding!($function $(, $argument)*)
    }};
}

pub(crate) use wdf;

/// Tells the compiler that the framework has the functions of the oldest version.
#[inline(always)]
pub(crate) fn has_functions() {
    // SAFETY: the number is that of the version that the driver is built for, or of an older framework that it is bound to, which has at
    // least the minimum version in the driver's settings. No headers exist for a version before 1.9.
    unsafe { assert_unchecked(get_wdf_function_count() >= FUNCTIONS) };
}
