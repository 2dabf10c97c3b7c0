//! Strings, collections, and the framework's own debugging aids.

use super::attributes::Attributes;
use super::object::{self, Data, change, create, created};
use super::{Handle, status};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfStringCreate", PASSIVE, |call| match Attributes::read(call.arg(2)) {
        Ok(attributes) => created(new_string(call.from, &attributes, &guest::unicode(call.arg(1))), call.arg(3)),
        Err(status) => status.into(),
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfStringGetUnicodeString", PASSIVE, |call| {
        let (address, length) = string(call.arg(1));
        guest::set_string(call.arg(2), length, length + 2, address);
        0
    }),
    routine("WdfCollectionCreate", DISPATCH, |call| {
        created(create(call, call.arg(1), None, Data::Collection(Vec::new())), call.arg(2))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfCollectionGetCount", DISPATCH, |call| items(call, |items| items.len() as u64)),
    routine("WdfCollectionAdd", DISPATCH, |call| {
        items(call, |items| items.push(call.arg(2)));
        status::SUCCESS
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfCollectionRemove", DISPATCH, |call| {
        items(call, |items| {
            if let Some(position) = items.iter().position(|item| *item == call.arg(2)) {
                items.remove(position);
            }
        });
        0
    }),
    routine("WdfCollectionRemoveItem", DISPATCH, |call| {
        items(call, |items| {
            if (call.u32(2) as usize) < items.len() {
                items.remove(call.u32(2) as usize);
            }
        });
        0
    }),
    routine("WdfCollectionGetItem", DISPATCH, |call| {
        items(call, |items| items.get(call.u32(2) as usize).copied().unwrap_or_default())
    }),
    routine("WdfCollectionGetFirstItem", DISPATCH, |call| {
        items(call, |items| items.first().copied().unwrap_or_default())
    }),
    routine("WdfCollectionGetLastItem", DISPATCH, |call| {
        items(call, |items| items.last().copied().unwrap_or_default())
    }),
    routine("WdfCmResourceListGetCount", DISPATCH, |_| 0).fixed(),
    routine("WdfCmResourceListGetDescriptor", DISPATCH, |_| 0).fixed(),
    routine("WdfVerifierDbgBreakPoint", DISPATCH, |call| stop(call, "a breakpoint, with no debugger")),
    routine("WdfVerifierKeBugCheck", DISPATCH, |call| stop(call, "the driver stopped the machine")),
];

fn stop(call: &Call, what: &str) -> ! {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("{what}"))
}

/// Makes a string object.
pub(super) fn new_string(from: u64, attributes: &Attributes, units: &[u16]) -> Result<Handle, u32> {
    let (address, length) = copy(units);
    object::create_with(from, attributes, None, Data::String { address, length })
}

fn copy(units: &[u16]) -> (u64, u16) {
    let length = units.len() as u16 * 2;
    let address = kernel::lock(&kernel().pool).object(u64::from(length) + 2);
    guest::put_units(address, units);
    (address, length)
}

fn string(handle: Handle) -> (u64, u16) {
    let found = change(handle, |object| match object.data {
        Data::String { address, length } => Some((address, length)),
        _ => None,
    });
    found.unwrap_or_else(|| object::violation(handle))
}

/// The text of a string object.
pub(super) fn string_units(handle: Handle) -> Vec<u16> {
    let (address, length) = string(handle);
    (0..u64::from(length) / 2).map(|index| guest::read(address + index * 2)).collect()
}

/// Gives a string object another text.
pub(super) fn set_string(handle: Handle, units: &[u16]) {
    let (old, _) = string(handle);
    let (address, length) = copy(units);
    change(handle, |object| object.data = Data::String { address, length });
    kernel::lock(&kernel().pool).free_object(old);
}

/// What is in a collection.
pub(super) fn items_of(handle: Handle) -> Vec<Handle> {
    with_items(handle, |items| items.clone())
}

/// Adds to a collection.
pub(super) fn add_item(handle: Handle, item: Handle) {
    with_items(handle, |items| items.push(item));
}

fn items<R>(call: &Call, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    with_items(call.arg(1), body)
}

fn with_items<R>(handle: Handle, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    let result = change(handle, |object| match &mut object.data {
        Data::Collection(items) => Some(body(items)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(handle))
}
