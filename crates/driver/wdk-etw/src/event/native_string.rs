//! `UNICODE_STRING` and `ANSI_STRING` as field values.
//!
//! Both are a length in bytes and a pointer, which nothing proves to belong together: reading one is `unsafe`, and the
//! macros leave it to the user to write that word.

use core::ptr::NonNull;
use core::slice;

use etw_types::{AnsiString, UnicodeString};

/// A type with the meaning of `UNICODE_STRING`: counted UTF-16 behind a pointer.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{RawUnicodeString, define_provider, write_event};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// /// The structure of another crate of bindings.
/// struct Name {
///     length: u16,
///     buffer: *const u16,
/// }
///
/// // SAFETY: the fields are handed out as they are.
/// unsafe impl RawUnicodeString for Name {
///     fn raw_parts(&self) -> (*const u16, u16) {
///         (self.buffer, self.length)
///     }
/// }
///
/// let units = [0x41, 0x42];
/// let name = Name { length: 4, buffer: units.as_ptr() };
/// // SAFETY: the buffer has the length that the string says.
/// unsafe { write_event!(PROVIDER, "Named", unicode_string("Name", &name)) };
/// ```
///
/// # Safety
///
/// [`raw_parts`](Self::raw_parts) returns the length and the buffer that the value holds, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `UNICODE_STRING`",
    label = "a `unicode_string` field takes a reference or a pointer to `UnicodeString` or a type like it"
)]
pub unsafe trait RawUnicodeString {
    /// The buffer, and how many bytes of it are in use.
    fn raw_parts(&self) -> (*const u16, u16);
}

/// A type with the meaning of `ANSI_STRING`: counted bytes behind a pointer. For `ansi_string` fields, as [`RawUnicodeString`] for the others:
///
/// ```
/// use wdk_etw::RawAnsiString;
///
/// struct Name(&'static [u8]);
///
/// // SAFETY: a slice's start and length.
/// unsafe impl RawAnsiString for Name {
///     fn raw_parts(&self) -> (*const u8, u16) {
///         (self.0.as_ptr(), u16::try_from(self.0.len()).unwrap_or(u16::MAX))
///     }
/// }
/// assert_eq!(Name(b"disk").raw_parts().1, 4);
/// ```
///
/// # Safety
///
/// [`raw_parts`](Self::raw_parts) returns the length and the buffer that the value holds, and nothing else.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `ANSI_STRING`",
    label = "an `ansi_string` field takes a reference or a pointer to `AnsiString` or a type like it"
)]
pub unsafe trait RawAnsiString {
    /// The buffer, and how many bytes of it are in use.
    fn raw_parts(&self) -> (*const u8, u16);
}

// SAFETY: the fields are handed out as they are.
unsafe impl RawUnicodeString for UnicodeString {
    fn raw_parts(&self) -> (*const u16, u16) {
        (self.buffer, self.length)
    }
}

// SAFETY: the fields are handed out as they are.
unsafe impl RawAnsiString for AnsiString {
    fn raw_parts(&self) -> (*const u8, u16) {
        (self.buffer, self.length)
    }
}

/// How a field reaches a string: by reference or by pointer, which may be null.
#[diagnostic::on_unimplemented(
    message = "expected a reference or a pointer to a counted string, found `{Self}`",
    label = "give `&string` or a `*const` pointer to it"
)]
pub trait StringPointer {
    /// The string's type.
    type Target: ?Sized;

    /// The string, if there is one.
    ///
    /// # Safety
    ///
    /// A pointer is null, or points at a string that stays as it is for `'a`.
    unsafe fn target<'a>(self) -> Option<&'a Self::Target>
    where
        Self: 'a;
}

impl<T: ?Sized> StringPointer for &T {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        Some(self)
    }
}

impl<T: ?Sized> StringPointer for &mut T {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        Some(self)
    }
}

impl<T: ?Sized> StringPointer for *const T {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        // SAFETY: the caller vouches for a pointer that is not null.
        unsafe { self.as_ref() }
    }
}

impl<T: ?Sized> StringPointer for *mut T {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        // SAFETY: the caller vouches for a pointer that is not null.
        unsafe { self.as_ref() }
    }
}

impl<T: ?Sized> StringPointer for NonNull<T> {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        // SAFETY: the caller vouches for the pointer.
        Some(unsafe { self.as_ref() })
    }
}

/// The bytes of a `UNICODE_STRING`: empty for a null pointer or a null buffer, without the last byte of an odd length.
///
/// The answer is bytes, not `u16`s, so the buffer need not be aligned.
///
/// # Safety
///
/// The string is null, or it and as many bytes of its buffer as it says are readable and unchanged for `'a`.
#[must_use]
pub unsafe fn unicode_string<'a, S>(string: S) -> &'a [u8]
where
    S: StringPointer + 'a,
    S::Target: RawUnicodeString,
{
    // SAFETY: the caller vouches for the string.
    let Some(target) = (unsafe { string.target() }) else {
        return &[];
    };
    let (buffer, length) = target.raw_parts();
    // SAFETY: the caller vouches for the buffer.
    unsafe { bytes(buffer.cast(), length & !1) }
}

/// The bytes of an `ANSI_STRING`: empty for a null pointer or a null buffer.
///
/// # Safety
///
/// The string is null, or it and as many bytes of its buffer as it says are readable and unchanged for `'a`.
#[must_use]
pub unsafe fn ansi_string<'a, S>(string: S) -> &'a [u8]
where
    S: StringPointer + 'a,
    S::Target: RawAnsiString,
{
    // SAFETY: the caller vouches for the string.
    let Some(target) = (unsafe { string.target() }) else {
        return &[];
    };
    let (buffer, length) = target.raw_parts();
    // SAFETY: the caller vouches for the buffer.
    unsafe { bytes(buffer, length) }
}

/// `length` bytes at `buffer`, none if it is null.
///
/// # Safety
///
/// `buffer` is null, or `length` bytes there are readable and unchanged for `'a`.
unsafe fn bytes<'a>(buffer: *const u8, length: u16) -> &'a [u8] {
    if buffer.is_null() {
        return &[];
    }
    // SAFETY: not null, and the caller vouches for the rest; bytes need no alignment.
    unsafe { slice::from_raw_parts(buffer, usize::from(length)) }
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use etw_types::{AnsiString, UnicodeString};

    use super::{ansi_string, unicode_string};

    fn unicode(buffer: *const u16, length: u16) -> UnicodeString {
        UnicodeString { length, maximum_length: length, buffer }
    }

    #[test]
    fn a_unicode_string_is_read_through_references_and_pointers() {
        let text = [0x41_u16, 0x42, 0x43];
        let string = unicode(text.as_ptr(), 4);
        let expected = [0x41, 0, 0x42, 0];
        // SAFETY: the string describes the first four bytes of `text`.
        assert_eq!(unsafe { unicode_string(&string) }, expected);
        // SAFETY: as above.
        assert_eq!(unsafe { unicode_string(ptr::from_ref(&string)) }, expected);
        // SAFETY: as above.
        assert_eq!(unsafe { unicode_string(ptr::from_ref(&string).cast_mut()) }, expected);
    }

    #[test]
    fn null_strings_and_null_buffers_are_empty() {
        // SAFETY: a null pointer is allowed.
        assert_eq!(unsafe { unicode_string(ptr::null::<UnicodeString>()) }, []);
        let string = unicode(ptr::null(), 8);
        // SAFETY: a null buffer is allowed.
        assert_eq!(unsafe { unicode_string(&string) }, []);
        let ansi = AnsiString { length: 8, maximum_length: 8, buffer: ptr::null() };
        // SAFETY: a null buffer is allowed.
        assert_eq!(unsafe { ansi_string(&ansi) }, []);
    }

    #[test]
    fn the_last_byte_of_an_odd_length_is_left_out() {
        let text = [0x41_u16, 0x42];
        let string = unicode(text.as_ptr(), 3);
        // SAFETY: the string describes three of the four bytes of `text`.
        assert_eq!(unsafe { unicode_string(&string) }, [0x41, 0]);
        let ansi = AnsiString { length: 3, maximum_length: 4, buffer: b"abcd".as_ptr() };
        // SAFETY: the string describes three of four bytes.
        assert_eq!(unsafe { ansi_string(&ansi) }, b"abc");
    }
}
