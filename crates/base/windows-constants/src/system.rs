//! The system's versions and information about it, and bug checks.

constants! {
    "Platforms: `OSVERSIONINFOW.dwPlatformId`, wdm.h."
    u32 {
        VER_PLATFORM_WIN32_NT = 2,
    }

    "`NT_PRODUCT_TYPE`, ntddk.h."
    u32 {
        NtProductWinNt = 1,
    }

    "`SYSTEM_INFORMATION_CLASS`, winternl.h."
    i32 {
        SystemBasicInformation = 0,
        SystemProcessInformation = 5,
        SystemModuleInformation = 11,
        SystemKernelDebuggerInformation = 35,
        SystemCodeIntegrityInformation = 103,
    }

    "`PROCESSINFOCLASS`, ntddk.h and winternl.h."
    i32 {
        ProcessBasicInformation = 0,
        ProcessWow64Information = 26,
        ProcessImageFileName = 27,
    }

    "`KBUGCHECK_BUFFER_DUMP_STATE`, wdm.h."
    u8 {
        BufferEmpty = 0,
        BufferInserted = 1,
    }
}
