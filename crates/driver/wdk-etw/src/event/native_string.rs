//! `UNICODE_STRING` and `ANSI_STRING` as field values.
//!
//! Both are a length in bytes and a pointer. Nothing guarantees that they match, so reading such a string is `unsafe`,
//! and the user of the macro must write the `unsafe` block.

use core::ptr::NonNull;
use core::slice;

use etw_types::{AnsiString, UnicodeString};

/// A type like `UNICODE_STRING`: counted UTF-16 that a pointer refers to.
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
/// [`raw_parts`](Self::raw_parts) must return exactly the buffer and the length that the value contains.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `UNICODE_STRING`",
    label = "a `unicode_string` field takes a reference or a pointer to `UnicodeString` or a type like it"
)]
pub unsafe trait RawUnicodeString {
    /// Returns the buffer and the number of bytes in use.
    fn raw_parts(&self) -> (*const u16, u16);
}

/// A type like `ANSI_STRING`: counted bytes that a pointer refers to. For `ansi_string` fields, as [`RawUnicodeString`]
/// is for `unicode_string` fields:
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
/// [`raw_parts`](Self::raw_parts) must return exactly the buffer and the length that the value contains.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `ANSI_STRING`",
    label = "an `ansi_string` field takes a reference or a pointer to `AnsiString` or a type like it"
)]
pub unsafe trait RawAnsiString {
    /// Returns the buffer and the number of bytes in use.
    fn raw_parts(&self) -> (*const u8, u16);
}

// SAFETY: the fields are returned unchanged.
unsafe impl RawUnicodeString for UnicodeString {
    fn raw_parts(&self) -> (*const u16, u16) {
        (self.buffer, self.length)
    }
}

// SAFETY: the fields are returned unchanged.
unsafe impl RawAnsiString for AnsiString {
    fn raw_parts(&self) -> (*const u8, u16) {
        (self.buffer, self.length)
    }
}

/// How a field refers to a string: by reference or by pointer, which may be null.
#[diagnostic::on_unimplemented(
    message = "expected a reference or a pointer to a counted string, found `{Self}`",
    label = "give `&string` or a `*const` pointer to it"
)]
pub trait StringPointer {
    /// The string's type.
    type Target: ?Sized;

    /// Returns the string, or `None` if the pointer is null.
    ///
    /// # Safety
    ///
    /// A pointer must be null or point to a string that is valid and unchanged for `'a`.
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
        // SAFETY: the caller guarantees that the pointer is null or valid.
        unsafe { self.as_ref() }
    }
}

impl<T: ?Sized> StringPointer for *mut T {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        // SAFETY: the caller guarantees that the pointer is null or valid.
        unsafe { self.as_ref() }
    }
}

impl<T: ?Sized> StringPointer for NonNull<T> {
    type Target = T;

    unsafe fn target<'a>(self) -> Option<&'a T>
    where
        Self: 'a,
    {
        // SAFETY: the caller guarantees that the pointer is valid.
        Some(unsafe { self.as_ref() })
    }
}

/// Returns the bytes of a `UNICODE_STRING`. They are empty if the pointer or the buffer is null. If the length is odd,
/// the last byte is omitted.
///
/// The result is a slice of bytes and not of `u16`, so the buffer does not have to be aligned.
///
/// # Safety
///
/// The string must be null, or the string and the bytes of its buffer, up to its length, must be readable and unchanged
/// for `'a`.
#[must_use]
pub unsafe fn unicode_string<'a, S>(string: S) -> &'a [u8]
where
    S: StringPointer + 'a,
    S::Target: RawUnicodeString,
{
    // SAFETY: guaranteed by the caller.
    let Some(target) = (unsafe { string.target() }) else {
        return &[];
    };
    let (buffer, length) = target.raw_parts();
    // SAFETY: the caller guarantees that the buffer has this length.
    unsafe { bytes(buffer.cast(), length & !1) }
}

/// Returns the bytes of an `ANSI_STRING`. They are empty if the pointer or the buffer is null.
///
/// # Safety
///
/// The string must be null, or the string and the bytes of its buffer, up to its length, must be readable and unchanged
/// for `'a`.
#[must_use]
pub unsafe fn ansi_string<'a, S>(string: S) -> &'a [u8]
where
    S: StringPointer + 'a,
    S::Target: RawAnsiString,
{
    // SAFETY: guaranteed by the caller.
    let Some(target) = (unsafe { string.target() }) else {
        return &[];
    };
    let (buffer, length) = target.raw_parts();
    // SAFETY: the caller guarantees that the buffer has this length.
    unsafe { bytes(buffer, length) }
}

/// Returns `length` bytes at `buffer`, or none if it is null.
///
/// # Safety
///
/// `buffer` must be null, or `length` bytes there must be readable and unchanged for `'a`.
unsafe fn bytes<'a>(buffer: *const u8, length: u16) -> &'a [u8] {
    if buffer.is_null() {
        return &[];
    }
    // SAFETY: the pointer is not null, the caller guarantees the rest, and bytes need no alignment.
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
