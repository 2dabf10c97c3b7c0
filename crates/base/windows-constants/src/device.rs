//! Devices and the objects of the I/O manager.

constants! {
    "Types of the I/O manager's objects, wdm.h."
    u16 {
        IO_TYPE_DEVICE = 3,
        IO_TYPE_DRIVER = 4,
        IO_TYPE_FILE = 5,
        IO_TYPE_IRP = 6,
        IO_TYPE_DEVICE_OBJECT_EXTENSION = 13,
    }

    "Types of cancel-safe queues and their contexts, wdm.h."
    u32 {
        IO_TYPE_CSQ_IRP_CONTEXT = 1,
        IO_TYPE_CSQ = 2,
        IO_TYPE_CSQ_EX = 3,
    }

    "Bits of `DEVICE_OBJECT.Flags`, wdm.h."
    u32 {
        DO_BUFFERED_IO = 0x4,
        DO_EXCLUSIVE = 0x8,
        DO_DIRECT_IO = 0x10,
        DO_DEVICE_HAS_NAME = 0x40,
        DO_DEVICE_INITIALIZING = 0x80,
        DO_POWER_PAGABLE = 0x2000,
    }

    "Device types, devioctl.h."
    u32 {
        FILE_DEVICE_DISK = 0x7,
        FILE_DEVICE_DISK_FILE_SYSTEM = 0x8,
        FILE_DEVICE_KEYBOARD = 0xB,
        FILE_DEVICE_UNKNOWN = 0x22,
    }

    "Bits of `DEVICE_OBJECT.Characteristics`, wdm.h."
    u32 {
        FILE_DEVICE_IS_MOUNTED = 0x20,
        FILE_DEVICE_SECURE_OPEN = 0x100,
    }

    "The maximum size of an entry of the error log, wdm.h."
    u64 {
        ERROR_LOG_LIMIT_SIZE = 240,
    }

    "Flags of `IoGetDeviceInterfaces`, wdm.h."
    u32 {
        DEVICE_INTERFACE_INCLUDE_NONACTIVE = 0x1,
    }

    "Access of `IoCheckShareAccess` and probes: `LOCK_OPERATION`, wdm.h."
    i32 {
        IoReadAccess = 0,
        IoWriteAccess = 1,
    }

    "`IO_PRIORITY_HINT`, wdm.h."
    i32 {
        IoPriorityNormal = 2,
    }
}
