//! The `Fwpm` routines that look up and list providers, sublayers, callouts and filters.

use std::collections::VecDeque;
use std::mem::offset_of;
use std::sync::Arc;

use etw_types::{Guid, NtStatus};
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::pool;
use nt_processor::layout::{FWPM_FILTER_ENUM_TEMPLATE0, FWPM_FILTER0, GUID};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{Call, FILTERING, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};

use super::record::{Record, TAG};
use super::state::{Enumeration, Policy, state};

/// The kind of an enumeration's handle, for reports of leaks.
const ENUMERATION: &str = "filter engine enumeration";
/// The offsets of the provider and the layer in the structures of sublayers, callouts and filters, and of the key of a filter's callout.
const PROVIDER: usize = offset_of!(FWPM_FILTER0, providerKey);
const LAYER: usize = offset_of!(FWPM_FILTER0, layerKey);
const ACTION_KEY: usize = offset_of!(FWPM_FILTER0, actionKey);

type Entry = GuestPtr<Opaque>;
type Entries = GuestPtr<GuestPtr<Opaque>>;
type Template = GuestPtr<FWPM_FILTER_ENUM_TEMPLATE0>;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmProviderGetByKey0(&call, engine: KernelHandle, key: GuestPtr<GUID>, place: Out<Entry>) -> Outcome {
        let key = key.id()?;
        let find = |policy: &Policy| policy.providers.iter().find(|(known, ..)| *known == key).map(|(_, record, _)| record.clone());
        give(call, engine, find, NtStatus::FwpProviderNotFound, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmSubLayerGetByKey0(&call, engine: KernelHandle, key: GuestPtr<GUID>, place: Out<Entry>) -> Outcome {
        let key = key.id()?;
        let find = |policy: &Policy| policy.sublayers.iter().find(|(known, ..)| *known == key).map(|(_, _, record, _)| record.clone());
        give(call, engine, find, NtStatus::FwpSublayerNotFound, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmCalloutGetByKey0(&call, engine: KernelHandle, key: GuestPtr<GUID>, place: Out<Entry>) -> Outcome {
        let key = key.id()?;
        let find = |policy: &Policy| policy.callouts.iter().find(|(known, ..)| *known == key).map(|(_, _, _, record, _)| record.clone());
        give(call, engine, find, NtStatus::FwpCalloutNotFound, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmCalloutGetById0(&call, engine: KernelHandle, id: u32, place: Out<Entry>) -> Outcome {
        let find = |policy: &Policy| policy.callouts.iter().find(|(_, known, ..)| *known == id).map(|(_, _, _, record, _)| record.clone());
        give(call, engine, find, NtStatus::FwpCalloutNotFound, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmFilterGetByKey0(&call, engine: KernelHandle, key: GuestPtr<GUID>, place: Out<Entry>) -> Outcome {
        let key = key.id()?;
        let find = |policy: &Policy| policy.filters.iter().find(|known| known.key == key).map(|known| known.record.clone());
        give(call, engine, find, NtStatus::FwpFilterNotFound, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmFilterGetById0(&call, engine: KernelHandle, id: u64, place: Out<Entry>) -> Outcome {
        let find = |policy: &Policy| policy.filters.iter().find(|known| known.id == id).map(|known| known.record.clone());
        give(call, engine, find, NtStatus::FwpFilterNotFound, place)
    }

    /// The template of providers has no members that are used.
    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmProviderCreateEnumHandle0(
        &call,
        engine: KernelHandle,
        _template: Ignored<Entry>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        begin(call, engine, |policy| policy.providers.iter().map(|(_, record, _)| record.clone()).collect(), place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmProviderEnum0(
        &call,
        engine: KernelHandle,
        enumeration: KernelHandle,
        most: u32,
        entries: Out<Entries>,
        count: Out<u32>,
    ) -> Outcome {
        list(call, engine, enumeration, most, entries, count)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmProviderDestroyEnumHandle0(engine: KernelHandle, enumeration: KernelHandle) -> Outcome {
        end(engine, enumeration)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmSubLayerCreateEnumHandle0(
        &call,
        engine: KernelHandle,
        template: Option<Template>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let provider = template.map_or(Ok(None), provider)?;
        begin(call, engine, |policy| {
            let records = policy.sublayers.iter().map(|(_, _, record, _)| record);
            records.filter(|record| has(record.guid_behind(PROVIDER), provider)).cloned().collect()
        }, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmSubLayerEnum0(
        &call,
        engine: KernelHandle,
        enumeration: KernelHandle,
        most: u32,
        entries: Out<Entries>,
        count: Out<u32>,
    ) -> Outcome {
        list(call, engine, enumeration, most, entries, count)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmSubLayerDestroyEnumHandle0(engine: KernelHandle, enumeration: KernelHandle) -> Outcome {
        end(engine, enumeration)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmCalloutCreateEnumHandle0(
        &call,
        engine: KernelHandle,
        template: Option<Template>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let (provider, layer) = template.map_or(Ok((None, None)), provider_and_layer)?;
        begin(call, engine, |policy| {
            let records = policy.callouts.iter().map(|(_, _, _, record, _)| record);
            let is_wanted = |record: &&Arc<Record>| has(record.guid_behind(PROVIDER), provider) && has(record.guid(LAYER), layer);
            records.filter(is_wanted).cloned().collect()
        }, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmCalloutEnum0(
        &call,
        engine: KernelHandle,
        enumeration: KernelHandle,
        most: u32,
        entries: Out<Entries>,
        count: Out<u32>,
    ) -> Outcome {
        list(call, engine, enumeration, most, entries, count)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmCalloutDestroyEnumHandle0(engine: KernelHandle, enumeration: KernelHandle) -> Outcome {
        end(engine, enumeration)
    }

    /// The template selects by provider, layer and callout. Its conditions select nothing.
    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmFilterCreateEnumHandle0(
        &call,
        engine: KernelHandle,
        template: Option<Template>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let (provider, layer) = template.map_or(Ok((None, None)), provider_and_layer)?;
        let callout = template.map_or(Ok(None), |template| template.calloutKey().read()?.non_null().map(GuestPtr::<GUID>::id).transpose())?;
        begin(call, engine, |policy| {
            let records = policy.filters.iter().map(|filter| &filter.record);
            let is_wanted = |record: &&Arc<Record>| {
                has(record.guid_behind(PROVIDER), provider)
                    && has(record.guid(LAYER), layer)
                    && has(record.guid(ACTION_KEY), callout)
            };
            records.filter(is_wanted).cloned().collect()
        }, place)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpmFilterEnum0(
        &call,
        engine: KernelHandle,
        enumeration: KernelHandle,
        most: u32,
        entries: Out<Entries>,
        count: Out<u32>,
    ) -> Outcome {
        list(call, engine, enumeration, most, entries, count)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmFilterDestroyEnumHandle0(engine: KernelHandle, enumeration: KernelHandle) -> Outcome {
        end(engine, enumeration)
    }

    /// Frees the memory, and sets the pointer to it to NULL.
    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmFreeMemory0(place: GuestPtr<Entry>) -> Result<(), Fault> {
        if let Some(memory) = place.read()?.non_null() {
            pool::free(memory.address(), Some(u32::from_le_bytes(TAG)));
        }
        place.write(GuestPtr::NULL)
    }
}

fn provider(template: Template) -> Result<Option<Guid>, Fault> {
    template.providerKey().read()?.non_null().map(GuestPtr::<GUID>::id).transpose()
}

fn provider_and_layer(template: Template) -> Result<(Option<Guid>, Option<Guid>), Fault> {
    Ok((provider(template)?, Some(template.layerKey().id()?).filter(|layer| !layer.is_zero())))
}

/// Returns whether a value is the wanted one, if one is wanted.
fn has(value: Option<Guid>, wanted: Option<Guid>) -> bool {
    wanted.is_none() || value == wanted
}

/// Gives the driver an object of the policy.
fn give(
    call: &Call,
    engine: KernelHandle,
    find: impl FnOnce(&Policy) -> Option<Arc<Record>>,
    missing: NtStatus,
    place: Out<Entry>,
) -> Outcome {
    let record = {
        let mut state = state();
        state.session(engine)?;
        find(&state.policy)
    };
    let Some(record) = record else { return fail(missing) };
    place.set(record.give(call)?)?;
    done(())
}

/// Begins a list of the objects that exist now.
fn begin(
    call: &Call,
    engine: KernelHandle,
    find: impl FnOnce(&Policy) -> VecDeque<Arc<Record>>,
    place: Out<KernelHandle>,
) -> Outcome {
    state().session(engine)?;
    let handle = object::open(ENUMERATION, 0, call.from)?;
    {
        let state = &mut *state();
        let left = find(&state.policy);
        state.enumerations.push(Enumeration { handle, engine, left });
    }
    place.set(handle)?;
    done(())
}

/// Gives the next objects of a list.
fn list(
    call: &Call,
    engine: KernelHandle,
    enumeration: KernelHandle,
    most: u32,
    entries: Out<Entries>,
    count: Out<u32>,
) -> Outcome {
    let records: Vec<Arc<Record>> = {
        let mut state = state();
        state.session(engine)?;
        let found = state.enumerations.iter_mut().find(|known| known.handle == enumeration);
        let left = &mut found.ok_or(NtStatus::InvalidHandle)?.left;
        left.drain(..left.len().min(most as usize)).collect()
    };
    let all: Vec<&Record> = records.iter().map(AsRef::as_ref).collect();
    let given = if all.is_empty() { GuestPtr::NULL } else { Record::array(&all).give(call)?.cast() };
    entries.set(given)?;
    count.set(records.len() as u32)?;
    done(())
}

fn end(engine: KernelHandle, enumeration: KernelHandle) -> Outcome {
    {
        let mut state = state();
        state.session(engine)?;
        let position = state.enumerations.iter().position(|known| known.handle == enumeration);
        state.enumerations.remove(position.ok_or(NtStatus::InvalidHandle)?);
    }
    object::close(enumeration);
    done(())
}

/// Ends the lists of a session that is closed.
pub(super) fn end_all(engine: KernelHandle) {
    let ended: Vec<Enumeration> = state().enumerations.extract_if(.., |known| known.engine == engine).collect();
    for enumeration in ended {
        object::close(enumeration.handle);
    }
}
