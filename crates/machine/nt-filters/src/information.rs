//! What minifilters can ask about other minifilters: names and altitudes of filters, instances and volumes, and the order of instances.

use etw_types::NtStatus;
use nt_kernel::io::file::volume;
use nt_processor::layout::{DEVICE_OBJECT, UNICODE_STRING};
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::{APC, FILTER_MANAGER, Ignored, Out, Outcome, done, fail, routines};
use windows_constants::filter_manager::{
    FLT_FSTYPE_NTFS, FLTFL_AGGREGATE_INFO_IS_MINIFILTER, FilterAggregateBasicInformation,
    FilterAggregateStandardInformation, FilterFullInformation, FilterVolumeBasicInformation,
    FilterVolumeStandardInformation, InstanceBasicInformation, InstanceFullInformation, InstancePartialInformation,
};

use super::instance::altitude_of;
use super::query::give_list;
use super::state::{FilterId, Instance, InstanceId, State, VolumeId, state};

routines! { pub(super) ROUTINES;
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetFilterInformation(filter: FilterId, class: i32, buffer: GuestSlice<u8>, returned: Out<u32>) -> Outcome {
        give(&of_filter(&state(), filter, class)?, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltEnumerateFilterInformation(
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        let filter = state().filters.keys().nth(index as usize).copied();
        let Some(filter) = filter else { return fail(NtStatus::NoMoreEntries) };
        give(&of_filter(&state(), filter, class)?, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltEnumerateFilters(list: GuestPtr<FilterId>, room: u32, count: Out<u32>) -> Outcome {
        let found: Vec<FilterId> = state().filters.keys().copied().collect();
        give_list(&found, list, room, count)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltFilterNotFound), keeps_nothing]
    fn FltGetFilterFromName(name: GuestPtr<UNICODE_STRING>, place: Out<FilterId>) -> Outcome {
        let name = name.text()?;
        let found = state().filters.iter().find(|(_, filter)| filter.name.eq_ignore_ascii_case(&name)).map(|(id, _)| *id);
        let Some(found) = found else { return fail(NtStatus::FltFilterNotFound) };
        place.set(found)?;
        done(())
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetInstanceInformation(
        instance: InstanceId,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        give(&of_instance(&state(), instance, class)?, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltEnumerateInstanceInformationByFilter(
        filter: FilterId,
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        give_nth(|instance| instance.filter == filter, index, class, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltEnumerateInstanceInformationByVolume(
        _volume: Ignored<VolumeId>,
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        give_nth(|_| true, index, class, buffer, returned)
    }

    /// An instance of any filter if the filter is NULL, and of any name if the name is.
    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::FltInstanceNotFound), keeps_nothing]
    fn FltGetVolumeInstanceFromName(
        filter: Option<FilterId>,
        _volume: Ignored<VolumeId>,
        name: Option<GuestPtr<UNICODE_STRING>>,
        place: Out<InstanceId>,
    ) -> Outcome {
        let name = name.map(GuestPtr::<UNICODE_STRING>::text).transpose()?;
        let is_it = |instance: &&Instance| {
            filter.is_none_or(|filter| instance.filter == filter)
                && name.as_ref().is_none_or(|name| instance.name.eq_ignore_ascii_case(name))
        };
        let found = state().instances.iter().find(is_it).map(|instance| instance.object);
        give_instance(found, NtStatus::FltInstanceNotFound, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltGetTopInstance(_volume: Ignored<VolumeId>, place: Out<InstanceId>) -> Outcome {
        let found = state().instances.first().map(|instance| instance.object);
        give_instance(found, NtStatus::NoMoreEntries, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltGetBottomInstance(_volume: Ignored<VolumeId>, place: Out<InstanceId>) -> Outcome {
        let found = state().instances.last().map(|instance| instance.object);
        give_instance(found, NtStatus::NoMoreEntries, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltGetUpperInstance(current: InstanceId, place: Out<InstanceId>) -> Outcome {
        let above = state().position(current)?.checked_sub(1);
        let found = above.and_then(|above| state().instances.get(above).map(|instance| instance.object));
        give_instance(found, NtStatus::NoMoreEntries, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltGetLowerInstance(current: InstanceId, place: Out<InstanceId>) -> Outcome {
        let below = state().position(current)? + 1;
        let found = state().instances.get(below).map(|instance| instance.object);
        give_instance(found, NtStatus::NoMoreEntries, place)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::BufferTooSmall), keeps_nothing]
    fn FltGetVolumeInformation(
        _volume: Ignored<VolumeId>,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        give(&of_volume(class)?, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER), fails(NtStatus::NoMoreEntries), keeps_nothing]
    fn FltEnumerateVolumeInformation(
        _filter: Ignored<FilterId>,
        index: u32,
        class: i32,
        buffer: GuestSlice<u8>,
        returned: Out<u32>,
    ) -> Outcome {
        if index != 0 {
            return fail(NtStatus::NoMoreEntries);
        }
        give(&of_volume(class)?, buffer, returned)
    }

    #[irql(APC), module(FILTER_MANAGER)]
    fn FltIsFltMgrVolumeDeviceObject(device: GuestPtr<DEVICE_OBJECT>) -> Outcome<bool> {
        Ok(device == volume::device()?)
    }
}

/// The fields of a structure, and the text that follows it.
#[derive(Default)]
struct Bytes {
    fields: Vec<u8>,
    text: Vec<u8>,
}

impl Bytes {
    fn number(mut self, number: u32) -> Self {
        self.fields.extend(number.to_le_bytes());
        self
    }

    /// Adds a text right behind the field with its length.
    fn name(mut self, name: &str) -> Vec<u8> {
        let name = utf16(name);
        self.fields.extend((name.len() as u16).to_le_bytes());
        [self.fields, name].concat()
    }

    /// Adds texts of which the structure has the length and the offset.
    fn names(mut self, names: &[&str]) -> Vec<u8> {
        let header = self.fields.len() + names.len() * 4;
        for name in names.iter().map(|name| utf16(name)) {
            let offset = header + self.text.len();
            self.fields.extend([(name.len() as u16).to_le_bytes(), (offset as u16).to_le_bytes()].concat());
            self.text.extend(name);
        }
        [self.fields, self.text].concat()
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

impl State {
    fn position(&self, object: InstanceId) -> Outcome<usize> {
        let position = self.instances.iter().position(|instance| instance.object == object);
        Ok(position.ok_or(NtStatus::InvalidParameter)?)
    }
}

fn of_filter(state: &State, id: FilterId, class: i32) -> Outcome<Vec<u8>> {
    let filter = state.filters.get(&id).ok_or(NtStatus::InvalidParameter)?;
    let instances = state.instances.iter().filter(|instance| instance.filter == id).count() as u32;
    // Each structure begins with the offset of the next one, and the only frame is frame 0.
    Ok(match class {
        FilterFullInformation => Bytes::default().number(0).number(0).number(instances).name(&filter.name),
        FilterAggregateBasicInformation | FilterAggregateStandardInformation => {
            let head = Bytes::default().number(0).number(FLTFL_AGGREGATE_INFO_IS_MINIFILTER);
            let head = if class == FilterAggregateStandardInformation { head.number(0) } else { head };
            head.number(0).number(instances).names(&[&filter.name, &altitude_of(&filter.name)])
        }
        _ => return fail(NtStatus::InvalidParameter),
    })
}

fn of_instance(state: &State, id: InstanceId, class: i32) -> Outcome<Vec<u8>> {
    let Instance { filter, name, altitude, .. } = state.instance(id).ok_or(NtStatus::InvalidParameter)?;
    let filter = state.filters.get(filter).map_or("", |filter| filter.name.as_str());
    let head = Bytes::default().number(0);
    Ok(match class {
        InstanceBasicInformation => head.names(&[name]),
        InstancePartialInformation => head.names(&[name, altitude]),
        InstanceFullInformation => head.names(&[name, altitude, volume::DEVICE, filter]),
        _ => return fail(NtStatus::InvalidParameter),
    })
}

fn of_volume(class: i32) -> Outcome<Vec<u8>> {
    Ok(match class {
        FilterVolumeBasicInformation => Bytes::default().name(volume::DEVICE),
        FilterVolumeStandardInformation => {
            Bytes::default().number(0).number(0).number(0).number(FLT_FSTYPE_NTFS.cast_unsigned()).name(volume::DEVICE)
        }
        _ => return fail(NtStatus::InvalidParameter),
    })
}

fn give_nth(
    is_wanted: impl Fn(&Instance) -> bool,
    index: u32,
    class: i32,
    buffer: GuestSlice<u8>,
    returned: Out<u32>,
) -> Outcome {
    let state = state();
    let found = state.instances.iter().filter(|instance| is_wanted(instance)).nth(index as usize);
    let Some(found) = found else { return fail(NtStatus::NoMoreEntries) };
    give(&of_instance(&state, found.object, class)?, buffer, returned)
}

fn give_instance(found: Option<InstanceId>, missing: NtStatus, place: Out<InstanceId>) -> Outcome {
    let Some(found) = found else { return fail(missing) };
    place.set(found)?;
    done(())
}

/// Gives information whole, or its size.
fn give(bytes: &[u8], buffer: GuestSlice<u8>, returned: Out<u32>) -> Outcome {
    returned.set(bytes.len() as u32)?;
    if (buffer.len() as usize) < bytes.len() {
        return fail(NtStatus::BufferTooSmall);
    }
    buffer.write(bytes)?;
    done(())
}
