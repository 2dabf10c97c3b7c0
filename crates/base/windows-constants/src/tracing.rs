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

    "Bits of `EVENT_HEADER.Flags`, evntcons.h: items follow the header; the data is text; `TraceMessage` wrote the event; the processor times are one time; the writer's pointers have 32 or 64 bits; an event of a class in MOF."
    u16 {
        EVENT_HEADER_FLAG_EXTENDED_INFO = 0x1,
        EVENT_HEADER_FLAG_STRING_ONLY = 0x4,
        EVENT_HEADER_FLAG_TRACE_MESSAGE = 0x8,
        EVENT_HEADER_FLAG_NO_CPUTIME = 0x10,
        EVENT_HEADER_FLAG_32_BIT_HEADER = 0x20,
        EVENT_HEADER_FLAG_64_BIT_HEADER = 0x40,
        EVENT_HEADER_FLAG_CLASSIC_HEADER = 0x100,
    }

    "What the header of a message has, a component id instead of the GUID, and the size of its writer's pointers, evntrace.h."
    u32 {
        TRACE_MESSAGE_SEQUENCE = 0x1,
        TRACE_MESSAGE_GUID = 0x2,
        TRACE_MESSAGE_COMPONENTID = 0x4,
        TRACE_MESSAGE_TIMESTAMP = 0x8,
        TRACE_MESSAGE_SYSTEMINFO = 0x20,
        TRACE_MESSAGE_POINTER32 = 0x40,
    }

    "`DECODING_SOURCE`, tdh.h."
    u32 {
        DecodingSourceWbem = 1,
    }

    "`PROPERTY_FLAGS`, tdh.h."
    u32 {
        PropertyStruct = 0x1,
        PropertyParamLength = 0x2,
        PropertyParamCount = 0x4,
        PropertyParamFixedCount = 0x20,
    }

    "`MAP_FLAGS`, tdh.h."
    u32 {
        EVENTMAP_INFO_FLAG_MANIFEST_BITMAP = 0x2,
        EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP = 0x4,
        EVENTMAP_INFO_FLAG_WBEM_BITMAP = 0x10,
    }

    "The maximum number of data blocks of an event, evntprov.h."
    usize {
        MAX_EVENT_DATA_DESCRIPTORS = 128,
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
