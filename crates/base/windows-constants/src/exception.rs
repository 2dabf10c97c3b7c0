//! Exceptions and unwinding.

constants! {
    "Bits of `EXCEPTION_RECORD.ExceptionFlags`, winnt.h."
    u32 {
        EXCEPTION_NONCONTINUABLE = 0x1,
        EXCEPTION_UNWINDING = 0x2,
        EXCEPTION_TARGET_UNWIND = 0x20,
        EXCEPTION_UNWIND = 0x66,
    }

    "`EXCEPTION_DISPOSITION`, excpt.h."
    u32 {
        ExceptionContinueExecution = 0,
        ExceptionContinueSearch = 1,
    }

    "Parts of a `CONTEXT` of x64: `CONTEXT.ContextFlags`, ntddk.h."
    u32 {
        CONTEXT_CONTROL = 0x10_0001,
        CONTEXT_INTEGER = 0x10_0002,
        CONTEXT_SEGMENTS = 0x10_0004,
        CONTEXT_FLOATING_POINT = 0x10_0008,
    }

    "Bits of `UNWIND_INFO.Flags`, winnt.h."
    u8 {
        UNW_FLAG_EHANDLER = 1,
        UNW_FLAG_UHANDLER = 2,
        UNW_FLAG_CHAININFO = 4,
    }
}
