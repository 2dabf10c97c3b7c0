//! Strings, collections, and the framework's debugging functions.

use etw_types::NtStatus;
use nt_kernel::{Kernel, kernel};
use nt_processor::layout::{UNICODE_STRING, WDF_OBJECT_ATTRIBUTES};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{ANY, Call, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, fail, functions};
use nt_verifier::verify::{self, Rule};

use crate::Handle;
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::{self, create, created};

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfStringCreate(
        &call,
        text: GuestPtr<UNICODE_STRING>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        let attributes = Attributes::read(attributes, Options::default())?;
        validate(text)?;
        created(new_string(call.from, &attributes, &text.units()?), place)
    }

    #[irql(PASSIVE)]
    fn WdfStringGetUnicodeString(handle: Handle, place: GuestPtr<UNICODE_STRING>) -> Result<(), Fault> {
        let units = string(handle);
        let length = units.len() as u16 * 2;
        place.set(length, length + 2, units.start())
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfCollectionCreate(&call, attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, place: GuestPtr<Handle>) -> Outcome {
        created(create(call, attributes, None, Collection(Vec::new())), place)
    }

    #[irql(DISPATCH)]
    fn WdfCollectionGetCount(collection: Handle) -> u32 {
        with_items(collection, |items| items.len() as u32)
    }

    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn WdfCollectionAdd(collection: Handle, item: Handle) -> NtStatus {
        add_item(collection, item);
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn WdfCollectionRemove(collection: Handle, item: Handle) {
        with_items(collection, |items| {
            if let Some(position) = items.iter().position(|known| *known == item) {
                items.remove(position);
            }
        });
    }

    #[irql(DISPATCH)]
    fn WdfCollectionRemoveItem(collection: Handle, index: u32) {
        with_items(collection, |items| {
            if (index as usize) < items.len() {
                items.remove(index as usize);
            }
        });
    }

    #[irql(DISPATCH)]
    fn WdfCollectionGetItem(collection: Handle, index: u32) -> Handle {
        with_items(collection, |items| items.get(index as usize).copied().unwrap_or_default())
    }

    #[irql(DISPATCH)]
    fn WdfCollectionGetFirstItem(collection: Handle) -> Handle {
        with_items(collection, |items| items.first().copied().unwrap_or_default())
    }

    #[irql(DISPATCH)]
    fn WdfCollectionGetLastItem(collection: Handle) -> Handle {
        with_items(collection, |items| items.last().copied().unwrap_or_default())
    }

    #[irql(ANY)]
    fn WdfVerifierDbgBreakPoint(&call) {
        break_on_error(call);
    }

    #[irql(ANY)]
    fn WdfVerifierKeBugCheck(
        &call,
        _code: Ignored<u32>,
        _first: Ignored<u64>,
        _second: Ignored<u64>,
        _third: Ignored<u64>,
        _fourth: Ignored<u64>,
    ) {
        stop(call, "the driver called WdfVerifierKeBugCheck");
    }
}

/// A string object: the text without its terminating zero.
struct Text {
    units: GuestSlice<u16>,
}

impl Kind for Text {
    fn name(&self) -> &'static str {
        "string"
    }

    fn free(&self) {
        nt_kernel::lock(&kernel().pool).free_object(self.units.start().address());
    }
}

struct Collection(Vec<Handle>);

impl Kind for Collection {
    fn name(&self) -> &'static str {
        "collection"
    }
}

/// Breaks if the registry says so, as on the function's page: `DbgBreakOnError` or, without that, `VerifierOn`.
fn break_on_error(call: &Call) {
    let Kernel { config, registry, .. } = kernel();
    let setting = |name| nt_kernel::lock(registry).framework_setting(&config.name, name).map(|value| value != 0);
    if setting("DbgBreakOnError").or_else(|| setting("VerifierOn")).unwrap_or_default() {
        stop(call, "hits a breakpoint without a debugger");
    }
    verify::announce("nt-host: WdfVerifierDbgBreakPoint does nothing: neither DbgBreakOnError nor VerifierOn is set");
}

fn stop(call: &Call, what: &str) -> ! {
    verify::stop(Rule::BugCheck, Some(call.name()), call.from, format_args!("{what}"))
}

/// Checks a string of the driver as `FxValidateUnicodeString` (`inc/private/common/fxvalidatefunctions.hpp`) does. There may be
/// none.
pub(super) fn validate(text: GuestPtr<UNICODE_STRING>) -> Outcome {
    let Some(text) = text.non_null() else { return Ok(()) };
    let UNICODE_STRING { Length, MaximumLength, Buffer, .. } = text.read()?;
    let is_odd = (Length | MaximumLength) & 1 != 0;
    let has_no_buffer = MaximumLength > 0 && Buffer.is_null();
    if is_odd || has_no_buffer || Length > MaximumLength {
        return fail(NtStatus::InvalidParameter);
    }
    Ok(())
}

/// Creates a string object.
pub(super) fn new_string(from: u64, attributes: &Attributes, units: &[u16]) -> Outcome<Handle> {
    object::create_with(from, attributes, None, Text { units: copy(units)? })
}

fn copy(units: &[u16]) -> Result<GuestSlice<u16>, Fault> {
    let place: GuestPtr<u16> = nt_kernel::lock(&kernel().pool).new_objects(units.len() as u64 + 1);
    place.write_all(units)?;
    Ok(place.array(units.len() as u64))
}

fn string(handle: Handle) -> GuestSlice<u16> {
    object::part(handle, |text: &mut Text| text.units)
}

/// Returns whether an object is a string object.
pub(super) fn is_string(handle: Handle) -> bool {
    object::is::<Text>(handle)
}

/// Returns the text of a string object.
pub(super) fn string_units(handle: Handle) -> Result<Vec<u16>, Fault> {
    string(handle).read()
}

/// Replaces the text of a string object.
pub(super) fn set_string(handle: Handle, units: &[u16]) -> Result<(), Fault> {
    let units = copy(units)?;
    let old = object::part(handle, |text: &mut Text| std::mem::replace(&mut text.units, units));
    nt_kernel::lock(&kernel().pool).free_object(old.start().address());
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

fn with_items<R>(handle: Handle, body: impl FnOnce(&mut Vec<Handle>) -> R) -> R {
    object::part(handle, |collection: &mut Collection| body(&mut collection.0))
}
