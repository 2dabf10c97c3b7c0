//! Strings, collections, and the framework's debugging functions.

use etw_types::NtStatus;

use super::Handle;
use super::attributes::Attributes;
use super::object::{self, Data, change, create, created};
use crate::kernel::{self, kernel};
use crate::layout::UNICODE_STRING;
use crate::memory::{Fault, GuestPtr, GuestSlice};
use crate::routine::{Call, DISPATCH, Outcome, PASSIVE, Routine, routine};
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfStringCreate", PASSIVE, |call| {
        let attributes = Attributes::read(call.ptr(2))?;
        let text = call.ptr::<UNICODE_STRING>(1).units()?;
        created(new_string(call.from, &attributes, &text), call.ptr(3))
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfStringGetUnicodeString", PASSIVE, |call| {
        let units = string(call.handle(1));
        let length = units.len() as u16 * 2;
        call.ptr::<UNICODE_STRING>(2).set(length, length + 2, units.start())
    }),
    routine!("WdfCollectionCreate", DISPATCH, |call| {
        created(create(call, call.ptr(1), None, Data::Collection(Vec::new())), call.ptr(2))
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfCollectionGetCount", DISPATCH, |call| items(call, |items| items.len() as u64)),
    routine!("WdfCollectionAdd", DISPATCH, |call| {
        items(call, |items| items.push(call.handle(2)));
        NtStatus::Success
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfCollectionRemove", DISPATCH, |call| {
        items(call, |items| {
            if let Some(position) = items.iter().position(|item| *item == call.handle(2)) {
                items.remove(position);
            }
        });
    }),
    routine!("WdfCollectionRemoveItem", DISPATCH, |call| {
        items(call, |items| {
            if (call.u32(2) as usize) < items.len() {
                items.remove(call.u32(2) as usize);
            }
        });
    }),
    routine!("WdfCollectionGetItem", DISPATCH, |call| {
        items(call, |items| items.get(call.u32(2) as usize).copied().unwrap_or_default())
    }),
    routine!("WdfCollectionGetFirstItem", DISPATCH, |call| {
        items(call, |items| items.first().copied().unwrap_or_default())
    }),
    routine!("WdfCollectionGetLastItem", DISPATCH, |call| {
        items(call, |items| items.last().copied().unwrap_or_default())
    }),
    routine!("WdfVerifierDbgBreakPoint", DISPATCH, |call| stop(call, "a breakpoint without a debugger")),
    routine!("WdfVerifierKeBugCheck", DISPATCH, |call| stop(call, "the driver called WdfVerifierKeBugCheck")),
];

fn stop(call: &Call, what: &str) -> u64 {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("{what}"))
}

/// Creates a string object.
pub(super) fn new_string(from: u64, attributes: &Attributes, units: &[u16]) -> Outcome<Handle> {
    object::create_with(from, attributes, None, Data::String { units: copy(units)? })
}

fn copy(units: &[u16]) -> Result<GuestSlice<u16>, Fault> {
    let place: GuestPtr<u16> = kernel::lock(&kernel().pool).new_objects(units.len() as u64 + 1);
    place.write_all(units)?;
    Ok(place.array(units.len() as u64))
}

fn string(handle: Handle) -> GuestSlice<u16> {
    object::part(handle, |data| match data {
        Data::String { units } => Some(*units),
        _ => None,
    })
}

/// Returns the text of a string object.
pub(super) fn string_units(handle: Handle) -> Result<Vec<u16>, Fault> {
    string(handle).read()
}

/// Replaces the text of a string object.
pub(super) fn set_string(handle: Handle, units: &[u16]) -> Result<(), Fault> {
    let (old, units) = (string(handle), copy(units)?);
    change(handle, |object| object.data = Data::String { units });
    kernel::lock(&kernel().pool).free_object(old.start().address());
    Ok(())
}

/// Returns the items of a collection.
pub(super) fn items_of(handle: Handle) -> Vec<Handle> {
    with_items(handle, |items| items.clone())
}

/// Adds an item to a collection.
pub(super) fn add_item(handle: Handle, item: Handle) {
    with_items(handle, |items| items.push(item));
}

fn items<R>(call: &Call, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    with_items(call.handle(1), body)
}

fn with_items<R>(handle: Handle, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    object::part(handle, |data| match data {
        Data::Collection(items) => Some(body(items)),
        _ => None,
    })
}
