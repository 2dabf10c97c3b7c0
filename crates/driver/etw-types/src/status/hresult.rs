//! `HRESULT`.

use core::fmt;

use super::{status_newtype, write_code, write_name};
use crate::Win32Error;

/// `FACILITY_WIN32` with the failure bit set: the upper half of an `HRESULT` that wraps a Win32 error.
const WIN32_FAILURE: u32 = 0x8007_0000;

status_newtype! {
    /// An `HRESULT`, as the user-mode TraceLogging functions return it.
    ///
    /// ```
    /// use etw_types::{HResult, Win32Error};
    ///
    /// let status = HResult::from_win32(Win32Error::NotSupported);
    /// assert_eq!(status.as_int(), 0x8007_0032);
    /// assert_eq!(status.to_string(), "0x80070032 ERROR_NOT_SUPPORTED");
    /// ```
    HResult {
        Ok = 0x0000_0000 "S_OK",
        Fail = 0x8000_4005 "E_FAIL",
    }
}

impl HResult {
    /// `HRESULT_FROM_WIN32`: wraps a Win32 error. 0 becomes `S_OK`; a value that is already a failure `HRESULT` is
    /// unchanged.
    #[must_use]
    #[inline]
    #[doc(alias = "HRESULT_FROM_WIN32")]
    pub const fn from_win32(error: Win32Error) -> Self {
        let code = error.as_int();
        if code == 0 || code & 0x8000_0000 != 0 {
            Self::from_int(code)
        } else {
            Self::from_int((code & 0xFFFF) | WIN32_FAILURE)
        }
    }

    /// Returns the wrapped Win32 error, or `None` if this is not a wrapped Win32 error.
    #[must_use]
    pub const fn as_win32(self) -> Option<Win32Error> {
        let code = self.as_int();
        if code == 0 {
            Some(Win32Error::Success)
        } else if code & 0xFFFF_0000 == WIN32_FAILURE {
            Some(Win32Error::from_int(code & 0xFFFF))
        } else {
            None
        }
    }

    /// `SUCCEEDED`: returns whether the highest bit is clear.
    #[must_use]
    #[inline(always)]
    #[doc(alias = "SUCCEEDED")]
    pub const fn is_success(self) -> bool {
        self.as_int() & 0x8000_0000 == 0
    }
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_code(f, self.as_int())?;
        write_name(f, self.name().or_else(|| self.as_win32().and_then(Win32Error::name)))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::HResult;
    use crate::Win32Error;

    #[test]
    fn wrapping_follows_the_macro_of_the_headers() {
        assert_eq!(HResult::from_win32(Win32Error::Success), HResult::Ok);
        assert_eq!(HResult::from_win32(Win32Error::NotSupported).as_int(), 0x8007_0032);
        assert_eq!(HResult::from_win32(Win32Error::from_int(0x8000_4005)), HResult::Fail);
        assert_eq!(HResult::from_win32(Win32Error::AccessDenied).as_win32(), Some(Win32Error::AccessDenied));
        assert_eq!(HResult::Fail.as_win32(), None);
        assert_eq!(HResult::Ok.as_win32(), Some(Win32Error::Success));
    }

    #[test]
    fn the_highest_bit_is_the_failure() {
        for (code, is_success) in [(0, true), (1, true), (0x7FFF_FFFF, true), (0x8000_4005, false)] {
            assert_eq!(HResult::from_int(code).is_success(), is_success, "{code:#x}");
        }
    }

    #[test]
    fn a_wrapped_error_is_shown_with_its_name() {
        for (code, text) in [
            (0, "0x00000000 S_OK"),
            (0x8000_4005, "0x80004005 E_FAIL"),
            (0x8007_0032, "0x80070032 ERROR_NOT_SUPPORTED"),
            (0x8004_0032, "0x80040032"),
        ] {
            assert_eq!(HResult::from_int(code).to_string(), text);
        }
    }
}
