//! Writers for the commonest payloads, so that the compiler sees them once for each list of field types and not once for
//! each event: fixed-size values alone, and fixed-size values before one text or array.
//!
//! The macros write the same out for all other payloads. Each is a pair: a function that is inlined into the event's own
//! and makes the frame, and one that is shared. The provider comes last: where it is the same for all events it is not
//! passed at all, and where it is not it must not move the slot.

use super::Event;
use super::frame::{Counted, Frame, Ids, Slot, Stage, Total, no_id};
use super::packed::{Scalar, slice_descriptor, value_descriptor};
use super::text::{byte_count, element_count, elements, utf8, utf16};
use crate::{Mode, Provider};

/// How a text or an array is cut and counted.
pub trait Kind {
    /// What it consists of.
    type Unit: Scalar;

    /// As much of it as its length can tell.
    fn fit(units: &[Self::Unit]) -> &[Self::Unit];

    /// Its length, as the event has it. The caller has seen to it that it fits.
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
    Frame::<_, 3>::enter((values,), |stage, slot| {
        send_values(stage, event.opaque(), no_id(), no_id(), Total::opaque(), slot, provider)
    })
}

#[cold]
#[inline(never)]
fn send_values<'id, P: Scalar, M: Mode>(
    stage: Stage<'id, (P,), 3>,
    event: &'static Event,
    activity: Option<&[u8; 16]>,
    related: Option<&[u8; 16]>,
    total: Total<3>,
    slot: Slot<'id>,
    provider: &Provider<M>,
) -> M::Status {
    let (table, (values,)) = stage.split();
    let descriptors = [provider.traits_descriptor(), event.metadata(), value_descriptor(values)];
    table.send(slot, provider, event, Ids { activity, related }, total, descriptors)
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
    Frame::<_, 4>::enter((Counted::new(values),), |stage, slot| {
        send_text::<K, P, M>(stage, event.opaque(), text, Total::opaque(), slot, provider)
    })
}

#[cold]
#[inline(never)]
fn send_text<'id, K: Kind, P: Scalar, M: Mode>(
    stage: Stage<'id, (Counted<P>,), 4>,
    event: &'static Event,
    text: &[K::Unit],
    total: Total<4>,
    slot: Slot<'id>,
    provider: &Provider<M>,
) -> M::Status {
    let (table, (values,)) = stage.split();
    let text = K::fit(text);
    let descriptors =
        [provider.traits_descriptor(), event.metadata(), values.close(K::count(text)), slice_descriptor(text)];
    table.send(slot, provider, event, Ids::NONE, total, descriptors)
}
