//! Pool, memory descriptor lists and address spaces.

constants! {
    "Pool types and bits of pool types: `POOL_TYPE`, wdm.h."
    u32 {
        NonPagedPool = 0,
        PagedPool = 1,
        POOL_NX_ALLOCATION = 512,
    }

    "Bits that callers add to a pool type, wdm.h."
    i32 {
        POOL_QUOTA_FAIL_INSTEAD_OF_RAISE = 8,
        POOL_RAISE_IF_ALLOCATION_FAILURE = 16,
    }

    "Flags of `ExAllocatePool2`: `POOL_FLAGS`, wdm.h."
    u64 {
        POOL_FLAG_UNINITIALIZED = 0x2,
        POOL_FLAG_RAISE_ON_FAILURE = 0x20,
        POOL_FLAG_NON_PAGED = 0x40,
        POOL_FLAG_NON_PAGED_EXECUTE = 0x80,
        POOL_FLAG_PAGED = 0x100,
    }

    "Flags of `ExInitializeLookasideListEx`, wdm.h."
    u32 {
        EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL = 1,
        EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE = 2,
    }

    "Bits of `MDL.MdlFlags`, wdm.h."
    u16 {
        MDL_MAPPED_TO_SYSTEM_VA = 0x1,
        MDL_PAGES_LOCKED = 0x2,
        MDL_SOURCE_IS_NONPAGED_POOL = 0x4,
        MDL_PARTIAL = 0x10,
    }

    "Bits of the priority of a mapping, wdm.h."
    u32 {
        MdlMappingNoExecute = 0x4000_0000,
    }

    "Protections of pages, wdm.h."
    u32 {
        PAGE_EXECUTE = 0x10,
        PAGE_EXECUTE_READ = 0x20,
        PAGE_EXECUTE_READWRITE = 0x40,
        PAGE_EXECUTE_WRITECOPY = 0x80,
    }

    "Kinds of addresses of `MmCopyMemory`, ntddk.h."
    u32 {
        MM_COPY_MEMORY_PHYSICAL = 1,
        MM_COPY_MEMORY_VIRTUAL = 2,
    }

    "Access modes: `MODE`, wdm.h."
    i8 {
        UserMode = 1,
    }

    "The address of the page that the kernel shares with programs, ntddk.h."
    u64 {
        KI_USER_SHARED_DATA = 0xFFFF_F780_0000_0000,
    }
}
