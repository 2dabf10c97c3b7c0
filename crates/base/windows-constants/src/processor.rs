//! Interrupt request levels and processors.

constants! {
    "Interrupt request levels of x64 processors, wdm.h."
    u8 {
        PASSIVE_LEVEL = 0,
        APC_LEVEL = 1,
        DISPATCH_LEVEL = 2,
        IPI_LEVEL = 14,
        HIGH_LEVEL = 15,
    }

    "All processor groups, as a parameter, ntdef.h."
    u16 {
        ALL_PROCESSOR_GROUPS = 0xFFFF,
    }

    "`KUSER_SHARED_DATA.NativeProcessorArchitecture`, ntdef.h."
    u16 {
        PROCESSOR_ARCHITECTURE_AMD64 = 9,
    }

    "Features of processors: indices of `KUSER_SHARED_DATA.ProcessorFeatures`, ntddk.h."
    u8 {
        PF_COMPARE_EXCHANGE_DOUBLE = 2,
        PF_MMX_INSTRUCTIONS_AVAILABLE = 3,
        PF_XMMI_INSTRUCTIONS_AVAILABLE = 6,
        PF_RDTSC_INSTRUCTION_AVAILABLE = 8,
        PF_PAE_ENABLED = 9,
        PF_XMMI64_INSTRUCTIONS_AVAILABLE = 10,
        PF_NX_ENABLED = 12,
        PF_SSE3_INSTRUCTIONS_AVAILABLE = 13,
        PF_COMPARE_EXCHANGE128 = 14,
    }
}
