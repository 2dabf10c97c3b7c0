//! Registry keys as framework objects.

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object as kernel_object;
use nt_kernel::kernel;
use nt_kernel::registry::keys;
use nt_processor::cpu::thread;
use nt_processor::layout::{UNICODE_STRING, WDF_OBJECT_ATTRIBUTES, WDFMEMORY_OFFSET};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Call, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, functions};
use nt_verifier::verify::{self, Kmdf, Rule};
use windows_constants::plug_play::PLUGPLAY_REGKEY_DEVICE;
use windows_constants::registry::{
    REG_CREATED_NEW_KEY, REG_DWORD, REG_EXPAND_SZ, REG_MULTI_SZ, REG_OPENED_EXISTING_KEY, REG_SZ,
};

use crate::device::init;
use crate::device::{self, with_device};
use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::life;
use crate::object::{self, created};
use crate::{Handle, memory, misc};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;

functions! { pub(super) FUNCTIONS;
    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfDriverOpenParametersRegistryKey(
        &call,
        driver: Handle,
        _access: Ignored<u32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        object::needs_driver(driver);
        opened(call, Some(keys::open_parameters(call.from)), Options::default(), attributes, place)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfDeviceOpenRegistryKey(
        &call,
        device: Handle,
        kind: u32,
        _access: Ignored<u32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        if device::is_control(device) {
            // Plug and Play does not know it, so there is no key (`FxDevice::_OpenKey` in `shared/core/km/fxdevicekm.cpp`).
            return fail(NtStatus::InvalidDeviceState);
        }
        check_hardware_key(device, kind);
        opened(call, Some(keys::open_device(kind, call.from)), Options::WITHOUT_PARENT, attributes, place)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfFdoInitOpenRegistryKey(
        &call,
        init: Handle,
        kind: u32,
        _access: Ignored<u32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        init::check(init);
        opened(call, Some(keys::open_device(kind, call.from)), Options::default(), attributes, place)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryOpenKey(
        &call,
        parent: Handle,
        name: GuestPtr<UNICODE_STRING>,
        _access: Ignored<u32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        opened(call, open_below(call, parent, name, false)?, Options::default(), attributes, place)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryCreateKey(
        &call,
        parent: Handle,
        name: GuestPtr<UNICODE_STRING>,
        _access: Ignored<u32>,
        _options: Ignored<u32>,
        disposition: Out<u32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        let existing = open_below(call, parent, name, false)?;
        disposition.set_if_wanted(if existing.is_some() { REG_OPENED_EXISTING_KEY } else { REG_CREATED_NEW_KEY })?;
        let key = if existing.is_some() { existing } else { open_below(call, parent, name, true)? };
        opened(call, key, Options::default(), attributes, place)
    }

    #[irql(PASSIVE)]
    fn WdfRegistryClose(object: Handle) {
        key(object);
        life::delete(object);
    }

    #[irql(PASSIVE)]
    fn WdfRegistryWdmGetHandle(object: Handle) -> KernelHandle {
        handle(object)
    }

    #[irql(PASSIVE)]
    fn WdfRegistryRemoveKey(object: Handle) -> NtStatus {
        let removed = keys::change(|registry| registry.delete(key(object)));
        life::delete(object);
        if removed { NtStatus::Success } else { NtStatus::CannotDelete }
    }

    #[irql(PASSIVE)]
    fn WdfRegistryRemoveValue(object: Handle, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let key = key(object);
        let name = value_name(name)?;
        if keys::change(|registry| registry.remove(key, &name)) { done(()) } else { fail(NOT_FOUND) }
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryULong(object: Handle, name: GuestPtr<UNICODE_STRING>, place: Out<u32>) -> Outcome {
        // A driver can assign a value of this type and another length.
        let data = <[u8; 4]>::try_from(value_of(object, name, REG_DWORD)?).map_err(|_| NtStatus::BufferOverflow)?;
        place.set(u32::from_le_bytes(data))?;
        done(())
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryValue(
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        length: u32,
        buffer: GuestPtr<u8>,
        place_of_length: Out<u32>,
        place_of_type: Out<u32>,
    ) -> Outcome {
        let (kind, data) = value(object, name)?;
        place_of_length.set_if_wanted(data.len() as u32)?;
        place_of_type.set_if_wanted(kind)?;
        if data.len() > length as usize {
            return fail(NtStatus::BufferOverflow);
        }
        buffer.write_all(&data)?;
        done(())
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryMemory(
        &call,
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        _pool: Ignored<i32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
        place_of_type: Out<u32>,
    ) -> Outcome {
        let (kind, data) = value(object, name)?;
        if data.is_empty() {
            return fail(NtStatus::ResourceDataNotFound);
        }
        place_of_type.set_if_wanted(kind)?;
        created(memory::with_bytes(call, attributes, &data), place)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryString(object: Handle, name: GuestPtr<UNICODE_STRING>, string: Handle) -> Outcome {
        let (kind, data) = value(object, name)?;
        if !is_text(kind) {
            return fail(NtStatus::ObjectTypeMismatch);
        }
        if data.is_empty() {
            return fail(NtStatus::ResourceDataNotFound);
        }
        if data.len() > usize::from(u16::MAX) {
            return fail(NtStatus::InvalidBufferSize);
        }
        let all = units(&data);
        misc::set_string(string, all.strip_suffix(&[0]).unwrap_or(&all))?;
        done(())
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryUnicodeString(
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        place_of_length: Out<u16>,
        string: Option<GuestPtr<UNICODE_STRING>>,
    ) -> Outcome {
        let room = string.map_or(Ok(0), |string| string.MaximumLength().read())?;
        if let Some(string) = string {
            misc::validate(string)?;
            if room == 0 {
                return fail(NtStatus::InvalidParameter);
            }
        }
        let (kind, data) = value(object, name)?;
        let is_whole = data.len() <= usize::from(room);
        if is_whole && !is_text(kind) {
            return fail(NtStatus::ObjectTypeMismatch);
        }
        // The length is that of the value, with the terminator if that is stored.
        place_of_length.set_if_wanted(data.len() as u16)?;
        if !is_whole {
            return fail(NtStatus::BufferOverflow);
        }
        if let Some(string) = string {
            string.Buffer().read()?.cast::<u8>().write_all(&data)?;
            let terminator = if data.ends_with(&[0, 0]) { 2 } else { 0 };
            string.Length().write(data.len() as u16 - terminator)?;
        }
        done(())
    }

    /// `attributes` are those of the strings.
    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfRegistryQueryMultiString(
        &call,
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        collection: Handle,
    ) -> Outcome {
        let attributes = Attributes::read(attributes, Options::default())?;
        let data = value_of(object, name, REG_MULTI_SZ)?;
        if data.is_empty() {
            return fail(NtStatus::ResourceDataNotFound);
        }
        let all = units(&data);
        if data.len() % 2 != 0 || !all.ends_with(&[0, 0]) {
            return fail(NtStatus::ObjectTypeMismatch);
        }
        for text in all.split(|unit| *unit == 0).take_while(|text| !text.is_empty()) {
            misc::add_item(collection, misc::new_string(call.from, &attributes, text)?);
        }
        done(())
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignULong(object: Handle, name: GuestPtr<UNICODE_STRING>, value: u32) -> Outcome {
        assign(object, name, REG_DWORD, value.to_le_bytes().to_vec())
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignValue(
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        kind: u32,
        length: u32,
        data: GuestPtr<u8>,
    ) -> Outcome {
        assign(object, name, kind, data.array(length.into()).read()?)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignUnicodeString(
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        text: GuestPtr<UNICODE_STRING>,
    ) -> Outcome {
        misc::validate(text)?;
        assign(object, name, REG_SZ, terminated(&text.units()?))
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignString(object: Handle, name: GuestPtr<UNICODE_STRING>, string: Handle) -> Outcome {
        assign(object, name, REG_SZ, terminated(&misc::string_units(string)?))
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignMultiString(object: Handle, name: GuestPtr<UNICODE_STRING>, strings: Handle) -> Outcome {
        let mut data = Vec::new();
        for item in misc::items_of(strings) {
            if !misc::is_string(item) {
                return fail(NtStatus::InvalidParameter);
            }
            data.extend(terminated(&misc::string_units(item)?));
        }
        // An empty list has two terminators, too.
        let terminators: &[u8] = if data.is_empty() { &[0; 4] } else { &[0; 2] };
        data.extend(terminators);
        assign(object, name, REG_MULTI_SZ, data)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfRegistryAssignMemory(
        object: Handle,
        name: GuestPtr<UNICODE_STRING>,
        kind: u32,
        memory: Handle,
        part: GuestPtr<WDFMEMORY_OFFSET>,
    ) -> Outcome {
        assign(object, name, kind, memory::bytes(memory, part)?)
    }
}

struct Key {
    handle: KernelHandle,
}

impl Kind for Key {
    fn name(&self) -> &'static str {
        "key"
    }

    fn free(&self) {
        kernel_object::close(self.handle);
    }
}

/// Reports a bus driver that opens the hardware key of a child before the Plug and Play manager has created it.
fn check_hardware_key(device: Handle, kind: u32) {
    let is_child = with_device(device, |device| !device.init.parent.is_null());
    if is_child && kind & PLUGPLAY_REGKEY_DEVICE != 0 && thread::callback() == Some("EvtChildListCreateDevice") {
        let what = format_args!("opens the hardware key of a child in EvtChildListCreateDevice");
        verify::find(Rule::FrameworkMisuse.named(Kmdf::AccessHardwareKey), what);
    }
}

/// Creates the framework object for a kernel handle.
fn opened(
    call: &Call,
    key: Option<KernelHandle>,
    options: Options,
    attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    place: GuestPtr<Handle>,
) -> Outcome {
    let Some(handle) = key else { return fail(NOT_FOUND) };
    let object = Attributes::read(attributes, options)
        .and_then(|attributes| object::create_with(call.from, &attributes, None, Key { handle }))
        .inspect_err(|_| {
            kernel_object::close(handle);
        });
    created(object, place)
}

/// Opens a key by its name, which is relative to `parent` unless that is NULL.
fn open_below(
    call: &Call,
    parent: Handle,
    name: GuestPtr<UNICODE_STRING>,
    create: bool,
) -> Result<Option<KernelHandle>, Fault> {
    Ok(keys::open_key(parent.non_null().map(key), &name.text()?, create, call.from))
}

/// Returns the kernel handle of a key object.
fn handle(object: Handle) -> KernelHandle {
    object::part(object, |key: &mut Key| key.handle)
}

fn key(object: Handle) -> u64 {
    kernel_object::by_handle(handle(object)).unwrap_or_default()
}

/// Returns a value of a key object.
fn value(object: Handle, name: GuestPtr<UNICODE_STRING>) -> Outcome<keys::Value> {
    let key = key(object);
    let name = value_name(name)?;
    nt_kernel::lock(&kernel().registry).value(key, &name).ok_or(NOT_FOUND.into())
}

/// Returns the data of a value. Fails if the value's type is not `wanted`.
fn value_of(object: Handle, name: GuestPtr<UNICODE_STRING>, wanted: u32) -> Outcome<Vec<u8>> {
    let (kind, data) = value(object, name)?;
    if kind == wanted { Ok(data) } else { fail(NtStatus::ObjectTypeMismatch) }
}

/// Reads the name of a value, which must be a valid string.
fn value_name(name: GuestPtr<UNICODE_STRING>) -> Outcome<String> {
    misc::validate(name)?;
    Ok(name.text()?)
}

/// Returns whether the type of a value is that of a string.
fn is_text(kind: u32) -> bool {
    matches!(kind, REG_SZ | REG_EXPAND_SZ)
}

fn assign(object: Handle, name: GuestPtr<UNICODE_STRING>, kind: u32, data: Vec<u8>) -> Outcome {
    let key = key(object);
    let name = value_name(name)?;
    keys::change(|registry| registry.set(key, &name, (kind, data)));
    Ok(())
}

/// Returns the units of stored text, terminators included.
fn units(data: &[u8]) -> Vec<u16> {
    data.as_chunks().0.iter().copied().map(u16::from_le_bytes).collect()
}

/// Returns text with a terminating zero.
fn terminated(units: &[u16]) -> Vec<u8> {
    units.iter().copied().chain([0]).flat_map(u16::to_le_bytes).collect()
}
