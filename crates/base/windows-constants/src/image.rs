//! Executable images.

constants! {
    "Signatures and magic numbers of headers, ntimage.h."
    u16 {
        IMAGE_DOS_SIGNATURE = 0x5A4D,
        IMAGE_NT_OPTIONAL_HDR64_MAGIC = 0x20B,
    }

    "The signature of the NT headers, ntimage.h."
    u32 {
        IMAGE_NT_SIGNATURE = 0x4550,
    }

    "Machines, ntimage.h."
    u16 {
        IMAGE_FILE_MACHINE_AMD64 = 0x8664,
        IMAGE_FILE_MACHINE_ARM64 = 0xAA64,
    }

    "Bits of `IMAGE_FILE_HEADER.Characteristics`, ntimage.h."
    u16 {
        IMAGE_FILE_EXECUTABLE_IMAGE = 0x2,
        IMAGE_FILE_LARGE_ADDRESS_AWARE = 0x20,
    }

    "Subsystems, ntimage.h."
    u16 {
        IMAGE_SUBSYSTEM_NATIVE = 1,
    }

    "Bits of `IMAGE_OPTIONAL_HEADER64.DllCharacteristics`, ntimage.h."
    u16 {
        IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY = 0x80,
    }

    "Bits of `IMAGE_SECTION_HEADER.Characteristics`, ntimage.h."
    u32 {
        IMAGE_SCN_CNT_CODE = 0x20,
        IMAGE_SCN_CNT_INITIALIZED_DATA = 0x40,
        IMAGE_SCN_MEM_EXECUTE = 0x2000_0000,
        IMAGE_SCN_MEM_READ = 0x4000_0000,
        IMAGE_SCN_MEM_WRITE = 0x8000_0000,
    }

    "Types and revisions of signatures: `WIN_CERTIFICATE`, wintrust.h."
    u16 {
        WIN_CERT_REVISION_2_0 = 0x200,
        WIN_CERT_TYPE_PKCS_SIGNED_DATA = 0x2,
    }

    "Types of resources, winuser.h."
    u16 {
        RT_MESSAGETABLE = 11,
        RT_VERSION = 16,
    }

    "Flags of `MESSAGE_RESOURCE_ENTRY`, winnt.h: the text is UTF-16."
    u16 {
        MESSAGE_RESOURCE_UNICODE = 1,
    }

    "Types of debug data, winnt.h."
    u32 {
        IMAGE_DEBUG_TYPE_EX_DLLCHARACTERISTICS = 20,
    }

    "Bits of `KLDR_DATA_TABLE_ENTRY.Flags`."
    u32 {
        LDRP_IMAGE_INTEGRITY_FORCED = 0x20,
    }
}
