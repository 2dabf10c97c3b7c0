//! Functions that write the most common payloads, so that the compiler processes them once per list of field types and
//! not once per event: only fixed-size values, or fixed-size values before one text or array.
//!
//! For all other payloads, the macros generate equivalent code. Each payload has two functions: one that creates the
//! frame and is inlined into the event's own function, and one that is shared (see [`super::frame`]). The provider is
//! the last parameter. If it is the same for all events, the optimiser does not pass it; if it is not, it must not
//! shift the other arguments.

use super::Event;
use super::frame::{CountArg, Counted, Frame, FrameMut, Ids, TableArg, no_id};
use super::packed::{Scalar, slice_descriptor, value_descriptor};
use super::text::{byte_count, element_count, elements, utf8, utf16};
use crate::{Mode, Provider};

/// How text or an array is truncated and counted.
pub trait Kind {
    /// The type of a code unit or element.
    type Unit: Scalar;

    /// Returns as much of it as its length field can express.
    fn fit(units: &[Self::Unit]) -> &[Self::Unit];

    /// Returns the value of its length field. The caller guarantees that it fits.
    fn count(units: &[Self::Unit]) -> u16;
}

/// UTF-8, counted in bytes.
#[derive(Debug)]
pub struct Utf8;

/// UTF-16, counted in bytes.
#[derive(Debug)]
pub struct Utf16;

/// An array, counted in elements.
#[derive(Debug)]
pub struct Elements<T>(core::marker::PhantomData<T>);

impl Kind for Utf8 {
    type Unit = u8;

    #[inline(always)]
    fn fit(units: &[u8]) -> &[u8] {
        utf8(units)
    }

    #[inline(always)]
    fn count(units: &[u8]) -> u16 {
        byte_count(units)
    }
}

impl Kind for Utf16 {
    type Unit = u16;

    #[inline(always)]
    fn fit(units: &[u16]) -> &[u16] {
        utf16(units)
    }

    #[inline(always)]
    fn count(units: &[u16]) -> u16 {
        byte_count(units)
    }
}

impl<T: Scalar> Kind for Elements<T> {
    type Unit = T;

    #[inline(always)]
    fn fit(units: &[T]) -> &[T] {
        elements(units)
    }

    #[inline(always)]
    fn count(units: &[T]) -> u16 {
        element_count(units)
    }
}

/// Writes an event of fixed-size values.
///
/// # IRQL
///
/// Any.
#[inline(always)]
pub fn write_values<P: Scalar, M: Mode>(provider: &Provider<M>, event: &'static Event, values: P) -> M::Status {
    Frame::<_, 3>::enter((values,), |frame, table| {
        send_values(frame, event.opaque(), no_id(), no_id(), CountArg::passed(), table, provider)
    })
}

#[cold]
#[inline(never)]
fn send_values<'f, P: Scalar, M: Mode>(
    frame: FrameMut<'f, (P,), 3>,
    event: &'static Event,
    activity: Option<&[u8; 16]>,
    related: Option<&[u8; 16]>,
    count: CountArg<3>,
    table: TableArg<'f>,
    provider: &Provider<M>,
) -> M::Status {
    frame.send(provider, event, Ids { activity, related }, count, table, |(values,)| {
        Some([provider.traits_descriptor(), event.metadata(), value_descriptor(values)])
    })
}

/// Writes an event of fixed-size values and then a text or an array.
///
/// # IRQL
///
/// Any.
#[inline(always)]
pub fn write_text<K: Kind, P: Scalar, M: Mode>(
    provider: &Provider<M>,
    event: &'static Event,
    values: P,
    text: &[K::Unit],
) -> M::Status {
    Frame::<_, 4>::enter((Counted::new(values),), |frame, table| {
        send_text::<K, P, M>(frame, event.opaque(), text, CountArg::passed(), table, provider)
    })
}

#[cold]
#[inline(never)]
fn send_text<'f, K: Kind, P: Scalar, M: Mode>(
    frame: FrameMut<'f, (Counted<P>,), 4>,
    event: &'static Event,
    text: &[K::Unit],
    count: CountArg<4>,
    table: TableArg<'f>,
    provider: &Provider<M>,
) -> M::Status {
    frame.send(provider, event, Ids::NONE, count, table, |(values,)| {
        let text = K::fit(text);
        let length = K::count(text);
        Some([provider.traits_descriptor(), event.metadata(), values.close(length), slice_descriptor(text)])
    })
}
