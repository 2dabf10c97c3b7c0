//! The `Fwpm` routines: sessions, transactions, providers, sublayers, callouts and filters.

use std::mem::offset_of;

use etw_types::{Guid, NtStatus};
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::{kernel, lock};
use nt_processor::layout::{
    FWPM_CALLOUT0, FWPM_FILTER_CONDITION0, FWPM_FILTER0, FWPM_PROVIDER0, FWPM_SESSION0, FWPM_SUBLAYER0, GUID,
};
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{Call, DISPATCH, FILTERING, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::{
    FWP_ACTION_FLAG_CALLOUT, FWPM_SERVICE_RUNNING, FWPM_SESSION_FLAG_DYNAMIC, FWPM_SUBLAYER_UNIVERSAL,
};

use super::callout;
use super::record::Member::{self, Blob, Conditions, Key, Text};
use super::record::Record;
use super::state::{Filter, Owner, Policy, Registered, Session, State, state};
use super::value::{self, Condition, Match, Value};
use super::{layers, lookup};

/// The kind of a session's handle, for reports of leaks.
const SESSION: &str = "filter engine session";
/// The members of the structures that refer to other data.
const PROVIDER: &[(usize, Member)] = &[
    (offset_of!(FWPM_PROVIDER0, displayData.name), Text),
    (offset_of!(FWPM_PROVIDER0, displayData.description), Text),
    (offset_of!(FWPM_PROVIDER0, providerData), Blob),
    (offset_of!(FWPM_PROVIDER0, serviceName), Text),
];
const SUBLAYER: &[(usize, Member)] = &[
    (offset_of!(FWPM_SUBLAYER0, displayData.name), Text),
    (offset_of!(FWPM_SUBLAYER0, displayData.description), Text),
    (offset_of!(FWPM_SUBLAYER0, providerKey), Key),
    (offset_of!(FWPM_SUBLAYER0, providerData), Blob),
];
const CALLOUT: &[(usize, Member)] = &[
    (offset_of!(FWPM_CALLOUT0, displayData.name), Text),
    (offset_of!(FWPM_CALLOUT0, displayData.description), Text),
    (offset_of!(FWPM_CALLOUT0, providerKey), Key),
    (offset_of!(FWPM_CALLOUT0, providerData), Blob),
];
const FILTER: &[(usize, Member)] = &[
    (offset_of!(FWPM_FILTER0, displayData.name), Text),
    (offset_of!(FWPM_FILTER0, displayData.description), Text),
    (offset_of!(FWPM_FILTER0, providerKey), Key),
    (offset_of!(FWPM_FILTER0, providerData), Blob),
    (offset_of!(FWPM_FILTER0, weight), Member::Value),
    (offset_of!(FWPM_FILTER0, filterCondition), Conditions),
];
/// The sublayer of filters that name none. Every system has it.
const UNIVERSAL: Guid = Guid::from_u128(FWPM_SUBLAYER_UNIVERSAL);
/// The maximum number of conditions of a filter that are read.
const MAX_CONDITIONS: u32 = 4096;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::AccessDenied)]
    fn FwpmEngineOpen0(
        &call,
        _server: Ignored<GuestPtr<u16>>,
        _service: Ignored<u32>,
        _identity: Ignored<GuestPtr<Opaque>>,
        session: Option<GuestPtr<FWPM_SESSION0>>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let flags = session.map_or(Ok(0), |session| session.flags().read())?;
        let handle = object::open(SESSION, 0, call.from)?;
        state().sessions.push(Session { handle, is_dynamic: flags & FWPM_SESSION_FLAG_DYNAMIC != 0, transaction: None });
        place.set(handle)?;
        done(())
    }

    /// A transaction in progress is aborted.
    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmEngineClose0(engine: KernelHandle) -> Outcome {
        let _ = abort(engine);
        let known = |session: &Session| session.handle == engine;
        if !state().sessions.iter().any(known) {
            return fail(NtStatus::InvalidHandle);
        }
        change(engine, |state| {
            let is_own = |owner: &Owner| *owner == Some(engine);
            let policy = &mut state.policy;
            policy.providers.retain(|(.., owner)| !is_own(owner));
            policy.sublayers.retain(|(.., owner)| !is_own(owner));
            policy.callouts.retain(|(.., owner)| !is_own(owner));
            policy.filters.retain(|filter| !is_own(&filter.owner));
            done(())
        })?;
        lookup::end_all(engine);
        state().sessions.retain(|session| !known(session));
        object::close(engine);
        done(())
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpTxnInProgress)]
    fn FwpmTransactionBegin0(engine: KernelHandle, _flags: Ignored<u32>) -> Outcome {
        let mut state = state();
        let policy = state.policy.clone();
        match state.session(engine)? {
            Session { transaction: Some(_), .. } => fail(NtStatus::FwpTxnInProgress),
            session => {
                session.transaction = Some(policy);
                done(())
            }
        }
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpNoTxnInProgress)]
    fn FwpmTransactionCommit0(engine: KernelHandle) -> Outcome {
        let before = state().session(engine)?.transaction.take();
        match before {
            Some(before) => announce(&before),
            None => fail(NtStatus::FwpNoTxnInProgress),
        }
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmTransactionAbort0(engine: KernelHandle) -> Outcome {
        abort(engine)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpAlreadyExists)]
    fn FwpmProviderAdd0(
        engine: KernelHandle,
        provider: GuestPtr<FWPM_PROVIDER0>,
        _security: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        let key = provider.providerKey().id()?;
        let record = Record::copy(provider, PROVIDER)?;
        add(engine, |state, owner| {
            if state.policy.providers.iter().any(|(known, ..)| *known == key) {
                return fail(NtStatus::FwpAlreadyExists);
            }
            state.policy.providers.push((key, record.into(), owner));
            done(())
        })
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmProviderDeleteByKey0(engine: KernelHandle, key: GuestPtr<GUID>) -> Outcome {
        let key = key.id()?;
        change(engine, |state| remove(&mut state.policy.providers, |(known, ..)| *known == key, NtStatus::FwpProviderNotFound))
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpAlreadyExists)]
    fn FwpmSubLayerAdd0(
        engine: KernelHandle,
        sublayer: GuestPtr<FWPM_SUBLAYER0>,
        _security: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        let key = sublayer.subLayerKey().id()?;
        let weight = sublayer.weight().read()?;
        let record = Record::copy(sublayer, SUBLAYER)?;
        add(engine, |state, owner| {
            if state.policy.sublayers.iter().any(|(known, ..)| *known == key) {
                return fail(NtStatus::FwpAlreadyExists);
            }
            state.policy.sublayers.push((key, weight, record.into(), owner));
            done(())
        })
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmSubLayerDeleteByKey0(engine: KernelHandle, key: GuestPtr<GUID>) -> Outcome {
        let key = key.id()?;
        change(engine, |state| {
            if state.policy.filters.iter().any(|filter| filter.sublayer == key) {
                return fail(NtStatus::FwpInUse);
            }
            remove(&mut state.policy.sublayers, |(known, ..)| *known == key, NtStatus::FwpSublayerNotFound)
        })
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpAlreadyExists)]
    fn FwpmCalloutAdd0(
        engine: KernelHandle,
        callout: GuestPtr<FWPM_CALLOUT0>,
        _security: Ignored<GuestPtr<Opaque>>,
        place: Out<u32>,
    ) -> Outcome {
        let key = callout.calloutKey().id()?;
        let layer = callout.applicableLayer().id()?;
        let Some(layer) = layers::by_key(layer) else { return fail(NtStatus::FwpLayerNotFound) };
        let mut id = 0;
        let mut record = Record::copy(callout, CALLOUT)?;
        add(engine, |state, owner| {
            if state.policy.callouts.iter().any(|(known, ..)| *known == key) {
                return fail(NtStatus::FwpAlreadyExists);
            }
            let registered = state.callouts.iter().find(|known| known.key == key).map(|known| known.id);
            id = registered.unwrap_or_else(|| callout::first_number(state));
            record.set(offset_of!(FWPM_CALLOUT0, calloutId), &id.to_le_bytes());
            state.policy.callouts.push((key, id, layer.id, record.into(), owner));
            done(())
        })?;
        place.set_if_wanted(id)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmCalloutDeleteById0(engine: KernelHandle, id: u32) -> Outcome {
        delete_callout(engine, |(_, known, ..)| *known == id)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmCalloutDeleteByKey0(engine: KernelHandle, key: GuestPtr<GUID>) -> Outcome {
        let key = key.id()?;
        delete_callout(engine, |(known, ..)| *known == key)
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::FwpAlreadyExists)]
    fn FwpmFilterAdd0(
        &call,
        engine: KernelHandle,
        filter: GuestPtr<FWPM_FILTER0>,
        _security: Ignored<GuestPtr<Opaque>>,
        place: Out<u64>,
    ) -> Outcome {
        let id = add_filter(call, engine, filter)?;
        place.set_if_wanted(id)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmFilterDeleteById0(engine: KernelHandle, id: u64) -> Outcome {
        delete_filter(engine, |filter| filter.id == id)
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmFilterDeleteByKey0(engine: KernelHandle, key: GuestPtr<GUID>) -> Outcome {
        let key = key.id()?;
        delete_filter(engine, |filter| filter.key == key)
    }

    /// The base filtering engine always runs.
    #[irql(DISPATCH), module(FILTERING), fixed]
    fn FwpmBfeStateGet0() -> i32 {
        FWPM_SERVICE_RUNNING
    }

    #[irql(PASSIVE), module(FILTERING), fails(NtStatus::InsufficientResources)]
    fn FwpmBfeStateSubscribeChanges0(
        &call,
        _device: Ignored<GuestPtr<Opaque>>,
        _callback: Ignored<GuestPtr<Opaque>>,
        _context: Ignored<GuestPtr<Opaque>>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        place.set(object::open("filter engine state subscription", 0, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpmBfeStateUnsubscribeChanges0(handle: KernelHandle) -> NtStatus {
        object::close(handle)
    }
}

/// Changes the policy for a session. Without a transaction, callouts are notified at once.
fn change(engine: KernelHandle, change: impl FnOnce(&mut State) -> Outcome) -> Outcome {
    let before = {
        let mut state = state();
        let is_open = state.session(engine)?.transaction.is_some();
        let before = (!is_open).then(|| state.policy.clone());
        change(&mut state)?;
        before
    };
    before.map_or(done(()), |before| announce(&before))
}

/// Like [`change`], for a new object. Its owner is the session, if that is dynamic.
fn add(engine: KernelHandle, add: impl FnOnce(&mut State, Owner) -> Outcome) -> Outcome {
    change(engine, |state| {
        let owner = state.session(engine)?.is_dynamic.then_some(engine);
        add(state, owner)
    })
}

fn remove<T>(objects: &mut Vec<T>, is_it: impl Fn(&T) -> bool, missing: NtStatus) -> Outcome {
    let position = objects.iter().position(is_it).ok_or(missing)?;
    objects.remove(position);
    done(())
}

fn abort(engine: KernelHandle) -> Outcome {
    let dropped = {
        let mut state = state();
        let before = state.session(engine)?.transaction.take().ok_or(NtStatus::FwpNoTxnInProgress)?;
        let is_new = |filter: &Filter| !before.filters.iter().any(|known| known.id == filter.id);
        let dropped: Vec<Filter> = state.policy.filters.extract_if(.., |filter| is_new(filter)).collect();
        state.policy = before;
        dropped
    };
    for filter in dropped {
        // No callout was notified of it.
        lock(&kernel().pool).free_object(filter.shared.address());
    }
    done(())
}

fn delete_callout(engine: KernelHandle, is_it: impl Fn(&Registered) -> bool) -> Outcome {
    change(engine, |state| {
        let found = state.policy.callouts.iter().find(|callout| is_it(callout)).map(|(key, ..)| *key);
        let key = found.ok_or(NtStatus::FwpCalloutNotFound)?;
        let is_used = |filter: &Filter| filter.action & FWP_ACTION_FLAG_CALLOUT != 0 && filter.callout == key;
        if state.policy.filters.iter().any(is_used) {
            return fail(NtStatus::FwpInUse);
        }
        remove(&mut state.policy.callouts, |callout| is_it(callout), NtStatus::FwpCalloutNotFound)
    })
}

fn delete_filter(engine: KernelHandle, is_it: impl Fn(&Filter) -> bool) -> Outcome {
    change(engine, |state| remove(&mut state.policy.filters, is_it, NtStatus::FwpFilterNotFound))
}

/// Notifies callouts of the filters that were added and deleted since `before`. If a callout refuses a filter, the
/// filter is removed again.
fn announce(before: &Policy) -> Outcome {
    let after = state().policy.filters.clone();
    let is_in = |filter: &Filter, filters: &[Filter]| filters.iter().any(|known| known.id == filter.id);
    for filter in before.filters.iter().filter(|filter| !is_in(filter, &after)) {
        callout::deleted(filter);
    }
    for filter in after.iter().filter(|filter| !is_in(filter, &before.filters)) {
        let status = callout::added(filter)?;
        if status.is_error() {
            state().policy.filters.retain(|known| known.id != filter.id);
            return fail(status);
        }
    }
    done(())
}

fn add_filter(call: &Call, engine: KernelHandle, place: GuestPtr<FWPM_FILTER0>) -> Outcome<u64> {
    let given = place.read()?;
    let layer = layers::by_key(place.layerKey().id()?).ok_or(NtStatus::FwpLayerNotFound)?;
    let conditions = conditions(given.filterCondition, given.numFilterConditions)?;
    if let Some(missing) = conditions.iter().find(|condition| !layer.fields.contains(&condition.field)) {
        let detail = format_args!("the layer {} has no field {}", layer.name, missing.field);
        verify::find_at(Rule::WfpMisuse, Some(call.name()), call.from, detail);
        return fail(NtStatus::FwpConditionNotFound);
    }
    let weight = value::read(place.weight())?;
    let key = place.filterKey().id()?;
    let sublayer = place.subLayerKey().id()?;
    let callout = place.actionKey().id()?;
    let mut id = 0;
    let mut record = Record::copy(place, FILTER)?;
    add(engine, |state, owner| {
        let sublayer = if sublayer.is_zero() { UNIVERSAL } else { sublayer };
        let sublayer_weight = match state.policy.sublayers.iter().find(|(known, ..)| *known == sublayer) {
            Some((_, weight, ..)) => *weight,
            None if sublayer == UNIVERSAL => 0,
            None => return fail(NtStatus::FwpSublayerNotFound),
        };
        if !key.is_zero() && state.policy.filters.iter().any(|known| known.key == key) {
            return fail(NtStatus::FwpAlreadyExists);
        }
        let known = state.policy.callouts.iter().find(|(known, ..)| *known == callout);
        match known {
            None if given.actionType & FWP_ACTION_FLAG_CALLOUT != 0 => return fail(NtStatus::FwpCalloutNotFound),
            Some((_, _, of, ..)) if given.actionType & FWP_ACTION_FLAG_CALLOUT != 0 && *of != layer.id => {
                return fail(NtStatus::FwpCalloutNotFound);
            }
            _ => {}
        }
        id = state.number();
        // The engine makes a key for a filter that has none.
        let key = if key.is_zero() { Guid::from_u128(u128::from(id)) } else { key };
        let weight = effective_weight(weight.as_ref(), conditions.len());
        record.set(offset_of!(FWPM_FILTER0, filterKey), &key.to_bytes_le());
        record.set(offset_of!(FWPM_FILTER0, subLayerKey), &sublayer.to_bytes_le());
        record.set(offset_of!(FWPM_FILTER0, filterId), &id.to_le_bytes());
        record.set_number(offset_of!(FWPM_FILTER0, effectiveWeight), weight);
        let mut filter = Filter {
            id,
            key,
            layer: layer.id,
            sublayer,
            weight,
            flags: given.flags,
            action: given.actionType,
            callout,
            context: given.context.first().copied().unwrap_or_default(),
            conditions: conditions.clone(),
            record: record.into(),
            owner,
            shared: GuestPtr::NULL,
        };
        filter.shared = callout::share(&filter, sublayer_weight)?;
        state.policy.filters.push(filter);
        done(())
    })?;
    Ok(id)
}

/// Returns the weight of a filter. One without a weight weighs as much as it has conditions; a weight of 8 bits is the
/// most significant part.
fn effective_weight(weight: Option<&Value>, conditions: usize) -> u64 {
    let automatic = (conditions as u64).min(0xFFFF) << 32;
    match weight {
        Some(Value::U64(weight)) => *weight,
        Some(Value::U8(weight)) => u64::from(*weight & 0xF) << 60 | automatic,
        _ => automatic,
    }
}

fn conditions(first: GuestPtr<FWPM_FILTER_CONDITION0>, count: u32) -> Outcome<Vec<Condition>> {
    let places = first.array(count.min(MAX_CONDITIONS).into()).places();
    let read = |place: GuestPtr<FWPM_FILTER_CONDITION0>| {
        let field = layers::condition(place.fieldKey().id()?).ok_or(NtStatus::FwpConditionNotFound)?;
        let how = Match(place.matchType().read()?);
        let operand = value::read_operand(place.conditionValue())?;
        Ok(Condition { field, how, operand })
    };
    places.map(read).collect()
}
