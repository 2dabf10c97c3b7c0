//! The memory of an event that is being written.
//!
//! Two functions write an event. The *event's own function* has everything that is specific to this event: its fields,
//! which are in registers, and its constants. It creates a [`Frame`] on its stack, stores the fixed-size values there,
//! and calls the *shared function*, which is the same for all events whose fields have the same types. The shared
//! function computes lengths, fills in the table of descriptors, and jumps to `EtwWriteTransfer`:
//!
//! ```text
//!   Frame<(Counted<Packed2<u32, u64>>,), 4> of an event with a u32, a u64 and a text
//!
//!   offset 0             16            32            48            64         76       78
//!          ┌─────────────┬─────────────┬─────────────┬─────────────┬──────────┬────────┐
//!          │ traits      │ metadata    │ values      │ text        │ u32, u64 │ length │
//!          │ (pointer,   │             │      │      │      │      │          │ of the │
//!          │  size, kind)│             │      │      │      │      │          │ text   │
//!          └─────────────┴─────────────┴──────┼──────┴──────┼──────┴──────────┴────────┘
//!          └ the table: copied from provider  └─────────────│──────► 14 bytes from 64 on
//!            and event, then filled in                      └──────► the caller's text
//! ```
//!
//! The table is passed to `EtwWriteTransfer`. It comes first, so its address is that of the frame. The event's own
//! function writes the values; the shared function writes the table and the length.
//!
//! On x64 the routine's first four arguments (handle, descriptor, activity, related activity) are in registers. The
//! fifth (the number of descriptors) and the sixth (the table) are on the caller's stack. A function can end with a
//! *jump* to another function only if the arguments on the stack are already in place, because the compiler does not
//! move them. Therefore the shared function takes both as its own fifth and sixth argument ([`CountArg`],
//! [`TableArg`]), although it already has the frame's address in a register as its first argument. Without them it
//! would need its own stack frame, a call and a return.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;
use core::slice;

use etw_types::EventDataDescriptor;

use super::Event;
use super::data::opaque;
use super::packed::Scalar;
use crate::{Mode, Provider, Status};

/// Fixed-size values that precede text or an array, and a place for its length.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug)]
pub struct Counted<P: Scalar> {
    values: P,
    length: MaybeUninit<u16>,
}

impl<P: Scalar> Counted<P> {
    /// Stores the values. The length is filled in later.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub const fn new(values: P) -> Self {
        Self { values, length: MaybeUninit::uninit() }
    }

    /// Fills in the length. Returns a descriptor for the values and the length.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn close(&mut self, length: u16) -> EventDataDescriptor<'_> {
        self.length = MaybeUninit::new(length);
        let start = ptr::from_ref(self).cast::<u8>();
        // SAFETY: these are the bytes of `self`, borrowed as long as the result is. All are initialised: the values are
        // `Scalar`, `packed` leaves no padding, and the length was just written.
        EventDataDescriptor::new(unsafe { slice::from_raw_parts(start, size_of::<Self>()) })
    }
}

/// Groups of fixed-size values, and room for `N` descriptors.
#[repr(C)]
#[derive(Debug)]
pub struct Frame<G, const N: usize> {
    table: MaybeUninit<[EventDataDescriptor<'static>; N]>,
    groups: G,
}

/// Ties a value to one frame: the lifetime is invariant, so no other frame's value can be used.
type Brand<'f> = PhantomData<fn(&'f ()) -> &'f ()>;

/// The only way to fill in a frame.
#[repr(transparent)]
#[derive(Debug)]
pub struct FrameMut<'f, G, const N: usize> {
    frame: *mut Frame<G, N>,
    brand: Brand<'f>,
}

/// The address of a frame's table, as the sixth argument of `EtwWriteTransfer`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct TableArg<'f> {
    table: *const EventDataDescriptor<'static>,
    brand: Brand<'f>,
}

/// How many descriptors a table of `N` has, as the fifth argument of `EtwWriteTransfer`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct CountArg<const N: usize>(u32);

#[expect(clippy::cast_possible_truncation, reason = "the macros allow at most 128 descriptors")]
impl<const N: usize> CountArg<N> {
    /// The number as a constant, for a function that calls `EtwWriteTransfer` directly.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub const fn constant() -> Self {
        Self(N as u32)
    }

    /// The number, hidden from the optimiser, as an argument of a shared function. The optimiser removes a parameter if
    /// every caller passes the same constant. The table would then be the fifth argument, and the jump would be
    /// impossible.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub fn passed() -> Self {
        Self(opaque(ptr::without_provenance::<()>(N)).addr() as u32)
    }
}

/// The activities of an event. Both are null or point at 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids<'a> {
    /// The event's own activity.
    pub activity: Option<&'a [u8; 16]>,
    /// The related activity.
    pub related: Option<&'a [u8; 16]>,
}

impl Ids<'_> {
    /// Neither.
    pub const NONE: Self = Self { activity: None, related: None };
}

/// Returns a null activity id that is hidden from the optimiser, for the same reason as in [`CountArg::passed`].
///
/// # IRQL
///
/// Any.
#[must_use]
#[inline(always)]
pub fn no_id<'a>() -> Option<&'a [u8; 16]> {
    let pointer = opaque(ptr::null::<[u8; 16]>());
    // SAFETY: the pointer is still null, and null is `None`.
    unsafe { pointer.as_ref() }
}

impl<G, const N: usize> Frame<G, N> {
    /// Creates a frame with these values and passes it to the function that writes the event.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn enter<R>(groups: G, send: impl for<'f> FnOnce(FrameMut<'f, G, N>, TableArg<'f>) -> R) -> R {
        let mut frame = MaybeUninit::<Self>::uninit();
        let frame = frame.as_mut_ptr();
        // The frame is not created as a value and moved, because the compiler was observed to initialise the table in
        // that case.
        // SAFETY: the pointer stays within `frame`.
        let place = unsafe { &raw mut (*frame).groups };
        // SAFETY: the pointer is valid and aligned for a value of this type.
        unsafe { place.write(groups) };
        send(FrameMut { frame, brand: PhantomData }, TableArg { table: frame.cast(), brand: PhantomData })
    }
}

impl<'f, G, const N: usize> FrameMut<'f, G, N> {
    /// Fills in the table with the descriptors that `fill` makes from the values, and writes the event. `fill` returns
    /// `None` if a security identifier is shorter than its header says.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn send<'d, M: Mode>(
        self,
        provider: &Provider<M>,
        event: &'static Event,
        ids: Ids<'_>,
        count: CountArg<N>,
        table: TableArg<'f>,
        fill: impl FnOnce(&'d mut G) -> Option<[EventDataDescriptor<'d>; N]>,
    ) -> M::Status
    where
        'f: 'd,
        G: 'd,
    {
        // SAFETY: a frame has only one `FrameMut`, which is consumed here, and lives for `'f`. The table is a different
        // part of it.
        let groups = unsafe { &mut (*self.frame).groups };
        let Some(descriptors) = fill(groups) else {
            return M::Status::INVALID_SID;
        };
        // SAFETY: as above; no other code accesses the table while it is filled in.
        unsafe { self.frame.cast::<[EventDataDescriptor<'d>; N]>().write(descriptors) };
        let pointer = |id: Option<&[u8; 16]>| id.map_or(ptr::null(), |id| id.as_ptr().cast());
        let activity = pointer(ids.activity);
        let related = pointer(ids.related);
        provider.with_handle(M::Status::SUCCESS, |handle| {
            // SAFETY: the handle is 0 or live (no writer runs during `unregister`: by the contract of `register`, or by
            // rundown protection). Ids are null or 16 readable bytes, which x86-64 and ARM64 can read at any alignment.
            // The brand guarantees that `table` belongs to this frame, so there are `N` descriptors, whose bytes outlive
            // the call.
            unsafe { M::write_transfer(handle, event.descriptor(), activity, related, count.0, table.table) }
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::super::packed::Packed2;
    use super::{Counted, Frame};

    #[test]
    fn a_length_follows_the_values() {
        let mut group = Counted::new(Packed2(0x11_u8, 0x2233_4455_u32));
        let descriptor = group.close(0x6677);
        // SAFETY: a descriptor points at `size` bytes, which are valid for its lifetime.
        let bytes = unsafe { std::slice::from_raw_parts(descriptor.as_ptr(), descriptor.size() as usize) }.to_vec();
        assert_eq!(bytes, [0x11, 0x55, 0x44, 0x33, 0x22, 0x77, 0x66]);
    }

    #[test]
    fn the_frame_starts_with_the_table_and_the_values_follow() {
        type Drawn = Frame<(Counted<Packed2<u32, u64>>,), 4>;
        assert_eq!(core::mem::offset_of!(Drawn, table), 0);
        assert_eq!(core::mem::offset_of!(Drawn, groups), 64);
        Frame::<_, 4>::enter((Counted::new(Packed2(1_u32, 2_u64)),), |frame, table| {
            assert_eq!(frame.frame.cast_const().cast(), table.table);
        });
    }
}
