//! The filter manager and its minifilters.

constants! {
    "The version of registrations, fltKernel.h."
    u16 {
        FLT_REGISTRATION_VERSION = 0x203,
    }

    "Types of contexts, and the end of a registration, fltKernel.h."
    u16 {
        FLT_VOLUME_CONTEXT = 0x1,
        FLT_INSTANCE_CONTEXT = 0x2,
        FLT_FILE_CONTEXT = 0x4,
        FLT_STREAM_CONTEXT = 0x8,
        FLT_STREAMHANDLE_CONTEXT = 0x10,
        FLT_CONTEXT_END = 0xFFFF,
    }

    "The size of contexts whose allocation says it, fltKernel.h."
    u64 {
        FLT_VARIABLE_SIZED_CONTEXTS = u64::MAX,
    }

    "Flags of a context's registration, fltKernel.h."
    u16 {
        FLTFL_CONTEXT_REGISTRATION_NO_EXACT_SIZE_MATCH = 0x1,
    }

    "`FLT_SET_CONTEXT_OPERATION`, fltKernel.h."
    i32 {
        FLT_SET_CONTEXT_KEEP_IF_EXISTS = 1,
    }

    "How often a changed name is followed, fltKernel.h."
    u32 {
        FLT_MAX_DEVICE_REPARSE_ATTEMPTS = 64,
    }

    "`FILTER_INFORMATION_CLASS`, fltUserStructures.h."
    i32 {
        FilterFullInformation = 0,
        FilterAggregateBasicInformation = 1,
        FilterAggregateStandardInformation = 2,
    }

    "`INSTANCE_INFORMATION_CLASS`, fltUserStructures.h."
    i32 {
        InstanceBasicInformation = 0,
        InstancePartialInformation = 1,
        InstanceFullInformation = 2,
    }

    "`FILTER_VOLUME_INFORMATION_CLASS`, fltUserStructures.h."
    i32 {
        FilterVolumeBasicInformation = 0,
        FilterVolumeStandardInformation = 1,
    }

    "Flags of `FILTER_AGGREGATE_STANDARD_INFORMATION`, fltUserStructures.h."
    u32 {
        FLTFL_AGGREGATE_INFO_IS_MINIFILTER = 0x1,
    }

    "Flags of setting up an instance, fltKernel.h."
    u64 {
        FLTFL_INSTANCE_SETUP_AUTOMATIC_ATTACHMENT = 0x1,
        FLTFL_INSTANCE_SETUP_MANUAL_ATTACHMENT = 0x2,
    }

    "Reasons of tearing down an instance, fltKernel.h."
    u64 {
        FLTFL_INSTANCE_TEARDOWN_MANUAL = 0x1,
        FLTFL_INSTANCE_TEARDOWN_FILTER_UNLOAD = 0x2,
        FLTFL_INSTANCE_TEARDOWN_MANDATORY_FILTER_UNLOAD = 0x4,
    }

    "`FLT_FILESYSTEM_TYPE`, fltUserStructures.h."
    i32 {
        FLT_FSTYPE_NTFS = 2,
    }

    "Flags of `FltReadFile` and `FltWriteFile`, fltKernel.h."
    u32 {
        FLTFL_IO_OPERATION_DO_NOT_UPDATE_BYTE_OFFSET = 0x4,
    }

    "`FLT_PREOP_CALLBACK_STATUS`, fltKernel.h."
    i32 {
        FLT_PREOP_SUCCESS_WITH_CALLBACK = 0,
        FLT_PREOP_SUCCESS_NO_CALLBACK = 1,
        FLT_PREOP_PENDING = 2,
        FLT_PREOP_DISALLOW_FASTIO = 3,
        FLT_PREOP_COMPLETE = 4,
        FLT_PREOP_SYNCHRONIZE = 5,
        FLT_PREOP_DISALLOW_FSFILTER_IO = 6,
    }

    "`FLT_POSTOP_CALLBACK_STATUS`, fltKernel.h."
    i32 {
        FLT_POSTOP_FINISHED_PROCESSING = 0,
        FLT_POSTOP_MORE_PROCESSING_REQUIRED = 1,
    }

    "The last entry of the operations of a registration, fltKernel.h."
    u8 {
        IRP_MJ_OPERATION_END = 0x80,
    }

    "Formats, query methods and flags of `FLT_FILE_NAME_OPTIONS`, fltKernel.h."
    u32 {
        FLT_FILE_NAME_NORMALIZED = 0x1,
        FLT_FILE_NAME_OPENED = 0x2,
        FLT_FILE_NAME_SHORT = 0x3,
        FLT_FILE_NAME_QUERY_DEFAULT = 0x100,
        FLT_FILE_NAME_QUERY_CACHE_ONLY = 0x200,
        FLT_FILE_NAME_QUERY_FILESYSTEM_ONLY = 0x300,
        FLT_FILE_NAME_QUERY_ALWAYS_ALLOW_CACHE_LOOKUP = 0x400,
        FLT_FILE_NAME_DO_NOT_CACHE = 0x200_0000,
    }

    "Bits of `FLT_FILE_NAME_INFORMATION.NamesParsed`, fltKernel.h."
    u16 {
        FLTFL_FILE_NAME_PARSED_FINAL_COMPONENT = 0x1,
        FLTFL_FILE_NAME_PARSED_EXTENSION = 0x2,
        FLTFL_FILE_NAME_PARSED_STREAM = 0x4,
        FLTFL_FILE_NAME_PARSED_PARENT_DIR = 0x8,
    }

    "Bits of `FLT_CALLBACK_DATA.Flags`, fltKernel.h."
    u32 {
        FLTFL_CALLBACK_DATA_IRP_OPERATION = 0x1,
        FLTFL_CALLBACK_DATA_SYSTEM_BUFFER = 0x8,
        FLTFL_CALLBACK_DATA_GENERATED_IO = 0x1_0000,
        FLTFL_CALLBACK_DATA_DRAINING_IO = 0x4_0000,
        FLTFL_CALLBACK_DATA_POST_OPERATION = 0x8_0000,
        FLTFL_CALLBACK_DATA_DIRTY = 0x8000_0000,
    }

    "Flags of a post-operation callback, fltKernel.h."
    u64 {
        FLTFL_POST_OPERATION_DRAINING = 0x1,
    }

    "Flags of unloading a minifilter, fltKernel.h."
    u64 {
        FLTFL_FILTER_UNLOAD_MANDATORY = 0x1,
    }
}
