//! Tokens, subject contexts and access checks. Every subject is the local system account, and every access is granted.

use etw_types::NtStatus;

use crate::kernel::ex::object;
use crate::kernel::pool;
use crate::kernel::rtl::security::Parts;
use crate::kernel::{kernel, lock};
use crate::layout::{SECURITY_DESCRIPTOR, SECURITY_SUBJECT_CONTEXT};
use crate::memory::GuestPtr;
use crate::routine::{ANY, APC, Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, fixed, routine};

/// The size of a token, which is opaque.
const TOKEN: u64 = 0x100;
/// `MAXIMUM_ALLOWED`, and the index of `GenericAll` in `GENERIC_MAPPING`.
const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
const GENERIC_ALL: u64 = 3;
/// `TokenUser`.
const USER: u32 = 1;
/// S-1-5-18, the local system account.
const SYSTEM: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
/// The default security descriptor: owner and group are the local system account, and there is no ACL.
const DEFAULT: [u8; 20] = [1, 0, 0, 0x80, 20, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

pub(super) const ROUTINES: &[Routine] = &[
    routine!("SeCaptureSubjectContext", PASSIVE, |call| {
        let context = call.ptr::<SECURITY_SUBJECT_CONTEXT>(0);
        context.zero()?;
        context.PrimaryToken().write(token())
    }),
    fixed("SeLockSubjectContext", PASSIVE, 0),
    fixed("SeUnlockSubjectContext", PASSIVE, 0),
    fixed("SeReleaseSubjectContext", PASSIVE, 0),
    // Arguments: descriptor, subject, whether it is locked, desired and previously granted access, place for
    // privileges, mapping, mode, places for the access and the status.
    routine!("SeAccessCheck", PASSIVE, |call| {
        let mut granted = (call.u32(3) & !MAXIMUM_ALLOWED) | call.u32(4);
        if call.u32(3) & MAXIMUM_ALLOWED != 0 {
            granted |= call.ptr::<u32>(6).at(GENERIC_ALL).read()?;
        }
        call.ptr(5).write_if(0_u64)?;
        call.ptr(8).write(granted)?;
        call.ptr(9).write(NtStatus::Success)?;
        done(true)
    }),
    fixed("SeSinglePrivilegeCheck", PASSIVE, 1),
    fixed("SePrivilegeCheck", PASSIVE, 1),
    fixed("SeTokenIsAdmin", ANY, 1),
    fixed("SeTokenIsRestricted", ANY, 0),
    fixed("SeTokenIsWriteRestricted", ANY, 0),
    routine!("PsReferencePrimaryToken", APC, referenced_token),
    routine!("PsReferenceImpersonationToken", APC, |_| 0_u64).fixed(),
    routine!("PsDereferencePrimaryToken", APC, |call| object::dereference(call.arg(0))),
    routine!("PsDereferenceImpersonationToken", APC, |_| 0_u64).fixed(),
    // Arguments: token, class, place for the information, which the driver frees.
    routine!("SeQueryInformationToken", PASSIVE, |call| {
        if call.u32(1) != USER {
            return fail(NtStatus::InvalidInfoClass);
        }
        let memory = lock(&kernel().pool).allocate(16 + SYSTEM.len() as u64, *b"SeTk", true, call.from);
        let Some(place) = memory.map(GuestPtr::<u64>::new) else { return fail(NO_RESOURCES) };
        let sid = place.at(2).cast::<u8>();
        place.write(sid.address())?;
        place.at(1).write(0)?;
        sid.write_all(&SYSTEM)?;
        call.ptr(2).write(place)?;
        done(())
    })
    .fails(NO_RESOURCES),
    // Arguments: descriptor, mode, pool type, whether to copy a descriptor of the kernel, place for the descriptor.
    routine!("SeCaptureSecurityDescriptor", PASSIVE, |call| {
        let descriptor = call.ptr::<SECURITY_DESCRIPTOR>(0);
        if descriptor.is_null() || (call.u8(1) == 0 && !call.is(3)) {
            call.ptr(4).write(descriptor)?;
            return done(());
        }
        let copy = Parts::of(descriptor)?.self_relative()?;
        let memory = lock(&kernel().pool).allocate(copy.len() as u64, *b"SeSd", call.u32(2) & 1 != 0, call.from);
        let Some(place) = memory.map(GuestPtr::<u8>::new) else { return fail(NO_RESOURCES) };
        place.write_all(&copy)?;
        call.ptr(4).write(place)?;
        done(())
    })
    .fails(NO_RESOURCES),
    // Arguments: descriptor, mode, whether a descriptor of the kernel was copied.
    routine!("SeReleaseSecurityDescriptor", PASSIVE, |call| {
        if call.arg(0) != 0 && (call.u8(1) != 0 || call.is(2)) {
            pool::free(call.arg(0), None);
        }
    }),
    // Arguments: length, descriptor, required parts.
    routine!("SeValidSecurityDescriptor", PASSIVE, |call| {
        let descriptor = call.ptr::<SECURITY_DESCRIPTOR>(1);
        let length = Parts::of(descriptor)?.self_relative()?.len();
        done(descriptor.Revision().read()? == 1 && length <= call.u32(0) as usize)
    }),
    // Arguments: handle, parts to set, descriptor.
    routine!("ZwSetSecurityObject", PASSIVE, |call| {
        let Some(object) = object::by_handle(call.kernel_handle(0)) else { return fail(NtStatus::InvalidHandle) };
        set(object, call.ptr(2))
    })
    .fails(NtStatus::AccessDenied),
    // Arguments: object, parts to set, descriptor.
    routine!("ObSetSecurityObjectByPointer", PASSIVE, |call| set(call.arg(0), call.ptr(2)))
        .fails(NtStatus::AccessDenied),
    // Arguments: handle, parts to return, buffer for the descriptor, size of the buffer, place for the length.
    routine!("ZwQuerySecurityObject", PASSIVE, |call| {
        let Some(object) = object::by_handle(call.kernel_handle(0)) else { return fail(NtStatus::InvalidHandle) };
        let known = lock(&kernel().objects).descriptor(object);
        let descriptor = known.unwrap_or_else(|| DEFAULT.iter().chain(&SYSTEM).copied().collect());
        call.ptr(4).write(descriptor.len() as u32)?;
        if (call.u32(3) as usize) < descriptor.len() {
            return fail(NtStatus::BufferTooSmall);
        }
        call.ptr(2).write_all(&descriptor)?;
        done(())
    })
    .fails(NtStatus::AccessDenied),
    fixed("ObReleaseObjectSecurity", APC, 0),
    fixed("IoValidateDeviceIoControlAccess", DISPATCH, 0),
];

/// Returns the token of the local system account. The first call creates it.
pub(super) fn token() -> u64 {
    if let Some(token) = lock(&kernel().objects).token() {
        return token;
    }
    let token = lock(&kernel().pool).object(TOKEN);
    lock(&kernel().objects).set_token(token);
    token
}

fn referenced_token(call: &Call) -> u64 {
    let token = token();
    object::reference(token, call.from);
    token
}

fn set(object: u64, descriptor: GuestPtr<SECURITY_DESCRIPTOR>) -> Outcome {
    if descriptor.Revision().read()? != 1 {
        return fail(NtStatus::InvalidSecurityDescr);
    }
    let copy = Parts::of(descriptor)?.self_relative()?;
    lock(&kernel().objects).set_descriptor(object, copy);
    Ok(())
}
