//! SIDs, access control lists and security descriptors. They are data of the driver: no access is denied because of
//! them.

use std::fmt::Write as _;

use etw_types::NtStatus;

use super::string::store_text;
use crate::layout::{ACE, ACL, SECURITY_DESCRIPTOR, SECURITY_DESCRIPTOR_RELATIVE, SID};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{ANY, APC, Call, Outcome, PASSIVE, Routine, done, fail, routine};

/// `SECURITY_DESCRIPTOR_REVISION` and `SID_REVISION`; the valid revisions of access control lists.
const REVISION: u8 = 1;
const LIST_REVISIONS: std::ops::RangeInclusive<u8> = 2..=4;
/// `SID_MAX_SUB_AUTHORITIES`.
const MOST_PARTS: u8 = 15;
/// Bits of a descriptor's control member: which parts are defaults, which lists are present, and whether the descriptor
/// is self-relative.
const OWNER_DEFAULTED: u16 = 1;
const GROUP_DEFAULTED: u16 = 2;
const DACL_PRESENT: u16 = 4;
const SACL_PRESENT: u16 = 0x10;
const SELF_RELATIVE: u16 = 0x8000;
/// The "defaulted" bit of a list is the bit above its "present" bit.
const DEFAULTED_SHIFT: u32 = 1;

type Descriptor = GuestPtr<SECURITY_DESCRIPTOR>;

pub(super) const ROUTINES: &[Routine] = &[
    routine!("RtlLengthSid", ANY, |call| done(call.ptr::<SID>(0).size()? as u32)),
    routine!("RtlLengthRequiredSid", ANY, |call| GuestPtr::<SID>::size_with(call.u8(0)) as u32),
    routine!("RtlValidSid", APC, |call| is_valid_sid(call.ptr(0))),
    routine!("RtlEqualSid", APC, |call| {
        let (one, other) = (call.ptr::<SID>(0), call.ptr::<SID>(1));
        done(bytes(one.cast(), one.size()?)? == bytes(other.cast(), other.size()?)?)
    }),
    // Arguments: size of the destination, destination, source.
    routine!("RtlCopySid", APC, |call| {
        let size = call.ptr::<SID>(2).size()?;
        if u64::from(call.u32(0)) < size {
            return fail(NtStatus::BufferTooSmall);
        }
        call.ptr::<u8>(1).array(size).copy_from(call.ptr(2))?;
        done(())
    }),
    // Arguments: SID, authority, number of subauthorities.
    routine!("RtlInitializeSid", APC, |call| {
        if call.u8(2) > MOST_PARTS {
            return fail(NtStatus::InvalidParameter);
        }
        let authority = call.ptr::<[u8; 6]>(1).read()?;
        let start = SID { Revision: REVISION, SubAuthorityCount: call.u8(2), IdentifierAuthority: authority };
        call.ptr(0).write(start)?;
        done(())
    }),
    routine!("RtlSubAuthoritySid", APC, |call| call.ptr::<SID>(0).after::<u32>().at(call.u32(1).into())),
    routine!("RtlSubAuthorityCountSid", APC, |call| call.ptr::<SID>(0).SubAuthorityCount()),
    // Arguments: string, SID, whether to allocate.
    routine!("RtlConvertSidToUnicodeString", PASSIVE, |call| {
        let sid = call.ptr::<SID>(1);
        let head = sid.read()?;
        let authority = head.IdentifierAuthority.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let mut text = format!("S-{}-{authority}", head.Revision);
        for part in sid.after::<u32>().array(head.SubAuthorityCount.into()).read()? {
            let _ = write!(text, "-{part}");
        }
        store_text(call, call.ptr(0), &text, call.is(2))
    })
    .fails(NtStatus::NoMemory),
    // Arguments: list, its size, its revision.
    routine!("RtlCreateAcl", APC, |call| {
        if !LIST_REVISIONS.contains(&call.u8(2)) || call.u32(1) > u16::MAX.into() {
            return fail(NtStatus::InvalidParameter);
        }
        if (call.u32(1) as usize) < size_of::<ACL>() {
            return fail(NtStatus::BufferTooSmall);
        }
        let list = ACL { AclRevision: call.u8(2), Sbz1: 0, AclSize: call.u16(1) & !3, AceCount: 0, Sbz2: 0 };
        call.ptr(0).write(list)?;
        done(())
    }),
    // Arguments: list, revision, access mask, SID.
    routine!("RtlAddAccessAllowedAce", APC, |call| add(call, 0, call.u32(2), call.ptr(3))),
    // Arguments: list, revision, flags, access mask, SID.
    routine!("RtlAddAccessAllowedAceEx", APC, |call| add(call, call.u8(2), call.u32(3), call.ptr(4))),
    // Arguments: list, index, pointer to the entry's address.
    routine!("RtlGetAce", APC, |call| {
        let (list, wanted) = (call.ptr::<ACL>(0), call.u32(1));
        if wanted >= list.AceCount().read()?.into() {
            return fail(NtStatus::InvalidParameter);
        }
        call.ptr(2).write(entry(list, wanted)?)?;
        done(())
    }),
    routine!("RtlCreateSecurityDescriptor", APC, |call| {
        if call.u32(1) != u32::from(REVISION) {
            return fail(NtStatus::UnknownRevision);
        }
        let descriptor: Descriptor = call.ptr(0);
        descriptor.zero()?;
        descriptor.Revision().write(REVISION)?;
        done(())
    }),
    routine!("RtlValidSecurityDescriptor", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        let valid = |sid: GuestPtr<u8>| sid.non_null().map_or(Ok(true), |sid| is_valid_sid(sid.cast()));
        done(
            call.ptr::<SECURITY_DESCRIPTOR>(0).Revision().read()? == REVISION
                && valid(parts.owner)?
                && valid(parts.group)?,
        )
    }),
    routine!("RtlLengthSecurityDescriptor", APC, |call| done(Parts::of(call.ptr(0))?.length()? as u32)),
    // Arguments: descriptor, whether a list is present, the list, whether it is a default.
    routine!("RtlSetDaclSecurityDescriptor", APC, |call| set_list(call, DACL_PRESENT)),
    routine!("RtlSetSaclSecurityDescriptor", APC, |call| set_list(call, SACL_PRESENT)),
    // Arguments: descriptor, SID, whether it is a default.
    routine!("RtlSetOwnerSecurityDescriptor", APC, |call| {
        set_identifier(call, call.ptr::<SECURITY_DESCRIPTOR>(0).Owner(), OWNER_DEFAULTED)
    }),
    routine!("RtlSetGroupSecurityDescriptor", APC, |call| {
        set_identifier(call, call.ptr::<SECURITY_DESCRIPTOR>(0).Group(), GROUP_DEFAULTED)
    }),
    // Arguments: descriptor, pointers to whether a list is present, to its address, and to whether it is a default.
    routine!("RtlGetDaclSecurityDescriptor", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        get_list(call, parts.control, DACL_PRESENT, parts.dacl)
    }),
    routine!("RtlGetSaclSecurityDescriptor", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        get_list(call, parts.control, SACL_PRESENT, parts.sacl)
    }),
    // Arguments: descriptor, pointers to the address of the SID and to whether it is a default.
    routine!("RtlGetOwnerSecurityDescriptor", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        call.ptr(1).write(parts.owner)?;
        call.ptr(2).write(u8::from(parts.control & OWNER_DEFAULTED != 0))?;
        done(())
    }),
    routine!("RtlGetGroupSecurityDescriptor", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        call.ptr(1).write(parts.group)?;
        call.ptr(2).write(u8::from(parts.control & GROUP_DEFAULTED != 0))?;
        done(())
    }),
    // Arguments: descriptor, destination, pointer to its size.
    routine!("RtlAbsoluteToSelfRelativeSD", APC, |call| {
        let parts = Parts::of(call.ptr(0))?;
        if parts.control & SELF_RELATIVE != 0 {
            return fail(NtStatus::BadDescriptorFormat);
        }
        let (image, room) = (parts.self_relative()?, call.ptr::<u32>(2));
        let fits = image.len() as u64 <= u64::from(room.read()?);
        room.write(image.len() as u32)?;
        if !fits {
            return fail(NtStatus::BufferTooSmall);
        }
        call.ptr(1).write_all(&image)?;
        done(())
    }),
];

fn bytes(start: GuestPtr<u8>, length: u64) -> Result<Vec<u8>, Fault> {
    start.array(length).read()
}

fn is_valid_sid(sid: GuestPtr<SID>) -> Result<bool, Fault> {
    let head = sid.read()?;
    Ok(head.Revision == REVISION && head.SubAuthorityCount <= MOST_PARTS)
}

/// Returns the entry of a list with this index, or the end of the list.
fn entry(list: GuestPtr<ACL>, number: u32) -> Result<GuestPtr<ACE>, Fault> {
    let mut place = list.after::<ACE>();
    for _ in 0..number {
        place = place.cast::<u8>().at(place.AceSize().read()?.into()).cast();
    }
    Ok(place)
}

fn add(call: &Call, flags: u8, mask: u32, sid: GuestPtr<SID>) -> Outcome {
    let (list, head) = (call.ptr::<ACL>(0), call.ptr::<ACL>(0).read()?);
    if !LIST_REVISIONS.contains(&head.AclRevision) || !LIST_REVISIONS.contains(&call.u8(1)) {
        return fail(NtStatus::RevisionMismatch);
    }
    if !is_valid_sid(sid)? {
        return fail(NtStatus::InvalidSid);
    }
    let size = size_of::<ACE>() as u64 + sid.size()?;
    let mut used = size_of::<ACL>() as u64;
    for number in 0..head.AceCount.into() {
        used += u64::from(entry(list, number)?.AceSize().read()?);
    }
    let place = list.cast::<u8>().at(used).cast::<ACE>();
    if used + size > head.AclSize.into() {
        return fail(NtStatus::AllottedSpaceExceeded);
    }
    place.write(ACE { AceType: 0, AceFlags: flags, AceSize: size as u16, Mask: mask })?;
    place.after::<u8>().array(sid.size()?).copy_from(sid.cast())?;
    list.AceCount().write(head.AceCount + 1)?;
    Ok(())
}

/// Fails for descriptors that cannot be changed.
fn check_absolute(descriptor: Descriptor) -> Outcome {
    if descriptor.Revision().read()? != REVISION {
        return fail(NtStatus::UnknownRevision);
    }
    if descriptor.Control().read()? & SELF_RELATIVE != 0 {
        return fail(NtStatus::InvalidSecurityDescr);
    }
    Ok(())
}

fn set_list(call: &Call, present: u16) -> Outcome {
    let descriptor: Descriptor = call.ptr(0);
    check_absolute(descriptor)?;
    let (is_there, defaulted) = (call.is(1), present << DEFAULTED_SHIFT);
    let bits = if is_there { present | if call.is(3) { defaulted } else { 0 } } else { 0 };
    descriptor.Control().change(|control| control & !(present | defaulted) | bits)?;
    if is_there {
        let place = if present == DACL_PRESENT { descriptor.Dacl() } else { descriptor.Sacl() };
        place.write(call.ptr(2))?;
    }
    Ok(())
}

fn set_identifier(call: &Call, place: GuestPtr<GuestPtr<u8>>, defaulted: u16) -> Outcome {
    let descriptor: Descriptor = call.ptr(0);
    check_absolute(descriptor)?;
    place.write(call.ptr(1))?;
    let bit = if call.is(2) { defaulted } else { 0 };
    descriptor.Control().change(|control| control & !defaulted | bit)?;
    Ok(())
}

fn get_list(call: &Call, control: u16, present: u16, list: GuestPtr<u8>) -> Outcome {
    let is_there = control & present != 0;
    call.ptr(1).write(u8::from(is_there))?;
    if is_there {
        call.ptr(2).write(list)?;
        call.ptr(3).write(u8::from(control & present << DEFAULTED_SHIFT != 0))?;
    }
    Ok(())
}

/// The addresses of the parts of a descriptor in either format. Missing parts are NULL.
pub(crate) struct Parts {
    control: u16,
    owner: GuestPtr<u8>,
    group: GuestPtr<u8>,
    sacl: GuestPtr<u8>,
    dacl: GuestPtr<u8>,
}

impl Parts {
    pub(crate) fn of(descriptor: Descriptor) -> Result<Self, Fault> {
        let control = descriptor.Control().read()?;
        if control & SELF_RELATIVE == 0 {
            let SECURITY_DESCRIPTOR { Owner: owner, Group: group, Sacl: sacl, Dacl: dacl, .. } = descriptor.read()?;
            return Ok(Self { control, owner, group, sacl, dacl }.only_present());
        }
        let relative = descriptor.cast::<SECURITY_DESCRIPTOR_RELATIVE>().read()?;
        let at = |offset: u32| if offset == 0 { GuestPtr::NULL } else { descriptor.cast::<u8>().at(offset.into()) };
        let (owner, group, sacl, dacl) = (at(relative.Owner), at(relative.Group), at(relative.Sacl), at(relative.Dacl));
        Ok(Self { control, owner, group, sacl, dacl }.only_present())
    }

    /// Clears the addresses of lists that are not present. Such a list can still have an address.
    fn only_present(self) -> Self {
        let list = |bit: u16, list: GuestPtr<u8>| if self.control & bit == 0 { GuestPtr::NULL } else { list };
        Self { sacl: list(SACL_PRESENT, self.sacl), dacl: list(DACL_PRESENT, self.dacl), ..self }
    }

    /// Reads the bytes of each part, in the order of the self-relative format: lists, owner, group.
    fn contents(&self) -> Result<[Vec<u8>; 4], Fault> {
        let sid = |place: GuestPtr<u8>| match place.non_null() {
            Some(place) => bytes(place, place.cast::<SID>().size()?),
            None => Ok(Vec::new()),
        };
        let list = |place: GuestPtr<u8>| match place.non_null() {
            Some(place) => bytes(place, place.cast::<ACL>().AclSize().read()?.into()),
            None => Ok(Vec::new()),
        };
        Ok([list(self.sacl)?, list(self.dacl)?, sid(self.owner)?, sid(self.group)?])
    }

    /// Returns the total size in bytes: the header of its format, and the parts, aligned to four bytes.
    fn length(&self) -> Result<u64, Fault> {
        let head = if self.control & SELF_RELATIVE == 0 {
            size_of::<SECURITY_DESCRIPTOR>()
        } else {
            size_of::<SECURITY_DESCRIPTOR_RELATIVE>()
        };
        Ok((head + self.contents()?.iter().map(|part| part.len().next_multiple_of(4)).sum::<usize>()) as u64)
    }

    /// Returns the descriptor in self-relative format.
    pub(crate) fn self_relative(&self) -> Result<Vec<u8>, Fault> {
        let mut offsets = [0_u32; 4];
        let mut parts = Vec::new();
        for (part, offset) in self.contents()?.into_iter().zip(&mut offsets) {
            if !part.is_empty() {
                *offset = (size_of::<SECURITY_DESCRIPTOR_RELATIVE>() + parts.len()) as u32;
                parts.extend(part);
                parts.resize(parts.len().next_multiple_of(4), 0);
            }
        }
        let [sacl, dacl, owner, group] = offsets;
        let [low, high] = (self.control | SELF_RELATIVE).to_le_bytes();
        let head = [REVISION, 0, low, high].into_iter();
        let offsets = [owner, group, sacl, dacl].into_iter().flat_map(u32::to_le_bytes);
        let image = head.chain(offsets).chain(parts).collect();
        Ok(image)
    }
}
