//! Objects, handles and what threads wait for.

constants! {
    "Bits of `OBJECT_ATTRIBUTES.Attributes`, ntdef.h."
    u32 {
        OBJ_PERMANENT = 0x10,
        OBJ_OPENIF = 0x80,
        OBJ_KERNEL_HANDLE = 0x200,
    }

    "Options of `ZwDuplicateObject`, ntifs.h."
    u32 {
        DUPLICATE_CLOSE_SOURCE = 0x1,
    }

    "`OBJECT_INFORMATION_CLASS`, ntifs.h."
    i32 {
        ObjectBasicInformation = 0,
        ObjectNameInformation = 1,
        ObjectTypeInformation = 2,
    }

    "The version of registrations of `ObRegisterCallbacks`, wdm.h."
    u16 {
        OB_FLT_REGISTRATION_VERSION = 0x100,
    }

    "`EVENT_TYPE`, ntdef.h."
    u8 {
        NotificationEvent = 0,
        SynchronizationEvent = 1,
    }

    "Types of objects that begin with a `DISPATCHER_HEADER`: `KOBJECTS` of the kernel's public symbols, as it is since Windows 8.1."
    u8 {
        EventSynchronizationObject = 1,
        MutantObject = 2,
        ProcessObject = 3,
        QueueObject = 4,
        SemaphoreObject = 5,
        ThreadObject = 6,
        TimerNotificationObject = 8,
        TimerSynchronizationObject = 9,
        DpcObject = 19,
        ThreadedDpcObject = 26,
    }

    "The type of a device queue: `KOBJECTS` of the kernel's public symbols."
    u16 {
        DeviceQueueObject = 20,
    }

    "`WAIT_TYPE`, ntdef.h."
    i32 {
        WaitAll = 0,
    }

    "The maximum number of objects of a wait, wdm.h."
    u32 {
        MAXIMUM_WAIT_OBJECTS = 64,
    }

    "`KDPC_IMPORTANCE`, wdm.h."
    u8 {
        MediumImportance = 1,
    }
}
