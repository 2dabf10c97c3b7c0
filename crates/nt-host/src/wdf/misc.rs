//! Strings, collections, and the framework's own debugging aids.

use super::object::{self, Data, change, create, created};
use super::{Handle, status};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::kernel::{self, kernel};
use crate::memory::guest;
use crate::verify::{self, Rule};

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfStringCreate", PASSIVE, |call| {
        let units = guest::unicode(call.arg(1));
        let length = units.len() as u16 * 2;
        let address = kernel::lock(&kernel().pool).object(u64::from(length) + 2);
        guest::put_units(address, &units);
        created(create(call, call.arg(2), None, Data::String { address, length }), call.arg(3))
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfStringGetUnicodeString", PASSIVE, |call| {
        let found = change(call.arg(1), |object| match object.data {
            Data::String { address, length } => Some((address, length)),
            _ => None,
        });
        let (address, length) = found.unwrap_or_else(|| object::violation(call.arg(1)));
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
    routine("WdfCmResourceListGetCount", DISPATCH, |_| 0),
    routine("WdfCmResourceListGetDescriptor", DISPATCH, |_| 0),
    routine("WdfVerifierDbgBreakPoint", DISPATCH, |call| stop(call, "a breakpoint, with no debugger")),
    routine("WdfVerifierKeBugCheck", DISPATCH, |call| stop(call, "the driver stopped the machine")),
];

fn stop(call: &Call, what: &str) -> ! {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("{what}"))
}

fn items<R>(call: &Call, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    let result = change(call.arg(1), |object| match &mut object.data {
        Data::Collection(items) => Some(body(items)),
        _ => None,
    });
    result.unwrap_or_else(|| object::violation(call.arg(1)))
}
