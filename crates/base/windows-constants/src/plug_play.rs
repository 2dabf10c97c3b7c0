//! The Plug and Play manager, resources of devices and buses.

constants! {
    "Flags of `AddService` in an INF, setupapi.h."
    u32 {
        SPSVCINST_ASSOCSERVICE = 0x2,
    }

    "`DEVICE_RELATION_TYPE`, wdm.h."
    u32 {
        BusRelations = 0,
        TargetDeviceRelation = 4,
    }

    "`IO_NOTIFICATION_EVENT_CATEGORY`, wdm.h."
    i32 {
        EventCategoryTargetDeviceChange = 3,
    }

    "States of a device: `PNP_DEVICE_STATE`, wdm.h."
    u64 {
        PNP_DEVICE_FAILED = 0x4,
        PNP_DEVICE_REMOVED = 0x8,
    }

    "Keys of a device, wdm.h."
    u32 {
        PLUGPLAY_REGKEY_DEVICE = 1,
        PLUGPLAY_REGKEY_DRIVER = 2,
    }

    "Types of resources: `CM_PARTIAL_RESOURCE_DESCRIPTOR.Type`, wdm.h."
    u8 {
        CmResourceTypePort = 1,
        CmResourceTypeInterrupt = 2,
        CmResourceTypeMemory = 3,
    }

    "`CM_SHARE_DISPOSITION`, wdm.h."
    u8 {
        CmResourceShareDeviceExclusive = 1,
        CmResourceShareShared = 3,
    }

    "Flags of resources, wdm.h."
    u16 {
        CM_RESOURCE_PORT_IO = 0x1,
        CM_RESOURCE_INTERRUPT_LATCHED = 0x1,
        CM_RESOURCE_INTERRUPT_MESSAGE = 0x2,
    }

    "The vector of a message-signaled interrupt before one is assigned, wdm.h."
    u32 {
        CM_RESOURCE_INTERRUPT_MESSAGE_TOKEN = 0xFFFF_FFFE,
    }

    "Versions of `IO_CONNECT_INTERRUPT_PARAMETERS`, wdm.h."
    u32 {
        CONNECT_FULLY_SPECIFIED = 1,
        CONNECT_LINE_BASED = 2,
        CONNECT_MESSAGE_BASED = 3,
        CONNECT_FULLY_SPECIFIED_GROUP = 4,
    }

    "`BUS_DATA_TYPE`, ntddk.h."
    i32 {
        PCIConfiguration = 4,
    }

    "The vendor of a slot without a device, wdm.h."
    u16 {
        PCI_INVALID_VENDORID = 0xFFFF,
    }

    "The interface of a bus that drivers call directly, wdmguid.h."
    u128 {
        GUID_BUS_INTERFACE_STANDARD = 0x496B_8280_6F25_11D0_BEAF_0800_2BE2_092F,
    }

    "Address spaces of PCI devices, wdm.h."
    u32 {
        PCI_WHICHSPACE_CONFIG = 0,
    }

    "Start types of services, wdm.h."
    u32 {
        SERVICE_SYSTEM_START = 1,
    }
}
