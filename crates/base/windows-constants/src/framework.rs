//! The Kernel-Mode Driver Framework.

constants! {
    "`WDF_TRI_STATE`, wdftypes.h."
    u32 {
        WdfFalse = 0,
        WdfTrue = 1,
        WdfUseDefault = 2,
    }

    "`WDF_DRIVER_INIT_FLAGS`, wdfdriver.h."
    u32 {
        WdfDriverInitNonPnpDriver = 0x1,
        WdfDriverInitNoDispatchOverride = 0x2,
        WdfDriverInitCompanion = 0x10,
    }

    "`WDF_DEVICE_IO_TYPE`, wdfdevice.h."
    i32 {
        WdfDeviceIoDirect = 3,
    }

    "`WDF_RETRIEVE_CHILD_FLAGS`, wdfchildlist.h."
    u32 {
        WdfRetrievePresentChildren = 1,
        WdfRetrieveMissingChildren = 2,
        WdfRetrievePendingChildren = 4,
    }

    "`WDF_CHILD_LIST_RETRIEVE_DEVICE_STATUS`, wdfchildlist.h."
    u32 {
        WdfChildListRetrieveDeviceSuccess = 1,
        WdfChildListRetrieveDeviceNotYetCreated = 2,
        WdfChildListRetrieveDeviceNoSuchDevice = 3,
    }

    "`WDF_POWER_POLICY_S0_IDLE_CAPABILITIES`, wdfdevice.h."
    u32 {
        IdleCannotWakeFromS0 = 1,
        IdleUsbSelectiveSuspend = 3,
    }

    "`WDF_POWER_POLICY_IDLE_TIMEOUT_TYPE`, wdfdevice.h."
    u32 {
        SystemManagedIdleTimeoutWithHint = 2,
    }

    "`WDF_POWER_DEVICE_STATE`, wdfdevice.h."
    u32 {
        WdfPowerDeviceD3 = 4,
        WdfPowerDeviceD3Final = 5,
    }

    "`WDF_IO_QUEUE_DISPATCH_TYPE`, wdfio.h."
    u32 {
        WdfIoQueueDispatchSequential = 1,
        WdfIoQueueDispatchParallel = 2,
        WdfIoQueueDispatchManual = 3,
    }

    "`WDF_REQUEST_STOP_ACTION_FLAGS`, wdfio.h."
    u64 {
        WdfRequestStopActionSuspend = 0x1,
        WdfRequestStopActionPurge = 0x2,
        WdfRequestStopRequestCancelable = 0x1000_0000,
    }

    "The index after the last descriptor of a list, wdfresource.h."
    u32 {
        WDF_INSERT_AT_END = u32::MAX,
    }

    "Flags of `WDF_REQUEST_REUSE_PARAMS`, wdfrequest.h."
    u32 {
        WDF_REQUEST_REUSE_SET_NEW_IRP = 0x1,
    }

    "Flags of `WDF_REQUEST_SEND_OPTIONS`, wdfrequest.h."
    u32 {
        WDF_REQUEST_SEND_OPTION_TIMEOUT = 0x1,
        WDF_REQUEST_SEND_OPTION_SYNCHRONOUS = 0x2,
        WDF_REQUEST_SEND_OPTION_IGNORE_TARGET_STATE = 0x4,
        WDF_REQUEST_SEND_OPTION_SEND_AND_FORGET = 0x8,
    }

    "`WDF_IO_TARGET_OPEN_TYPE`, wdfiotarget.h."
    u32 {
        WdfIoTargetOpenUseExistingDevice = 1,
        WdfIoTargetOpenByName = 2,
        WdfIoTargetOpenReopen = 3,
        WdfIoTargetOpenLocalTargetByFile = 4,
    }

    "`WDF_IO_TARGET_SENT_IO_ACTION`, wdfiotarget.h."
    i32 {
        WdfIoTargetCancelSentIo = 1,
        WdfIoTargetWaitForSentIoToComplete = 2,
        WdfIoTargetLeaveSentIoPending = 3,
    }

    "`WDF_IO_TARGET_PURGE_IO_ACTION`, wdfiotarget.h."
    i32 {
        WdfIoTargetPurgeIoAndWait = 1,
    }

    "`WDF_WMI_PROVIDER_CONTROL`, wdfwmi.h."
    i32 {
        WdfWmiEventControl = 1,
        WdfWmiInstanceControl = 2,
    }

    "`WDF_WMI_PROVIDER_FLAGS`, wdfwmi.h."
    u32 {
        WdfWmiProviderEventOnly = 0x1,
        WdfWmiProviderExpensive = 0x2,
        WdfWmiProviderTracing = 0x4,
    }
}
