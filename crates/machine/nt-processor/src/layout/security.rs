//! Security descriptors and their parts.

use super::layout;
use super::string::UNICODE_STRING;
use crate::memory::{Fault, GuestPtr};

layout! {
    /// Followed by the subauthorities, 32 bits each.
    SID: 8 {
        Revision: u8,
        SubAuthorityCount: u8,
        IdentifierAuthority: [u8; 6],
    }

    /// Followed by the entries.
    ACL: 8 {
        AclRevision: u8,
        Sbz1: u8,
        AclSize: u16,
        AceCount: u16,
        Sbz2: u16,
    }

    /// `ACCESS_ALLOWED_ACE` up to its SID.
    ACE: 8 {
        AceType: u8,
        AceFlags: u8,
        AceSize: u16,
        Mask: u32,
    }

    SECURITY_DESCRIPTOR: 0x28 {
        Revision: u8,
        Sbz1: u8,
        Control: u16,
        Padding: u32,
        Owner: GuestPtr<u8>,
        Group: GuestPtr<u8>,
        Sacl: GuestPtr<u8>,
        Dacl: GuestPtr<u8>,
    }

    SECURITY_DESCRIPTOR_RELATIVE: 0x14 {
        Revision: u8,
        Sbz1: u8,
        Control: u16,
        Owner: u32,
        Group: u32,
        Sacl: u32,
        Dacl: u32,
    }

    /// The members after the tokens are internal to Windows.
    SECURITY_SUBJECT_CONTEXT: 0x20 {
        ClientToken: u64,
        ImpersonationLevel: u32,
        Padding: u32,
        PrimaryToken: u64,
        ProcessAuditId: u64,
    }

    IO_SECURITY_CONTEXT: 0x18 {
        SecurityQos: u64,
        AccessState: GuestPtr<ACCESS_STATE>,
        DesiredAccess: u32,
        FullCreateOptions: u32,
    }

    ACCESS_STATE: 0xA0 {
        OperationID: [u32; 2],
        SecurityEvaluated: u8,
        GenerateAudit: u8,
        GenerateOnClose: u8,
        PrivilegesAllocated: u8,
        Flags: u32,
        RemainingDesiredAccess: u32,
        PreviouslyGrantedAccess: u32,
        OriginalDesiredAccess: u32,
        Padding1: u32,
        SubjectSecurityContext: SECURITY_SUBJECT_CONTEXT,
        SecurityDescriptor: u64,
        AuxData: u64,
        Privileges: [u32; 11],
        AuditPrivileges: u8,
        Padding2: [u8; 3],
        ObjectName: UNICODE_STRING,
        ObjectTypeName: UNICODE_STRING,
    }
}

impl GuestPtr<SID> {
    /// Returns the size of a SID with this number of subauthorities, in bytes.
    pub(crate) const fn size_with(parts: u8) -> u64 {
        size_of::<SID>() as u64 + parts as u64 * 4
    }

    /// Returns the size of this SID in bytes.
    pub fn size(self) -> Result<u64, Fault> {
        Ok(Self::size_with(self.SubAuthorityCount().read()?))
    }
}
