//! Tokens, subject contexts and access checks. Every subject is the local system account, and every access is granted.

use etw_types::NtStatus;
use nt_processor::layout::{IRP, SECURITY_DESCRIPTOR, SECURITY_SUBJECT_CONTEXT, THREAD};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{ANY, APC, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::security::{MAXIMUM_ALLOWED, TokenUser};

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::pool;
use crate::rtl::security::DescriptorParts;
use crate::{Kernel, kernel, lock};

/// The size of a token, which is opaque.
const TOKEN: u64 = 0x100;
/// The index of `GenericAll` in `GENERIC_MAPPING`.
const GENERIC_ALL: u64 = 3;
/// S-1-5-18, the local system account.
const SYSTEM: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
/// The default security descriptor: owner and group are the local system account, and there is no ACL.
const DEFAULT: [u8; 20] = [1, 0, 0, 0x80, 20, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The size of `TOKEN_USER` without the account that it points to.
const TOKEN_USER: u32 = 16;

/// A subject context that no routine looks into.
type Subject = Ignored<GuestPtr<SECURITY_SUBJECT_CONTEXT>>;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn SeCaptureSubjectContext(context: GuestPtr<SECURITY_SUBJECT_CONTEXT>) -> Result<(), Fault> {
        context.zero()?;
        context.PrimaryToken().write(token())
    }

    #[irql(PASSIVE), fixed]
    fn SeLockSubjectContext(_context: Subject) {}

    #[irql(PASSIVE), fixed]
    fn SeUnlockSubjectContext(_context: Subject) {}

    #[irql(PASSIVE), fixed]
    fn SeReleaseSubjectContext(_context: Subject) {}

    #[irql(PASSIVE)]
    fn SeAccessCheck(
        _descriptor: Ignored<GuestPtr<SECURITY_DESCRIPTOR>>,
        _subject: Subject,
        _locked: Ignored<bool>,
        desired: u32,
        previously_granted: u32,
        privileges: Out<u64>,
        mapping: GuestPtr<u32>,
        _mode: Ignored<i8>,
        access: Out<u32>,
        status: Out<NtStatus>,
    ) -> Result<bool, Fault> {
        let mut granted = (desired & !MAXIMUM_ALLOWED) | previously_granted;
        if desired & MAXIMUM_ALLOWED != 0 {
            granted |= mapping.at(GENERIC_ALL).read()?;
        }
        privileges.set_if_wanted(0)?;
        access.set(granted)?;
        status.set(NtStatus::Success)?;
        Ok(true)
    }

    /// The privilege is an `LUID`.
    #[irql(PASSIVE), fixed]
    fn SeSinglePrivilegeCheck(_privilege: Ignored<u64>, _mode: Ignored<i8>) -> bool {
        true
    }

    #[irql(PASSIVE), fixed]
    fn SePrivilegeCheck(_privileges: Ignored<GuestPtr<Opaque>>, _subject: Subject, _mode: Ignored<i8>) -> bool {
        true
    }

    #[irql(ANY), fixed]
    fn SeTokenIsAdmin(_token: Ignored<GuestPtr<Opaque>>) -> bool {
        true
    }

    #[irql(ANY), fixed]
    fn SeTokenIsRestricted(_token: Ignored<GuestPtr<Opaque>>) -> bool {
        false
    }

    #[irql(ANY), fixed]
    fn SeTokenIsWriteRestricted(_token: Ignored<GuestPtr<Opaque>>) -> bool {
        false
    }

    #[irql(APC)]
    fn PsReferencePrimaryToken(&call, _process: Ignored<GuestPtr<THREAD>>) -> GuestPtr<Opaque> {
        let token = token();
        object::reference(token, call.from);
        GuestPtr::new(token)
    }

    #[irql(APC), fixed]
    fn PsReferenceImpersonationToken(
        _thread: Ignored<GuestPtr<THREAD>>,
        _copy: Ignored<GuestPtr<u8>>,
        _effective: Ignored<GuestPtr<u8>>,
        _level: Ignored<GuestPtr<u32>>,
    ) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(APC)]
    fn PsDereferencePrimaryToken(token: GuestPtr<Opaque>) {
        object::dereference(token.address());
    }

    #[irql(APC), fixed]
    fn PsDereferenceImpersonationToken(_token: Ignored<GuestPtr<Opaque>>) {}

    /// The driver frees the information.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn SeQueryInformationToken(
        &call,
        _token: Ignored<GuestPtr<Opaque>>,
        class: i32,
        information: Out<GuestPtr<u64>>,
    ) -> Outcome {
        if class != TokenUser {
            return fail(NtStatus::InvalidInfoClass);
        }
        let size = u64::from(TOKEN_USER) + SYSTEM.len() as u64;
        let memory = lock(&kernel().pool).allocate(size, *b"SeTk", true, call.from);
        let Some(place) = memory.map(GuestPtr::<u64>::new) else { return fail(NO_RESOURCES) };
        write_user(place)?;
        information.set(place)?;
        done(())
    }

    /// `handle` is that of a token, which is always the system's.
    #[irql(PASSIVE)]
    fn ZwQueryInformationToken(
        handle: KernelHandle,
        class: i32,
        information: GuestPtr<u64>,
        room: u32,
        length: Out<u32>,
    ) -> Outcome {
        if object::by_handle(handle).is_none() {
            return fail(NtStatus::InvalidHandle);
        }
        if class != TokenUser {
            return fail(NtStatus::InvalidInfoClass);
        }
        let size = TOKEN_USER + SYSTEM.len() as u32;
        length.set(size)?;
        if room < size {
            return fail(NtStatus::BufferTooSmall);
        }
        done(write_user(information)?)
    }

    /// A descriptor of the kernel is copied only on request.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn SeCaptureSecurityDescriptor(
        &call,
        descriptor: GuestPtr<SECURITY_DESCRIPTOR>,
        mode: i8,
        pool_type: i32,
        capture_if_kernel: bool,
        place: Out<GuestPtr<u8>>,
    ) -> Outcome {
        if descriptor.is_null() || (mode == 0 && !capture_if_kernel) {
            place.set(descriptor.cast())?;
            return done(());
        }
        let copy = DescriptorParts::from_descriptor(descriptor)?.self_relative()?;
        let memory = lock(&kernel().pool).allocate(copy.len() as u64, *b"SeSd", pool_type & 1 != 0, call.from);
        let Some(memory) = memory.map(GuestPtr::<u8>::new) else { return fail(NO_RESOURCES) };
        memory.write_all(&copy)?;
        place.set(memory)?;
        done(())
    }

    /// Frees what `SeCaptureSecurityDescriptor` copied.
    #[irql(PASSIVE)]
    fn SeReleaseSecurityDescriptor(
        descriptor: GuestPtr<SECURITY_DESCRIPTOR>,
        mode: i8,
        captured_if_kernel: bool,
    ) -> NtStatus {
        if !descriptor.is_null() && (mode != 0 || captured_if_kernel) {
            pool::free(descriptor.address(), None);
        }
        NtStatus::Success
    }

    #[irql(PASSIVE)]
    fn SeValidSecurityDescriptor(length: u32, descriptor: GuestPtr<SECURITY_DESCRIPTOR>) -> Result<bool, Fault> {
        let needed = DescriptorParts::from_descriptor(descriptor)?.self_relative()?.len();
        Ok(descriptor.Revision().read()? == 1 && needed <= length as usize)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn ZwSetSecurityObject(
        handle: KernelHandle,
        _parts: Ignored<u32>,
        descriptor: GuestPtr<SECURITY_DESCRIPTOR>,
    ) -> Outcome {
        set_by_handle(handle, descriptor)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn NtSetSecurityObject(
        handle: KernelHandle,
        _parts: Ignored<u32>,
        descriptor: GuestPtr<SECURITY_DESCRIPTOR>,
    ) -> Outcome {
        set_by_handle(handle, descriptor)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn ObSetSecurityObjectByPointer(
        object: GuestPtr<Opaque>,
        _parts: Ignored<u32>,
        descriptor: GuestPtr<SECURITY_DESCRIPTOR>,
    ) -> Outcome {
        set(object.address(), descriptor)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn ZwQuerySecurityObject(
        handle: KernelHandle,
        _parts: Ignored<u32>,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        query(handle, buffer, length)
    }

    #[irql(PASSIVE), fails(NtStatus::AccessDenied)]
    fn NtQuerySecurityObject(
        handle: KernelHandle,
        _parts: Ignored<u32>,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        query(handle, buffer, length)
    }

    #[irql(APC), fixed]
    fn ObReleaseObjectSecurity(_descriptor: Ignored<GuestPtr<SECURITY_DESCRIPTOR>>, _allocated: Ignored<bool>) {}

    #[irql(ANY), fixed]
    fn IoValidateDeviceIoControlAccess(_request: Ignored<GuestPtr<IRP>>, _access: Ignored<u32>) -> NtStatus {
        NtStatus::Success
    }
}

/// Returns the token of the local system account. The first call creates it.
pub(super) fn token() -> u64 {
    let Kernel { objects, pool, .. } = kernel();
    if let Some(token) = lock(objects).token() {
        return token;
    }
    let token = lock(pool).object(TOKEN);
    lock(objects).set_token(token);
    token
}

/// Writes a `TOKEN_USER` and, behind it, the account that it points to.
fn write_user(place: GuestPtr<u64>) -> Result<(), Fault> {
    let sid = place.at(2).cast::<u8>();
    place.write(sid.address())?;
    place.at(1).write(0)?;
    sid.write_all(&SYSTEM)
}

fn set(object: u64, descriptor: GuestPtr<SECURITY_DESCRIPTOR>) -> Outcome {
    if descriptor.Revision().read()? != 1 {
        return fail(NtStatus::InvalidSecurityDescr);
    }
    let copy = DescriptorParts::from_descriptor(descriptor)?.self_relative()?;
    lock(&kernel().objects).set_descriptor(object, copy);
    Ok(())
}

fn set_by_handle(handle: KernelHandle, descriptor: GuestPtr<SECURITY_DESCRIPTOR>) -> Outcome {
    let Some(object) = object::by_handle(handle) else { return fail(NtStatus::InvalidHandle) };
    set(object, descriptor)
}

/// Copies the descriptor of an object to the driver.
fn query(handle: KernelHandle, buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
    let Some(object) = object::by_handle(handle) else { return fail(NtStatus::InvalidHandle) };
    let known = lock(&kernel().objects).descriptor(object);
    let descriptor = known.unwrap_or_else(|| DEFAULT.iter().chain(&SYSTEM).copied().collect());
    length.set(descriptor.len() as u32)?;
    if buffer.len() < descriptor.len() as u64 {
        return fail(NtStatus::BufferTooSmall);
    }
    buffer.start().write_all(&descriptor)?;
    done(())
}
