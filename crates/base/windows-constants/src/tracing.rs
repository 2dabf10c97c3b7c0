//! Tracing, as drivers call it in the kernel. Sessions are in `etw-types`.

constants! {
    "Codes of `EtwActivityIdControl`, evntprov.h."
    u32 {
        EVENT_ACTIVITY_CTRL_CREATE_ID = 3,
    }

    "`TRACE_INFORMATION_CLASS`, wdm.h."
    i32 {
        TraceIdClass = 0,
        TraceHandleClass = 1,
        TraceEnableFlagsClass = 2,
        TraceEnableLevelClass = 3,
        GlobalLoggerHandleClass = 4,
        AllLoggerHandlesClass = 6,
        TraceHandleByNameClass = 7,
    }
}
