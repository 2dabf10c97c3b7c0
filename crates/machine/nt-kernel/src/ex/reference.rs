//! Routines that open and close handles, and count references to objects.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::UNICODE_STRING;
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{ANY, APC, Call, DISPATCH, Ignored, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::object::DUPLICATE_CLOSE_SOURCE;

use super::handle::KernelHandle;
use super::namespace;
use super::object::{self, close, dereference, kind_and_object, open, reference};
use crate::{kernel, lock, request_rules};

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn ZwClose(handle: KernelHandle) -> NtStatus {
        close(handle)
    }

    #[irql(PASSIVE)]
    fn NtClose(handle: KernelHandle) -> NtStatus {
        close(handle)
    }

    #[irql(PASSIVE)]
    fn ObCloseHandle(handle: KernelHandle, _mode: Ignored<i8>) -> NtStatus {
        close(handle)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ObReferenceObjectByHandle(
        &call,
        handle: KernelHandle,
        _access: Ignored<u32>,
        kind: Option<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        place: Out<u64>,
        _information: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        by_handle_and_type(call, handle, kind, place)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ObReferenceObjectByHandleWithTag(
        &call,
        handle: KernelHandle,
        _access: Ignored<u32>,
        kind: Option<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        _tag: Ignored<u32>,
        place: Out<u64>,
        _information: Ignored<GuestPtr<Opaque>>,
    ) -> Outcome {
        by_handle_and_type(call, handle, kind, place)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ObReferenceObjectByName(
        &call,
        name: GuestPtr<UNICODE_STRING>,
        _attributes: Ignored<u32>,
        _state: Ignored<GuestPtr<Opaque>>,
        _access: Ignored<u32>,
        _type: Ignored<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        _context: Ignored<GuestPtr<Opaque>>,
        place: Out<u64>,
    ) -> Outcome {
        let Some(named) = namespace::find(&name.text()?)? else { return fail(NtStatus::ObjectNameNotFound) };
        reference(named.object, call.from);
        place.set(named.object)?;
        done(())
    }

    #[irql(ANY)]
    fn ObIsKernelHandle(handle: KernelHandle) -> bool {
        handle.as_int() >= KernelHandle::FIRST & !0xFFF
    }

    #[irql(DISPATCH)]
    fn ObfReferenceObjectWithTag(&call, object: GuestPtr<Opaque>, _tag: Ignored<u32>) -> i64 {
        reference(object.address(), call.from).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObfDereferenceObjectWithTag(object: GuestPtr<Opaque>, _tag: Ignored<u32>) -> i64 {
        dereference(object.address()).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObDereferenceObjectDeferDeleteWithTag(object: GuestPtr<Opaque>, _tag: Ignored<u32>) {
        dereference(object.address());
    }

    #[irql(DISPATCH), fails(NtStatus::AccessDenied)]
    fn ObReferenceObjectByPointerWithTag(
        &call,
        object: GuestPtr<Opaque>,
        _access: Ignored<u32>,
        _type: Ignored<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        _tag: Ignored<u32>,
    ) -> NtStatus {
        reference(object.address(), call.from);
        NtStatus::Success
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn ObOpenObjectByPointerWithTag(
        &call,
        object: GuestPtr<Opaque>,
        _attributes: Ignored<u32>,
        _state: Ignored<GuestPtr<Opaque>>,
        _access: Ignored<u32>,
        wanted: Option<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        _tag: Ignored<u32>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        by_pointer(call, object.address(), wanted, place)
    }

    #[irql(APC), fails(NtStatus::AccessDenied)]
    fn ObOpenObjectByPointer(
        &call,
        object: GuestPtr<Opaque>,
        _attributes: Ignored<u32>,
        _state: Ignored<GuestPtr<Opaque>>,
        _access: Ignored<u32>,
        wanted: Option<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        by_pointer(call, object.address(), wanted, place)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwDuplicateObject(
        &call,
        _source_process: Ignored<KernelHandle>,
        source: KernelHandle,
        _target_process: Ignored<KernelHandle>,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        _attributes: Ignored<u32>,
        options: u32,
    ) -> Outcome {
        let Some((kind, object)) = kind_and_object(source) else { return fail(NtStatus::InvalidHandle) };
        place.set(open(kind, object, call.from)?)?;
        if options & DUPLICATE_CLOSE_SOURCE != 0 {
            close(source);
        }
        done(())
    }

    #[irql(DISPATCH), fails(NtStatus::AccessDenied)]
    fn ObReferenceObjectByPointer(
        &call,
        object: GuestPtr<Opaque>,
        _access: Ignored<u32>,
        _type: Ignored<GuestPtr<Opaque>>,
        _mode: Ignored<i8>,
    ) -> NtStatus {
        reference(object.address(), call.from);
        NtStatus::Success
    }

    #[irql(DISPATCH)]
    fn ObfReferenceObject(&call, object: GuestPtr<Opaque>) -> i64 {
        reference(object.address(), call.from).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObReferenceObject(&call, object: GuestPtr<Opaque>) -> i64 {
        reference(object.address(), call.from).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObfDereferenceObject(object: GuestPtr<Opaque>) -> i64 {
        dereference(object.address()).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObDereferenceObject(object: GuestPtr<Opaque>) -> i64 {
        dereference(object.address()).cast_signed()
    }

    #[irql(DISPATCH)]
    fn ObDereferenceObjectDeferDelete(object: GuestPtr<Opaque>) {
        dereference(object.address());
    }

    /// A dispatch routine runs on the thread of its client.
    #[irql(ANY)]
    fn ExGetPreviousMode() -> i8 {
        i8::from(request_rules::is_for_user())
    }

    #[irql(APC), fixed]
    fn ObGetObjectSecurity(_object: Ignored<GuestPtr<Opaque>>, descriptor: Out<u64>, allocated: Out<u8>) -> Outcome {
        descriptor.set(0)?;
        allocated.set(0)?;
        done(())
    }
}

/// Returns the kind of an object, for a handle to it.
fn kind_of(object: u64) -> &'static str {
    match object::kind(object) {
        Some(kind) => kind,
        None if object == system_process() || is_of_test(object) => "process",
        None if thread::number_of(GuestPtr::new(object)).is_some() => "thread",
        None => "object",
    }
}

/// Returns whether an object is that of a process whose creation a test reported.
fn is_of_test(object: u64) -> bool {
    lock(&kernel().threads).processes.values().any(|(process, _)| process.address() == object)
}

/// Returns the object of the system process.
fn system_process() -> u64 {
    kernel().table.variables().process().address()
}

/// Returns the variable that points to the object type of handles of a kind.
fn type_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "event" => "ExEventObjectType",
        "process" => "PsProcessType",
        "file" => "IoFileObjectType",
        "key" => "CmKeyObjectType",
        "thread" => "PsThreadType",
        _ => return None,
    })
}

/// Returns whether an object of a kind has the wanted type.
fn has_type(kind: &str, wanted: Option<GuestPtr<Opaque>>) -> Outcome<bool> {
    match (wanted, type_of(kind)) {
        (Some(wanted), Some(own)) => Ok(kernel().table.variables().object_type(own)? == wanted),
        _ => Ok(true),
    }
}

/// Opens a handle to an object, if it has the wanted type.
fn by_pointer(call: &Call, object: u64, wanted: Option<GuestPtr<Opaque>>, place: Out<KernelHandle>) -> Outcome {
    let kind = kind_of(object);
    if !has_type(kind, wanted)? {
        return fail(NtStatus::ObjectTypeMismatch);
    }
    place.set(open(kind, object, call.from)?)?;
    Ok(())
}

/// References the object of a handle, if it has the wanted type.
fn by_handle_and_type(call: &Call, handle: KernelHandle, wanted: Option<GuestPtr<Opaque>>, place: Out<u64>) -> Outcome {
    let (kind, object) = match (kind_and_object(handle), handle.as_int()) {
        (Some(open), _) => open,
        // NtCurrentProcess and NtCurrentThread.
        (None, u64::MAX) => ("process", system_process()),
        (None, 0xFFFF_FFFF_FFFF_FFFE) => ("thread", thread::object().address()),
        (None, _) => return fail(NtStatus::InvalidHandle),
    };
    if !has_type(kind, wanted)? {
        return fail(NtStatus::ObjectTypeMismatch);
    }
    place.set(object)?;
    reference(object, call.from);
    Ok(())
}
