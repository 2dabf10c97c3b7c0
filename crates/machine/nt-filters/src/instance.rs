//! Instances: how a minifilter is attached to the volume and detached from it.

use etw_types::NtStatus;
use nt_kernel::registry::keys;
use nt_kernel::{Kernel, call_back, kernel, lock};
use nt_processor::layout::{FLT_RELATED_OBJECTS, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{APC, FILTER_MANAGER, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::device::FILE_DEVICE_DISK_FILE_SYSTEM;
use windows_constants::filter_manager::{
    FLT_FSTYPE_NTFS, FLTFL_INSTANCE_SETUP_AUTOMATIC_ATTACHMENT, FLTFL_INSTANCE_SETUP_MANUAL_ATTACHMENT,
    FLTFL_INSTANCE_TEARDOWN_MANUAL,
};

use super::state::{Filter, FilterId, Instance, InstanceId, VolumeId, free_object, new_object, state};
use super::{contexts, judge, major, operation};

/// The value `Flags` of an instance's key: no automatic attachment.
const SUPPRESS_AUTOMATIC: u32 = 1;
/// The altitude of a minifilter without one in the registry. It is in the range of activity monitors.
const ALTITUDE: &str = "370000";

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltAttachVolume(
        filter: FilterId,
        volume: VolumeId,
        name: GuestPtr<UNICODE_STRING>,
        place: GuestPtr<InstanceId>,
    ) -> Outcome {
        attach_by_driver(filter, volume, None, name, place)
    }

    #[irql(PASSIVE), module(FILTER_MANAGER), fails(NO_RESOURCES)]
    fn FltAttachVolumeAtAltitude(
        filter: FilterId,
        volume: VolumeId,
        altitude: GuestPtr<UNICODE_STRING>,
        name: GuestPtr<UNICODE_STRING>,
        place: GuestPtr<InstanceId>,
    ) -> Outcome {
        attach_by_driver(filter, volume, Some(altitude.text()?), name, place)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltDetachVolume(filter: FilterId, _volume: nt_verifier::routine::Ignored<VolumeId>, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let name = name.text()?;
        let is_wanted = |instance: &&Instance| {
            instance.filter == filter && (name.is_empty() || instance.name.eq_ignore_ascii_case(&name))
        };
        let found = state().instances.iter().find(is_wanted).map(|instance| instance.object);
        let Some(found) = found else { return fail(NtStatus::FltInstanceNotFound) };
        detach(found)
    }

    /// Higher altitudes come first in the stack, so the result is that of a comparison of heights.
    #[irql(nt_verifier::routine::DISPATCH), module(FILTER_MANAGER)]
    fn FltCompareInstanceAltitudes(one: InstanceId, other: InstanceId) -> i32 {
        let state = state();
        let height = |object| state.instance(object).map_or(0.0, |instance| super::state::height(&instance.altitude));
        height(one).total_cmp(&height(other)) as i32
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltInstanceNotFound), keeps_nothing]
    fn FltGetVolumeFromInstance(instance: InstanceId, place: Out<VolumeId>) -> Outcome {
        let volume = {
            let state = state();
            state.instance(instance).map(|_| state.volume)
        };
        let Some(volume) = volume else { return fail(NtStatus::FltDeletingObject) };
        place.set(volume)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltInstanceNotFound), keeps_nothing]
    fn FltGetFilterFromInstance(instance: InstanceId, place: Out<FilterId>) -> Outcome {
        let filter = state().instance(instance).map(|instance| instance.filter);
        let Some(filter) = filter else { return fail(NtStatus::FltDeletingObject) };
        place.set(filter)?;
        done(())
    }
}

/// What the registry says about the default instance of a minifilter.
struct Described {
    name: String,
    altitude: String,
    is_automatic: bool,
}

/// Reads the default instance of a service: `Instances\DefaultInstance`, and the altitude and the flags in its key.
fn describe(service: &str) -> Described {
    let mut registry = lock(&kernel().registry);
    let instances = format!("{}\\Instances", keys::service(service));
    let parameters = format!("{}\\Parameters\\Instances", keys::service(service));
    for base in [parameters, instances] {
        let Some(key) = registry.key(&base, false) else { continue };
        let Some(name) = registry.value(key, "DefaultInstance").map(|(_, data)| text(&data)) else { continue };
        let Some(key) = registry.key(&format!("{base}\\{name}"), false) else { continue };
        let altitude = registry.value(key, "Altitude").map_or_else(|| ALTITUDE.to_owned(), |(_, data)| text(&data));
        let flags = registry.value(key, "Flags").and_then(|(_, data)| data.first_chunk().copied());
        let flags = flags.map_or(0, u32::from_le_bytes);
        return Described { name, altitude, is_automatic: flags & SUPPRESS_AUTOMATIC == 0 };
    }
    drop(registry);
    Described { name: format!("{service} Instance"), altitude: ALTITUDE.to_owned(), is_automatic: true }
}

/// Returns the altitude of the default instance of a service.
pub(super) fn altitude_of(service: &str) -> String {
    describe(service).altitude
}

fn text(data: &[u8]) -> String {
    let units: Vec<u16> = data.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned()
}

/// Calls a callback of a minifilter about one of its instances. Returns 0 if there is no such callback.
fn call(what: &'static str, callback: GuestPtr<Code>, instance: InstanceId, more: &[u64]) -> Result<u64, Fault> {
    let Kernel { pool, .. } = kernel();
    let Some(callback) = callback.non_null() else { return Ok(0) };
    let objects: GuestPtr<FLT_RELATED_OBJECTS> = lock(pool).new_object();
    objects.Size().write(size_of::<FLT_RELATED_OBJECTS>() as u16)?;
    {
        let state = state();
        objects.Volume().write(state.volume)?;
        objects.Filter().write(state.instance(instance).map_or(GuestPtr::NULL, |instance| instance.filter))?;
    }
    objects.Instance().write(instance)?;
    let arguments: Vec<u64> = [objects.address()].into_iter().chain(more.iter().copied()).collect();
    let result = call_back(what, PASSIVE, callback, &arguments);
    lock(pool).free_object(objects.address());
    Ok(result)
}

/// Attaches a minifilter that has just started to the volume, unless the registry says otherwise.
pub(super) fn attach_automatically(filter: FilterId) -> Outcome {
    let Some(service) = state().filters.get(&filter).map(|filter| filter.name.clone()) else { return done(()) };
    let described = describe(&service);
    if !described.is_automatic {
        return done(());
    }
    match attach(filter, described.name, described.altitude, FLTFL_INSTANCE_SETUP_AUTOMATIC_ATTACHMENT) {
        // The minifilter does not want the volume.
        Err(nt_verifier::routine::Failure::Status(_)) => done(()),
        result => result.map(drop),
    }
}

/// Attaches a minifilter to the volume. Its setup callback may refuse.
fn attach(filter: FilterId, name: String, altitude: String, flags: u64) -> Outcome<InstanceId> {
    let object = new_object()?;
    let setup = {
        let mut state = state();
        let Some(setup) = state.filters.get(&filter).map(|filter| filter.registration.InstanceSetupCallback) else {
            return fail(NtStatus::InvalidParameter);
        };
        if state.instances.iter().any(|known| known.altitude == altitude) {
            return fail(NtStatus::FltInstanceAltitudeCollision);
        }
        state.insert(Instance { object, filter, name, altitude, is_going: false });
        setup
    };
    let types = [flags, FILE_DEVICE_DISK_FILE_SYSTEM.into(), u64::from(FLT_FSTYPE_NTFS.cast_unsigned())];
    let status = NtStatus::from_int(call("instance setup callback", setup, object, &types)? as u32);
    if !status.is_success() {
        state().refusal = Some(status);
        contexts::owner_gone(object.address());
        remove(object);
        return fail(status);
    }
    Ok(object)
}

fn attach_by_driver(
    filter: FilterId,
    volume: VolumeId,
    altitude: Option<String>,
    name: GuestPtr<UNICODE_STRING>,
    place: GuestPtr<InstanceId>,
) -> Outcome {
    let service = {
        let state = state();
        if volume != state.volume {
            return fail(NtStatus::InvalidParameter);
        }
        state.filters.get(&filter).map(|filter| filter.name.clone())
    };
    let Some(service) = service else { return fail(NtStatus::InvalidParameter) };
    let described = describe(&service);
    let name = Some(name.text()?).filter(|name| !name.is_empty()).unwrap_or(described.name);
    let instance =
        attach(filter, name, altitude.unwrap_or(described.altitude), FLTFL_INSTANCE_SETUP_MANUAL_ATTACHMENT)?;
    place.write_if(instance)?;
    done(())
}

/// Attaches the driver's minifilter to the volume again, as `fltmc attach` does.
pub(super) fn attach_manually(filter: FilterId) -> Outcome {
    let Some(service) = state().filters.get(&filter).map(|filter| filter.name.clone()) else {
        return fail(NtStatus::FltFilterNotFound);
    };
    let described = describe(&service);
    attach(filter, described.name, described.altitude, FLTFL_INSTANCE_SETUP_MANUAL_ATTACHMENT).map(drop)
}

/// Detaches an instance because somebody asked for it. The minifilter may refuse.
pub(super) fn detach(instance: InstanceId) -> Outcome {
    let query = {
        let state = state();
        let filter = state.instance(instance).and_then(|instance| state.filters.get(&instance.filter));
        filter.map(|filter| filter.registration.InstanceQueryTeardownCallback)
    };
    match query {
        None => fail(NtStatus::FltInstanceNotFound),
        // Without the callback, an instance cannot be detached manually.
        Some(query) if query.is_null() => fail(NtStatus::FltDoNotDetach),
        Some(query) => {
            let status = NtStatus::from_int(call("instance query teardown callback", query, instance, &[0])? as u32);
            if !status.is_success() {
                return fail(status);
            }
            tear_down(instance, FLTFL_INSTANCE_TEARDOWN_MANUAL)?;
            done(())
        }
    }
}

/// Tears an instance down: its minifilter completes what it pends, operations are drained, contexts are removed.
pub(super) fn tear_down(object: InstanceId, reason: u64) -> Result<(), Fault> {
    let registration = {
        let mut state = state();
        let Some(instance) = state.instances.iter_mut().find(|instance| instance.object == object) else {
            return Ok(());
        };
        instance.is_going = true;
        let filter = instance.filter;
        state.filters.get(&filter).map(|Filter { registration, .. }| *registration)
    };
    let Some(registration) = registration else { return Ok(()) };
    call("instance teardown start callback", registration.InstanceTeardownStartCallback, object, &[reason])?;
    for (major, current) in operation::drain(object)? {
        let (what, callback) = match current.callbacks.pre.non_null() {
            Some(pre) => (judge::PRE, pre),
            None => (judge::POST, current.callbacks.post),
        };
        let detail = format_args!("pends {} and does not complete it when its instance goes", major::name(major));
        verify::find_at(Rule::RequestNever, Some(what), At::Code(callback.address()), detail);
    }
    call("instance teardown complete callback", registration.InstanceTeardownCompleteCallback, object, &[reason])?;
    contexts::owner_gone(object.address());
    remove(object);
    Ok(())
}

fn remove(object: InstanceId) {
    state().instances.retain(|instance| instance.object != object);
    free_object(object);
}
