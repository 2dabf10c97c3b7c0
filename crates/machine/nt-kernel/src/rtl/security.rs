//! SIDs, access control lists and security descriptors. They are data of the driver: no access is denied because of
//! them.

use std::fmt::Write as _;

use etw_types::NtStatus;
use nt_processor::layout::{ACE, ACL, SECURITY_DESCRIPTOR, SECURITY_DESCRIPTOR_RELATIVE, SID, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{ANY, APC, Out, Outcome, done, fail, routines};
use windows_constants::security::{
    ACL_REVISION, MAX_ACL_REVISION, SE_DACL_PRESENT, SE_GROUP_DEFAULTED, SE_OWNER_DEFAULTED, SE_SACL_PRESENT,
    SE_SELF_RELATIVE, SECURITY_DESCRIPTOR_REVISION, SID_MAX_SUB_AUTHORITIES, SID_REVISION,
};

use super::string::store_text;

/// The valid revisions of access control lists.
const LIST_REVISIONS: std::ops::RangeInclusive<u8> = ACL_REVISION..=MAX_ACL_REVISION;
/// The "defaulted" bit of a list is the bit above its "present" bit.
const DEFAULTED_SHIFT: u32 = 1;

type Descriptor = GuestPtr<SECURITY_DESCRIPTOR>;

routines! { pub(super) ROUTINES;
    #[irql(ANY)]
    fn RtlLengthSid(sid: GuestPtr<SID>) -> Result<u32, Fault> {
        Ok(sid.size()? as u32)
    }

    #[irql(ANY)]
    fn RtlLengthRequiredSid(count: u32) -> u32 {
        (size_of::<SID>() as u32).wrapping_add(count.wrapping_mul(4))
    }

    #[irql(APC)]
    fn RtlValidSid(sid: GuestPtr<SID>) -> Result<bool, Fault> {
        is_valid_sid(sid)
    }

    #[irql(ANY)]
    fn RtlEqualSid(one: GuestPtr<SID>, other: GuestPtr<SID>) -> Result<bool, Fault> {
        Ok(bytes(one.cast(), one.size()?)? == bytes(other.cast(), other.size()?)?)
    }

    #[irql(APC)]
    fn RtlCopySid(room: u32, target: GuestPtr<SID>, source: GuestPtr<SID>) -> Outcome {
        let size = source.size()?;
        if u64::from(room) < size {
            return fail(NtStatus::BufferTooSmall);
        }
        target.cast::<u8>().array(size).copy_from(source.cast())?;
        done(())
    }

    #[irql(APC)]
    fn RtlInitializeSid(sid: Out<SID>, authority: GuestPtr<[u8; 6]>, count: u8) -> Outcome {
        if count > SID_MAX_SUB_AUTHORITIES {
            return fail(NtStatus::InvalidParameter);
        }
        sid.set(SID { Revision: SID_REVISION, SubAuthorityCount: count, IdentifierAuthority: authority.read()? })?;
        done(())
    }

    #[irql(APC)]
    fn RtlSubAuthoritySid(sid: GuestPtr<SID>, index: u32) -> GuestPtr<u32> {
        sid.after::<u32>().at(index.into())
    }

    #[irql(APC)]
    fn RtlSubAuthorityCountSid(sid: GuestPtr<SID>) -> GuestPtr<u8> {
        sid.SubAuthorityCount()
    }

    #[irql(APC), fails(NtStatus::NoMemory)]
    fn RtlConvertSidToUnicodeString(
        &call,
        string: GuestPtr<UNICODE_STRING>,
        sid: GuestPtr<SID>,
        allocate: bool,
    ) -> Outcome {
        let head = sid.read()?;
        let authority = head.IdentifierAuthority.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        let mut text = format!("S-{}-", head.Revision);
        // The page of the routine: larger values are hexadecimal.
        let _ = if authority <= 1 << 32 { write!(text, "{authority}") } else { write!(text, "0x{authority:X}") };
        for part in sid.after::<u32>().array(head.SubAuthorityCount.into()).read()? {
            let _ = write!(text, "-{part}");
        }
        store_text(call, string, &text, allocate)
    }

    #[irql(APC)]
    fn RtlCreateAcl(list: Out<ACL>, size: u32, revision: u32) -> Outcome {
        let Some(revision) = list_revision(revision) else { return fail(NtStatus::InvalidParameter) };
        let Ok(room) = u16::try_from(size) else { return fail(NtStatus::InvalidParameter) };
        if usize::from(room) < size_of::<ACL>() {
            return fail(NtStatus::BufferTooSmall);
        }
        list.set(ACL { AclRevision: revision, Sbz1: 0, AclSize: room & !3, AceCount: 0, Sbz2: 0 })?;
        done(())
    }

    #[irql(APC)]
    fn RtlAddAccessAllowedAce(list: GuestPtr<ACL>, revision: u32, mask: u32, sid: GuestPtr<SID>) -> Outcome {
        add(list, revision, 0, mask, sid)
    }

    #[irql(APC)]
    fn RtlAddAccessAllowedAceEx(
        list: GuestPtr<ACL>,
        revision: u32,
        flags: u32,
        mask: u32,
        sid: GuestPtr<SID>,
    ) -> Outcome {
        add(list, revision, flags as u8, mask, sid)
    }

    #[irql(APC)]
    fn RtlGetAce(list: GuestPtr<ACL>, index: u32, place: Out<GuestPtr<ACE>>) -> Outcome {
        if index >= list.AceCount().read()?.into() {
            return fail(NtStatus::InvalidParameter);
        }
        place.set(entry(list, index)?)?;
        done(())
    }

    #[irql(APC)]
    fn RtlCreateSecurityDescriptor(descriptor: Descriptor, revision: u32) -> Outcome {
        if revision != u32::from(SECURITY_DESCRIPTOR_REVISION) {
            return fail(NtStatus::UnknownRevision);
        }
        descriptor.zero()?;
        descriptor.Revision().write(SECURITY_DESCRIPTOR_REVISION)?;
        done(())
    }

    #[irql(APC)]
    fn RtlValidSecurityDescriptor(descriptor: Descriptor) -> Result<bool, Fault> {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        let valid = |sid: GuestPtr<u8>| sid.non_null().map_or(Ok(true), |sid| is_valid_sid(sid.cast()));
        Ok(descriptor.Revision().read()? == SECURITY_DESCRIPTOR_REVISION && valid(parts.owner)? && valid(parts.group)?)
    }

    #[irql(APC)]
    fn RtlLengthSecurityDescriptor(descriptor: Descriptor) -> Result<u32, Fault> {
        Ok(DescriptorParts::from_descriptor(descriptor)?.length()? as u32)
    }

    #[irql(APC)]
    fn RtlSetDaclSecurityDescriptor(
        descriptor: Descriptor,
        present: bool,
        list: GuestPtr<u8>,
        defaulted: bool,
    ) -> Outcome {
        set_list(descriptor, SE_DACL_PRESENT, present.then_some(list), defaulted)
    }

    #[irql(APC)]
    fn RtlSetSaclSecurityDescriptor(
        descriptor: Descriptor,
        present: bool,
        list: GuestPtr<u8>,
        defaulted: bool,
    ) -> Outcome {
        set_list(descriptor, SE_SACL_PRESENT, present.then_some(list), defaulted)
    }

    #[irql(APC)]
    fn RtlSetOwnerSecurityDescriptor(descriptor: Descriptor, sid: GuestPtr<u8>, defaulted: bool) -> Outcome {
        set_identifier(descriptor, descriptor.Owner(), sid, SE_OWNER_DEFAULTED, defaulted)
    }

    #[irql(APC)]
    fn RtlSetGroupSecurityDescriptor(descriptor: Descriptor, sid: GuestPtr<u8>, defaulted: bool) -> Outcome {
        set_identifier(descriptor, descriptor.Group(), sid, SE_GROUP_DEFAULTED, defaulted)
    }

    #[irql(APC)]
    fn RtlGetDaclSecurityDescriptor(
        descriptor: Descriptor,
        present: Out<u8>,
        place: Out<GuestPtr<u8>>,
        defaulted: Out<u8>,
    ) -> Outcome {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        let is_there = parts.control & SE_DACL_PRESENT != 0;
        present.set(is_there.into())?;
        if is_there {
            place.set(parts.dacl)?;
            defaulted.set((parts.control & SE_DACL_PRESENT << DEFAULTED_SHIFT != 0).into())?;
        }
        done(())
    }

    #[irql(APC)]
    fn RtlGetSaclSecurityDescriptor(
        descriptor: Descriptor,
        present: Out<u8>,
        place: Out<GuestPtr<u8>>,
        defaulted: Out<u8>,
    ) -> Outcome {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        let is_there = parts.control & SE_SACL_PRESENT != 0;
        present.set(is_there.into())?;
        if is_there {
            place.set(parts.sacl)?;
            defaulted.set((parts.control & SE_SACL_PRESENT << DEFAULTED_SHIFT != 0).into())?;
        }
        done(())
    }

    #[irql(APC)]
    fn RtlGetOwnerSecurityDescriptor(descriptor: Descriptor, sid: Out<GuestPtr<u8>>, defaulted: Out<u8>) -> Outcome {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        sid.set(parts.owner)?;
        defaulted.set((parts.control & SE_OWNER_DEFAULTED != 0).into())?;
        done(())
    }

    #[irql(APC)]
    fn RtlGetGroupSecurityDescriptor(descriptor: Descriptor, sid: Out<GuestPtr<u8>>, defaulted: Out<u8>) -> Outcome {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        sid.set(parts.group)?;
        defaulted.set((parts.control & SE_GROUP_DEFAULTED != 0).into())?;
        done(())
    }

    #[irql(APC)]
    fn RtlAbsoluteToSelfRelativeSD(descriptor: Descriptor, target: GuestPtr<u8>, room: GuestPtr<u32>) -> Outcome {
        let parts = DescriptorParts::from_descriptor(descriptor)?;
        if parts.control & SE_SELF_RELATIVE != 0 {
            return fail(NtStatus::BadDescriptorFormat);
        }
        let image = parts.self_relative()?;
        let fits = image.len() as u64 <= u64::from(room.read()?);
        room.write(image.len() as u32)?;
        if !fits {
            return fail(NtStatus::BufferTooSmall);
        }
        target.write_all(&image)?;
        done(())
    }
}

fn bytes(start: GuestPtr<u8>, length: u64) -> Result<Vec<u8>, Fault> {
    start.array(length).read()
}

fn is_valid_sid(sid: GuestPtr<SID>) -> Result<bool, Fault> {
    let head = sid.read()?;
    Ok(head.Revision == SID_REVISION && head.SubAuthorityCount <= SID_MAX_SUB_AUTHORITIES)
}

/// Returns the entry of a list with this index, or the end of the list.
fn entry(list: GuestPtr<ACL>, number: u32) -> Result<GuestPtr<ACE>, Fault> {
    let mut place = list.after::<ACE>();
    for _ in 0..number {
        place = place.cast::<u8>().at(place.AceSize().read()?.into()).cast();
    }
    Ok(place)
}

/// Returns the revision of a list if it is a valid one. Routines take it as a `ULONG`; a list stores a byte.
fn list_revision(revision: u32) -> Option<u8> {
    u8::try_from(revision).ok().filter(|revision| LIST_REVISIONS.contains(revision))
}

fn add(list: GuestPtr<ACL>, revision: u32, flags: u8, mask: u32, sid: GuestPtr<SID>) -> Outcome {
    let head = list.read()?;
    if !LIST_REVISIONS.contains(&head.AclRevision) || list_revision(revision).is_none() {
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
    if descriptor.Revision().read()? != SECURITY_DESCRIPTOR_REVISION {
        return fail(NtStatus::UnknownRevision);
    }
    if descriptor.Control().read()? & SE_SELF_RELATIVE != 0 {
        return fail(NtStatus::InvalidSecurityDescr);
    }
    Ok(())
}

/// Sets a list, or none. `present` is the bit of its kind.
fn set_list(descriptor: Descriptor, present: u16, list: Option<GuestPtr<u8>>, is_default: bool) -> Outcome {
    check_absolute(descriptor)?;
    let defaulted = present << DEFAULTED_SHIFT;
    let bits = if list.is_some() { present | if is_default { defaulted } else { 0 } } else { 0 };
    descriptor.Control().change(|control| control & !(present | defaulted) | bits)?;
    if let Some(list) = list {
        let place = if present == SE_DACL_PRESENT { descriptor.Dacl() } else { descriptor.Sacl() };
        place.write(list)?;
    }
    Ok(())
}

/// Stores a SID at `place`. `defaulted` is the bit for a default.
fn set_identifier(
    descriptor: Descriptor,
    place: GuestPtr<GuestPtr<u8>>,
    sid: GuestPtr<u8>,
    defaulted: u16,
    is_default: bool,
) -> Outcome {
    check_absolute(descriptor)?;
    place.write(sid)?;
    let bit = if is_default { defaulted } else { 0 };
    descriptor.Control().change(|control| control & !defaulted | bit)?;
    Ok(())
}

/// The addresses of the parts of a descriptor in either format. Missing parts are NULL.
pub(crate) struct DescriptorParts {
    control: u16,
    owner: GuestPtr<u8>,
    group: GuestPtr<u8>,
    sacl: GuestPtr<u8>,
    dacl: GuestPtr<u8>,
}

impl DescriptorParts {
    pub(crate) fn from_descriptor(descriptor: Descriptor) -> Result<Self, Fault> {
        let control = descriptor.Control().read()?;
        if control & SE_SELF_RELATIVE == 0 {
            let SECURITY_DESCRIPTOR { Owner: owner, Group: group, Sacl: sacl, Dacl: dacl, .. } = descriptor.read()?;
            return Ok(Self { control, owner, group, sacl, dacl }.only_present());
        }
        let relative = descriptor.cast::<SECURITY_DESCRIPTOR_RELATIVE>().read()?;
        let at = |offset: u32| if offset == 0 { GuestPtr::NULL } else { descriptor.cast::<u8>().at(offset.into()) };
        let owner = at(relative.Owner);
        let group = at(relative.Group);
        let sacl = at(relative.Sacl);
        let dacl = at(relative.Dacl);
        Ok(Self { control, owner, group, sacl, dacl }.only_present())
    }

    /// Clears the addresses of lists that are not present. Such a list can still have an address.
    fn only_present(self) -> Self {
        let list = |bit: u16, list: GuestPtr<u8>| if self.control & bit == 0 { GuestPtr::NULL } else { list };
        Self { sacl: list(SE_SACL_PRESENT, self.sacl), dacl: list(SE_DACL_PRESENT, self.dacl), ..self }
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
        let head = if self.control & SE_SELF_RELATIVE == 0 {
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
        let [low, high] = (self.control | SE_SELF_RELATIVE).to_le_bytes();
        let head = [SID_REVISION, 0, low, high].into_iter();
        let offsets = [owner, group, sacl, dacl].into_iter().flat_map(u32::to_le_bytes);
        let image = head.chain(offsets).chain(parts).collect();
        Ok(image)
    }
}
