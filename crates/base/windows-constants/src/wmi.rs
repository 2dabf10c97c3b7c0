//! Windows Management Instrumentation.

constants! {
    "Bits of `WMIREGGUID.Flags`, wmistr.h."
    u32 {
        WMIREG_FLAG_INSTANCE_PDO = 0x20,
    }

    "Bits of `WNODE_HEADER.Flags`, wmistr.h."
    u32 {
        WNODE_FLAG_SINGLE_INSTANCE = 0x2,
        WNODE_FLAG_SINGLE_ITEM = 0x4,
        WNODE_FLAG_TOO_SMALL = 0x20,
        WNODE_FLAG_STATIC_INSTANCE_NAMES = 0x80,
        WNODE_FLAG_METHOD_ITEM = 0x8000,
    }

    "Actions of `IoWMIRegistrationControl`, wdm.h."
    u32 {
        WMIREG_ACTION_REGISTER = 1,
        WMIREG_ACTION_DEREGISTER = 2,
        WMIREG_ACTION_REREGISTER = 3,
        WMIREG_ACTION_UPDATE_GUIDS = 4,
    }

    "What a query for registration information is for: `Parameters.WMI.DataPath`, wdm.h."
    u64 {
        WMIREGISTER = 0,
        WMIUPDATE = 1,
    }

    "`SYSCTL_IRP_DISPOSITION`, wmilib.h."
    u32 {
        IrpProcessed = 0,
        IrpNotCompleted = 1,
        IrpNotWmi = 2,
        IrpForward = 3,
    }
}
