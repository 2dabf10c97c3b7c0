//! The measured events. Both images compile this file, each with its own macros in `crate::api`.
//!
//! Shapes: E0 has no fields; E1 has a `u32`; E2 a `u32`, a `u64` and text; E3 eight mixed fields with UTF-16 and a
//! slice; E4 a struct of three fields, a GUID and two strings. The level is 4; `K` is the keyword. Each function only
//! writes its event, so that the counts are those of the event.

use core::arch::asm;
use core::slice;

use crate::api::{Guid, define_provider, write_event};

define_provider!(PROVIDER, "WdkEtw.Bench");

/// Converts a pointer and a length to a slice.
///
/// # Safety
///
/// The same as for `slice::from_raw_parts`. The data must be valid until the caller returns.
unsafe fn view<'a, T>(start: *const T, count: usize) -> &'a [T] {
    // SAFETY: guaranteed by the caller.
    unsafe { slice::from_raw_parts(start, count) }
}

/// A barrier for the compiler: memory may have changed.
fn barrier() {
    // SAFETY: the assembly has no instructions.
    unsafe { asm!("", options(nostack, preserves_flags)) }
}

/// Registers the provider. The callback of the registration enables it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn start() {
    // SAFETY: the image is never unloaded.
    let _ = unsafe { PROVIDER.register() };
}

macro_rules! events {
    ($keyword:literal: $e0:ident $e1:ident $e2:ident $e3:ident $e4:ident) => {
        #[unsafe(no_mangle)]
        pub extern "system" fn $e0() {
            let _ = write_event!(PROVIDER, "Event0", level(Informational), keyword($keyword));
        }

        #[unsafe(no_mangle)]
        pub extern "system" fn $e1(value: u32) {
            let _ = write_event!(PROVIDER, "Event1", level(Informational), keyword($keyword), u32("value", &value));
        }

        /// # Safety
        ///
        /// `text` must have `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $e2(id: u32, offset: u64, text: *const u8, length: usize) {
            // SAFETY: guaranteed by the caller.
            let text = unsafe { view(text, length) };
            let _ = write_event!(
                PROVIDER,
                "Event2",
                level(Informational),
                keyword($keyword),
                u32("id", &id),
                u64("offset", &offset),
                str8("text", text),
            );
        }

        /// # Safety
        ///
        /// `text` must have `length` code units, and `values` must have `count` elements.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $e3(
            kind: u8,
            port: u16,
            id: u32,
            offset: u64,
            difference: i32,
            flag: bool,
            text: *const u16,
            length: usize,
            values: *const u32,
            count: usize,
        ) {
            // SAFETY: guaranteed by the caller.
            let text = unsafe { view(text, length) };
            // SAFETY: guaranteed by the caller.
            let values = unsafe { view(values, count) };
            let _ = write_event!(
                PROVIDER,
                "Event3",
                level(Informational),
                keyword($keyword),
                u8("kind", &kind),
                u16("port", &port),
                u32("id", &id),
                u64("offset", &offset),
                i32("difference", &difference),
                bool8("flag", &flag),
                str16("text", text),
                u32_slice("values", values),
            );
        }

        /// # Safety
        ///
        /// `first` must have `first_length` bytes, and `second` must have `second_length` code units.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $e4(
            x: u32,
            y: u32,
            z: u64,
            id: &Guid,
            first: *const u8,
            first_length: usize,
            second: *const u16,
            second_length: usize,
        ) {
            // SAFETY: guaranteed by the caller.
            let first = unsafe { view(first, first_length) };
            // SAFETY: guaranteed by the caller.
            let second = unsafe { view(second, second_length) };
            let _ = write_event!(
                PROVIDER,
                "Event4",
                level(Informational),
                keyword($keyword),
                struct("place", { u32("x", &x), u32("y", &y), u64("z", &z) }),
                guid("id", id),
                str8("first", first),
                str16("second", second),
            );
        }
    };
}

events!(0: e0_k0 e1_k0 e2_k0 e3_k0 e4_k0);
events!(1: e0_k1 e1_k1 e2_k1 e3_k1 e4_k1);

macro_rules! loops {
    ($keyword:literal: $name:ident) => {
        /// # Safety
        ///
        /// `text` must have `length` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $name(times: u64, offset: u64, text: *const u8, length: usize) {
            // SAFETY: guaranteed by the caller.
            let text = unsafe { view(text, length) };
            for _ in 0..times {
                barrier();
                let _ = write_event!(
                    PROVIDER,
                    "Event2",
                    level(Informational),
                    keyword($keyword),
                    u32("id", &7),
                    u64("offset", &offset),
                    str8("text", text),
                );
            }
        }
    };
}

loops!(0: loop_k0);
loops!(1: loop_k1);

/// The loop without an event.
#[unsafe(no_mangle)]
pub extern "system" fn loop_empty(times: u64) {
    for _ in 0..times {
        barrier();
    }
}
