//! The memory of one event that is being written: its fixed-size values and its table of descriptors.
//!
//! Writing is split in two. The function of an event puts the values that only it knows into a [`Frame`] on its stack; the
//! rest, which is alike for all events with fields of the same types, is a second function that gets the frame's address.
//! It gets it twice: as a [`Stage`] to fill, and as a [`Slot`] to hand on. The slot stands where the system's routine
//! expects the table, so on x64 the second function needs no stack of its own and ends in a jump to that routine.

use core::marker::PhantomData;
use core::mem::MaybeUninit;

use etw_types::EventDataDescriptor;

use super::Event;
use super::data::opaque;
use super::packed::{Scalar, value_descriptor};
use crate::{Mode, Provider};

/// Ties a stage and a slot to the frame they came from: no other lifetime fits.
type Brand<'id> = PhantomData<fn(&'id ()) -> &'id ()>;

/// Fixed-size values in front of a text or an array, and the place of its length.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug)]
pub struct Counted<P: Scalar> {
    values: P,
    count: MaybeUninit<u16>,
}

impl<P: Scalar> Counted<P> {
    /// The values; the length comes later.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub const fn new(values: P) -> Self {
        Self { values, count: MaybeUninit::uninit() }
    }

    /// Fills in the length; answers a descriptor for all of it.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn close(&mut self, count: u16) -> EventDataDescriptor<'_> {
        self.count = MaybeUninit::new(count);
        let whole = (&raw const *self).cast::<Closed<P>>();
        // SAFETY: the layouts are the same, and the length was just written.
        value_descriptor(unsafe { &*whole })
    }
}

/// The same when nothing is missing.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Closed<P: Scalar> {
    values: P,
    count: u16,
}

// SAFETY: `packed` leaves no padding between two values that have none themselves.
unsafe impl<P: Scalar> Scalar for Closed<P> {}

/// Groups of fixed-size values, and room for `N` descriptors.
#[repr(C)]
#[derive(Debug)]
pub struct Frame<G, const N: usize> {
    // First: the frame's address is that of the table.
    table: MaybeUninit<[EventDataDescriptor<'static>; N]>,
    groups: G,
}

impl<G, const N: usize> Frame<G, N> {
    /// Makes a frame with these values and hands it to the function that writes the event.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn enter<R>(groups: G, send: impl for<'id> FnOnce(Stage<'id, G, N>, Slot<'id>) -> R) -> R {
        let mut frame = MaybeUninit::<Self>::uninit();
        let frame = frame.as_mut_ptr();
        // Not made as a value and moved: the compiler has been seen to fill the table on that way.
        // SAFETY: the place is part of `frame`.
        let place = unsafe { &raw mut (*frame).groups };
        // SAFETY: it is there for a value of this type.
        unsafe { place.write(groups) };
        send(Stage { frame, brand: PhantomData }, Slot { table: frame.cast(), brand: PhantomData })
    }
}

/// A frame to be filled.
#[repr(transparent)]
#[derive(Debug)]
pub struct Stage<'id, G, const N: usize> {
    frame: *mut Frame<G, N>,
    brand: Brand<'id>,
}

/// The address of a frame's table, for the system.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Slot<'id> {
    table: *const EventDataDescriptor<'static>,
    brand: Brand<'id>,
}

/// A table to be filled.
#[repr(transparent)]
#[derive(Debug)]
pub struct Table<'id, const N: usize> {
    table: *mut [EventDataDescriptor<'static>; N],
    brand: Brand<'id>,
}

impl<'id, G, const N: usize> Stage<'id, G, N> {
    /// The two parts.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub fn split(self) -> (Table<'id, N>, &'id mut G) {
        let table = self.frame.cast();
        // SAFETY: there is one stage for a frame, which is borrowed for `'id`; the table is another part of it.
        let groups = unsafe { &mut (*self.frame).groups };
        (Table { table, brand: PhantomData }, groups)
    }
}

/// The activities of an event. Both are null or point at 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ids<'a> {
    /// The event's own activity.
    pub activity: Option<&'a [u8; 16]>,
    /// The activity that it comes from.
    pub related: Option<&'a [u8; 16]>,
}

impl Ids<'_> {
    /// Neither.
    pub const NONE: Self = Self { activity: None, related: None };
}

/// A null activity id that is hidden from the optimiser. Otherwise it removes a parameter for which every caller passes the
/// same value, and the other parameters change registers.
///
/// # IRQL
///
/// Any.
#[must_use]
#[inline(always)]
pub fn no_id<'a>() -> Option<&'a [u8; 16]> {
    let pointer = opaque(core::ptr::null::<[u8; 16]>());
    // SAFETY: the pointer is the null pointer that went in, and null is `None`.
    unsafe { pointer.as_ref() }
}

/// The number of descriptors in a table of `N`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Total<const N: usize>(u32);

#[expect(clippy::cast_possible_truncation, reason = "the macros allow at most 128 descriptors")]
impl<const N: usize> Total<N> {
    /// The number.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub const fn new() -> Self {
        Self(N as u32)
    }

    /// The number, of which the compiler does not know which it is: see [`no_id`].
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    #[inline(always)]
    pub fn opaque() -> Self {
        Self(opaque(core::ptr::without_provenance::<()>(N)).addr() as u32)
    }
}

impl<const N: usize> Default for Total<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'id, const N: usize> Table<'id, N> {
    /// Fills the table and writes the event.
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn send<M: Mode>(
        self,
        slot: Slot<'id>,
        provider: &Provider<M>,
        event: &'static Event,
        ids: Ids<'_>,
        total: Total<N>,
        descriptors: [EventDataDescriptor<'_>; N],
    ) -> M::Status {
        let count = total.0;
        // SAFETY: the table is in a frame that is borrowed for `'id`, and nobody else has it.
        unsafe { self.table.cast::<[EventDataDescriptor<'_>; N]>().write(descriptors) };
        let pointer = |id: Option<&[u8; 16]>| id.map_or(core::ptr::null(), |id| id.as_ptr().cast());
        let (activity, related) = (pointer(ids.activity), pointer(ids.related));
        // SAFETY: the handle is 0 or live (`register`'s contract keeps unregistering away from writers); ids are null or
        // 16 readable bytes, which x86-64 and ARM64 read at any alignment; the slot is that of this table, as the brand
        // says, so there are `N` descriptors, whose bytes outlive the call.
        unsafe { M::write_transfer(provider.handle(), event.descriptor(), activity, related, count, slot.table) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::super::packed::Packed2;
    use super::{Counted, Frame};

    #[test]
    fn a_length_is_behind_the_values() {
        let mut group = Counted::new(Packed2(0x11_u8, 0x2233_4455_u32));
        let descriptor = group.close(0x6677);
        // SAFETY: a descriptor points at as many bytes as it says, and its lifetime says that they are alive.
        let bytes = unsafe { std::slice::from_raw_parts(descriptor.as_ptr(), descriptor.size() as usize) }.to_vec();
        assert_eq!(bytes, [0x11, 0x55, 0x44, 0x33, 0x22, 0x77, 0x66]);
    }

    #[test]
    fn a_stage_leads_to_the_groups_of_its_frame() {
        let groups = (1_u32, Counted::new(()));
        let seen: Vec<u32> = Frame::<_, 2>::enter(groups, |stage, slot| {
            let (table, (first, second)) = stage.split();
            assert_eq!(table.table.cast_const().cast(), slot.table);
            assert_eq!(second.close(7).size(), 2);
            *first += 1;
            std::vec![*first]
        });
        assert_eq!(seen, [2]);
    }
}
