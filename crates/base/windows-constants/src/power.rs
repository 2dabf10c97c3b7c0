//! States and actions of power management.

constants! {
    "`DEVICE_POWER_STATE`, wdm.h."
    u32 {
        PowerDeviceUnspecified = 0,
        PowerDeviceD0 = 1,
        PowerDeviceD1 = 2,
        PowerDeviceD3 = 4,
        PowerDeviceMaximum = 5,
    }

    "`SYSTEM_POWER_STATE`, wdm.h."
    u32 {
        PowerSystemWorking = 1,
        PowerSystemSleeping3 = 4,
    }

    "`POWER_STATE_TYPE`, wdm.h."
    u64 {
        DevicePowerState = 1,
    }

    "`POWER_ACTION`, wdm.h."
    i32 {
        PowerActionNone = 0,
    }

    "Flags of `PoFxActivateComponent` and `PoFxIdleComponent`, wdm.h."
    u32 {
        PO_FX_FLAG_BLOCKING = 0x1,
    }
}
