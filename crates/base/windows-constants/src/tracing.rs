//! Event tracing, except what `etw-types` has: it is for drivers, too.

constants! {
    "Codes of `EtwActivityIdControl`, evntprov.h."
    u32 {
        EVENT_ACTIVITY_CTRL_GET_ID = 1,
        EVENT_ACTIVITY_CTRL_SET_ID = 2,
        EVENT_ACTIVITY_CTRL_CREATE_ID = 3,
        EVENT_ACTIVITY_CTRL_GET_SET_ID = 4,
        EVENT_ACTIVITY_CTRL_CREATE_SET_ID = 5,
    }

    "Flags of `EtwWriteEx`, evntprov.h."
    u32 {
        EVENT_WRITE_FLAG_INPRIVATE = 0x2,
    }

    "The maximum number of data blocks of an event, evntprov.h."
    usize {
        MAX_EVENT_DATA_DESCRIPTORS = 128,
    }

    "Flags of `TRACE_PROVIDER_INSTANCE_INFO`, evntrace.h."
    u32 {
        TRACE_PROVIDER_FLAG_LEGACY = 0x1,
        TRACE_PROVIDER_FLAG_PRE_ENABLE = 0x2,
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
