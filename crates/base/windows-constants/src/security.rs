//! Access rights, security descriptors and tokens.

constants! {
    "Access rights, wdm.h."
    u32 {
        DELETE = 0x1_0000,
        MAXIMUM_ALLOWED = 0x200_0000,
        FILE_READ_DATA = 0x1,
        FILE_WRITE_DATA = 0x2,
        FILE_ALL_ACCESS = 0x1F_01FF,
        FILE_GENERIC_READ = 0x12_0089,
        FILE_GENERIC_WRITE = 0x12_0116,
    }

    "Revisions, wdm.h and ntifs.h."
    u8 {
        SECURITY_DESCRIPTOR_REVISION = 1,
        SID_REVISION = 1,
        ACL_REVISION = 2,
        MAX_ACL_REVISION = 4,
    }

    "The maximum number of parts of a security identifier, ntifs.h."
    u8 {
        SID_MAX_SUB_AUTHORITIES = 15,
    }

    "Bits of `SECURITY_DESCRIPTOR.Control`, ntifs.h."
    u16 {
        SE_OWNER_DEFAULTED = 0x1,
        SE_GROUP_DEFAULTED = 0x2,
        SE_DACL_PRESENT = 0x4,
        SE_SACL_PRESENT = 0x10,
        SE_SELF_RELATIVE = 0x8000,
    }

    "`TOKEN_INFORMATION_CLASS`, ntifs.h."
    i32 {
        TokenUser = 1,
    }
}
