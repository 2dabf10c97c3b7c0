//! Requests: what an `IRP` and its stack locations carry.

constants! {
    "Major functions: `IO_STACK_LOCATION.MajorFunction`, wdm.h."
    u8 {
        IRP_MJ_CREATE = 0x0,
        IRP_MJ_CLOSE = 0x2,
        IRP_MJ_READ = 0x3,
        IRP_MJ_WRITE = 0x4,
        IRP_MJ_QUERY_INFORMATION = 0x5,
        IRP_MJ_SET_INFORMATION = 0x6,
        IRP_MJ_QUERY_EA = 0x7,
        IRP_MJ_SET_EA = 0x8,
        IRP_MJ_FLUSH_BUFFERS = 0x9,
        IRP_MJ_QUERY_VOLUME_INFORMATION = 0xA,
        IRP_MJ_DIRECTORY_CONTROL = 0xC,
        IRP_MJ_FILE_SYSTEM_CONTROL = 0xD,
        IRP_MJ_DEVICE_CONTROL = 0xE,
        IRP_MJ_INTERNAL_DEVICE_CONTROL = 0xF,
        IRP_MJ_SHUTDOWN = 0x10,
        IRP_MJ_CLEANUP = 0x12,
        IRP_MJ_QUERY_SECURITY = 0x14,
        IRP_MJ_SET_SECURITY = 0x15,
        IRP_MJ_POWER = 0x16,
        IRP_MJ_SYSTEM_CONTROL = 0x17,
        IRP_MJ_PNP = 0x1B,
        IRP_MJ_MAXIMUM_FUNCTION = 0x1B,
    }

    "Minor functions of `IRP_MJ_PNP`, wdm.h."
    u8 {
        IRP_MN_START_DEVICE = 0x0,
        IRP_MN_QUERY_REMOVE_DEVICE = 0x1,
        IRP_MN_REMOVE_DEVICE = 0x2,
        IRP_MN_CANCEL_REMOVE_DEVICE = 0x3,
        IRP_MN_STOP_DEVICE = 0x4,
        IRP_MN_QUERY_STOP_DEVICE = 0x5,
        IRP_MN_CANCEL_STOP_DEVICE = 0x6,
        IRP_MN_QUERY_DEVICE_RELATIONS = 0x7,
        IRP_MN_QUERY_INTERFACE = 0x8,
        IRP_MN_QUERY_CAPABILITIES = 0x9,
        IRP_MN_QUERY_RESOURCES = 0xA,
        IRP_MN_QUERY_RESOURCE_REQUIREMENTS = 0xB,
        IRP_MN_QUERY_DEVICE_TEXT = 0xC,
        IRP_MN_FILTER_RESOURCE_REQUIREMENTS = 0xD,
        IRP_MN_READ_CONFIG = 0xF,
        IRP_MN_WRITE_CONFIG = 0x10,
        IRP_MN_EJECT = 0x11,
        IRP_MN_QUERY_ID = 0x13,
        IRP_MN_QUERY_PNP_DEVICE_STATE = 0x14,
        IRP_MN_QUERY_BUS_INFORMATION = 0x15,
        IRP_MN_SURPRISE_REMOVAL = 0x17,
    }

    "Minor functions of `IRP_MJ_POWER`, wdm.h."
    u8 {
        IRP_MN_WAIT_WAKE = 0x0,
        IRP_MN_SET_POWER = 0x2,
        IRP_MN_QUERY_POWER = 0x3,
    }

    "Minor functions of `IRP_MJ_SYSTEM_CONTROL`, wdm.h."
    u8 {
        IRP_MN_QUERY_SINGLE_INSTANCE = 0x1,
        IRP_MN_CHANGE_SINGLE_INSTANCE = 0x2,
        IRP_MN_CHANGE_SINGLE_ITEM = 0x3,
        IRP_MN_ENABLE_EVENTS = 0x4,
        IRP_MN_DISABLE_EVENTS = 0x5,
        IRP_MN_ENABLE_COLLECTION = 0x6,
        IRP_MN_DISABLE_COLLECTION = 0x7,
        IRP_MN_EXECUTE_METHOD = 0x9,
        IRP_MN_REGINFO_EX = 0xB,
    }

    "Minor functions of `IRP_MJ_DIRECTORY_CONTROL`, ntifs.h."
    u8 {
        IRP_MN_QUERY_DIRECTORY = 0x1,
    }

    "Bits of `IO_STACK_LOCATION.Control`, wdm.h."
    u8 {
        SL_PENDING_RETURNED = 0x1,
        SL_INVOKE_ON_CANCEL = 0x20,
        SL_INVOKE_ON_SUCCESS = 0x40,
        SL_INVOKE_ON_ERROR = 0x80,
    }

    "Bits of `IO_STACK_LOCATION.Flags` in `IRP_MJ_DIRECTORY_CONTROL`, wdm.h."
    u8 {
        SL_RESTART_SCAN = 0x1,
        SL_RETURN_SINGLE_ENTRY = 0x2,
    }

    "Bits of `IRP.AllocationFlags`, wdm.h."
    u8 {
        IRP_ALLOCATED_FIXED_SIZE = 0x4,
    }

    "Bits of `IRP.Flags`, wdm.h."
    u32 {
        IRP_SYNCHRONOUS_API = 0x4,
        IRP_CREATE_OPERATION = 0x80,
        IRP_READ_OPERATION = 0x100,
        IRP_WRITE_OPERATION = 0x200,
        IRP_CLOSE_OPERATION = 0x400,
    }

    "Transfer types of control codes, wdm.h."
    u32 {
        METHOD_BUFFERED = 0,
        METHOD_IN_DIRECT = 1,
        METHOD_OUT_DIRECT = 2,
        METHOD_NEITHER = 3,
    }
}
