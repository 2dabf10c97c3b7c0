//! Registration of minifilters, and how they are unloaded.

use etw_types::NtStatus;
use nt_kernel::call_back;
use nt_processor::image::Leaving;
use nt_processor::layout::{DRIVER_OBJECT, FLT_OPERATION_REGISTRATION, FLT_REGISTRATION};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{APC, Call, FILTER_MANAGER, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filter_manager::{
    FLT_REGISTRATION_VERSION, FLTFL_FILTER_UNLOAD_MANDATORY, FLTFL_INSTANCE_TEARDOWN_FILTER_UNLOAD,
    FLTFL_INSTANCE_TEARDOWN_MANDATORY_FILTER_UNLOAD, IRP_MJ_OPERATION_END,
};

use super::instance;
use super::state::{Callbacks, Filter, FilterId, free_object, new_object, state};
use super::{contexts, name, port};

/// The major version of a registration.
const VERSION: u16 = FLT_REGISTRATION_VERSION >> 8;
/// The maximum number of entries of a registration, one for each operation.
const MAX_OPERATIONS: u64 = 64;

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltRegisterFilter(
        &call,
        driver: GuestPtr<DRIVER_OBJECT>,
        registration: GuestPtr<FLT_REGISTRATION>,
        place: Out<FilterId>,
    ) -> Outcome {
        let filter = register(call, driver, registration)?;
        place.set(filter)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NO_RESOURCES), keeps_nothing]
    fn FltStartFiltering(filter: FilterId) -> Outcome {
        let was_started = state().filters.get_mut(&filter).map(|filter| std::mem::replace(&mut filter.is_started, true));
        if was_started != Some(false) {
            return fail(NtStatus::InvalidParameter);
        }
        instance::attach_automatically(filter)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltUnregisterFilter(filter: FilterId) -> Result<(), Fault> {
        if !state().filters.contains_key(&filter) {
            verify::find(Rule::BadArgument, format_args!("{filter:#x} is not a registered filter"));
            return Ok(());
        }
        unregister(filter, FLTFL_INSTANCE_TEARDOWN_FILTER_UNLOAD)
    }
}

fn register(
    call: &Call,
    driver: GuestPtr<DRIVER_OBJECT>,
    registration: GuestPtr<FLT_REGISTRATION>,
) -> Outcome<FilterId> {
    if registration.Version().read()? >> 8 != VERSION {
        return fail(NtStatus::InvalidParameter);
    }
    // Older versions of the structure are shorter.
    let size = registration.Size().read()?.into();
    let mut bytes = registration.cast::<u8>().array(size).read()?;
    bytes.resize(size_of::<FLT_REGISTRATION>(), 0);
    let copy: GuestPtr<FLT_REGISTRATION> = nt_kernel::lock(&nt_kernel::kernel().pool).try_new_object()?;
    copy.cast::<u8>().write_all(&bytes)?;
    let registration = copy.read()?;
    free_object(copy);
    let operations = operations(registration.OperationRegistration)?;
    let contexts = contexts::registered(registration.ContextRegistration)?;
    let name = driver.DriverName().text()?;
    let name = name.rsplit('\\').next().unwrap_or_default().to_owned();
    let filter = new_object()?;
    let volume = if state().volume.is_null() { new_object()? } else { state().volume };
    let mut state = state();
    state.volume = volume;
    let known = Filter {
        driver,
        name,
        registration,
        operations,
        contexts,
        is_started: false,
        is_going: false,
        from: call.from,
    };
    state.filters.insert(filter, known);
    Ok(filter)
}

/// Reads the callbacks for operations.
fn operations(first: GuestPtr<FLT_OPERATION_REGISTRATION>) -> Result<SortedMap<u8, Callbacks>, Fault> {
    let mut operations = SortedMap::new();
    if !first.is_null() {
        for index in 0..MAX_OPERATIONS {
            let entry = first.at(index).read()?;
            if entry.MajorFunction == IRP_MJ_OPERATION_END {
                break;
            }
            operations.insert(entry.MajorFunction, Callbacks { pre: entry.PreOperation, post: entry.PostOperation });
        }
    }
    Ok(operations)
}

fn unregister(filter: FilterId, reason: u64) -> Result<(), Fault> {
    if let Some(filter) = state().filters.get_mut(&filter) {
        filter.is_going = true;
    }
    port::disconnect_all(filter);
    let instances: Vec<_> = {
        let state = state();
        state.instances.iter().filter(|instance| instance.filter == filter).map(|instance| instance.object).collect()
    };
    for instance in instances {
        instance::tear_down(instance, reason)?;
    }
    contexts::owner_gone(filter.address());
    state().filters.remove(&filter);
    free_object(filter);
    Ok(())
}

/// Returns the minifilter that a driver has registered.
pub(crate) fn filter_of(driver: GuestPtr<DRIVER_OBJECT>) -> Option<FilterId> {
    state().filters.iter().find(|(_, filter)| filter.driver == driver).map(|(id, _)| *id)
}

/// Unloads a driver's minifilter. Returns `None` if the driver has none, otherwise its status:
/// `STATUS_FLT_DO_NOT_DETACH` if it cannot be unloaded. If it refuses, the unload becomes mandatory, and the status that
/// it returned first is the second value.
pub fn unload(driver: GuestPtr<DRIVER_OBJECT>) -> Option<(NtStatus, Option<NtStatus>)> {
    let filter = filter_of(driver)?;
    let callback = state().filters.get(&filter)?.registration.FilterUnloadCallback;
    let Some(callback) = callback.non_null() else { return Some((NtStatus::FltDoNotDetach, None)) };
    let call = |flags: u64| NtStatus::from_int(call_back("filter unload callback", PASSIVE, callback, &[flags]) as u32);
    let status = call(0);
    if status.is_success() {
        return Some((NtStatus::Success, None));
    }
    call(FLTFL_FILTER_UNLOAD_MANDATORY);
    Some((NtStatus::Success, Some(status)))
}

/// Reports what an image left in the filter manager, and removes it.
pub fn report_leaks(leaving: Leaving) {
    let left: Vec<(FilterId, u64)> = {
        let state = state();
        let own = |(id, filter): (&FilterId, &Filter)| leaving.owns(filter.from).then_some((*id, filter.from));
        state.filters.iter().filter_map(own).collect()
    };
    for (filter, from) in left {
        verify::find_at(Rule::ObjectLeak, None, from, format_args!("leaves the filter registered"));
        unregister(filter, FLTFL_INSTANCE_TEARDOWN_MANDATORY_FILTER_UNLOAD).or_stop();
    }
    port::report_leaks(leaving);
    contexts::report_leaks(leaving);
    name::report_leaks(leaving);
}
