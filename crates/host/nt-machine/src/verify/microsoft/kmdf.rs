//! Microsoft's rules for KMDF drivers.

table! { Kmdf, "kmdf";
    "DDI usage" {
        BufAfterReqCompletedIntIoctl => "the model of the framework does not check it";
        BufAfterReqCompletedIntIoctlA => "the model of the framework does not check it";
        BufAfterReqCompletedIoctl => "the model of the framework does not check it";
        BufAfterReqCompletedIoctlA => "the model of the framework does not check it";
        BufAfterReqCompletedRead => "the model of the framework does not check it";
        BufAfterReqCompletedReadA => "the model of the framework does not check it";
        BufAfterReqCompletedWrite => "the model of the framework does not check it";
        BufAfterReqCompletedWriteA => "the model of the framework does not check it";
        ChildDeviceInitApi => "the model of the framework does not check it";
        ControlDeviceDeleted => "the model of the framework does not check it";
        ControlDeviceInitAllocate => "the model of the framework does not check it";
        ControlDeviceInitAPI => "the model of the framework does not check it";
        CtlDeviceFinishInitDeviceAdd => "the model of the framework does not check it";
        CtlDeviceFinishInitDrEntry => "the model of the framework does not check it";
        DeviceCreateFail => "the model of the framework does not check it";
        DeviceInitAllocate => "the model of the framework does not check it";
        DeviceInitAPI => "the model of the framework does not check it";
        DoubleDeviceInitFree => "the model of the framework does not check it";
        DriverCreate => "the model of the framework does not check it";
        InitFreeDeviceCallback => "the model of the framework does not check it";
        InitFreeDeviceCreate => "the model of the framework does not check it";
        InitFreeDeviceCreateType2 => "the model of the framework does not check it";
        InitFreeDeviceCreateType4 => "the model of the framework does not check it";
        InitFreeNull => "the model of the framework does not check it";
        InputBufferAPI => "the model of the framework does not check it";
        MdlAfterReqCompletedIntIoctl => "the model of the framework does not check it";
        MdlAfterReqCompletedIntIoctlA => "the model of the framework does not check it";
        MdlAfterReqCompletedIoctl => "the model of the framework does not check it";
        MdlAfterReqCompletedIoctlA => "the model of the framework does not check it";
        MdlAfterReqCompletedRead => "the model of the framework does not check it";
        MdlAfterReqCompletedReadA => "the model of the framework does not check it";
        MdlAfterReqCompletedWrite => "the model of the framework does not check it";
        MdlAfterReqCompletedWriteA => "the model of the framework does not check it";
        MemAfterReqCompletedIntIoctl => "the model of the framework does not check it";
        MemAfterReqCompletedIntIoctlA => "the model of the framework does not check it";
        MemAfterReqCompletedIoctl => "the model of the framework does not check it";
        MemAfterReqCompletedIoctlA => "the model of the framework does not check it";
        MemAfterReqCompletedRead => "the model of the framework does not check it";
        MemAfterReqCompletedReadA => "the model of the framework does not check it";
        MemAfterReqCompletedWrite => "the model of the framework does not check it";
        MemAfterReqCompletedWriteA => "the model of the framework does not check it";
        PdoDeviceInitAPI => "the model of the framework does not check it";
        PdoInitFreeDeviceCallback => "the model of the framework does not check it";
        PdoInitFreeDeviceCreate => "the model of the framework does not check it";
        PdoInitFreeDeviceCreateType2 => "the model of the framework does not check it";
        PdoInitFreeDeviceCreateType4 => "the model of the framework does not check it";
    }
    "IRP processing" {
        FwdIrpToIoQueueValid => "the model of the framework does not check it";
        MiniportOnlyWdmDevice => "the model of the framework does not check it";
        SetCompletionRoutineFromDispatch => "the model of the framework does not check it";
    }
    "IRQL" {
        KmdfIrql => "the model of the framework does not check it";
        KmdfIrql2 => "the model of the framework does not check it";
        UsbKmdfIrql => "the model of the framework does not check it";
        UsbKmdfIrql2 => "the model of the framework does not check it";
    }
    "locking" {
        ParentObjectCheckLock => "the model of the framework does not check it";
        ReqSendWhileSpinlock => "the model of the framework does not check it";
        Spinlock => "the model of the framework does not check it";
        SpinlockDpc => "the model of the framework does not check it";
        SpinlockRelease => "the model of the framework does not check it";
        WdfInterruptLock => "the model of the framework does not check it";
        WdfInterruptLockRelease => "the model of the framework does not check it";
        WdfSpinlock => "the model of the framework does not check it";
        WdfSpinlockRelease => "the model of the framework does not check it";
        WdfWaitlock => "the model of the framework does not check it";
        WdfWaitlockRelease => "the model of the framework does not check it";
    }
    "miscellaneous" {
        AccessHardwareKey => "the model of the framework does not check it";
        AddPdotoStaticChildlist => "the model of the framework does not check it";
        ChildListConfiguration => "the model of the framework does not check it";
        Cleanup4CtlDeviceRegistered => "the model of the framework does not check it";
        NonFDONotPowerPolicyOwnerAPI => "the model of the framework does not check it";
        NonPnPDrvPowerPolicyOwnerAPI => "the model of the framework does not check it";
        UnSafeAllocatePool => "the model of the framework does not check it";
    }
    "request processing" {
        ChangeQueueState => "the model of the framework does not check it";
        CompleteCanceledReq => "the model of the framework does not check it";
        DeferredRequestCompleted => "the model of the framework does not check it";
        DoubleCompletion => "the model of the framework does not check it";
        DoubleCompletionLocal => "the model of the framework does not check it";
        EvtIoStopCancel => "the model of the framework does not check it";
        EvtIoStopCompleteOrStopAck => "the model of the framework does not check it";
        EvtSurpriseRemoveNoSuspendQueue => "the model of the framework does not check it";
        FileObjectConfigured => "the model of the framework does not check it";
        InternalIoctlReqs => "the model of the framework does not check it";
        InvalidReqAccess => "the model of the framework does not check it";
        InvalidReqAccessLocal => "the model of the framework does not check it";
        IoctlReqs => "the model of the framework does not check it";
        MarkCancOnCancReqLocal => "the model of the framework does not check it";
        OutputBufferAPI => "the model of the framework does not check it";
        ReadReqs => "the model of the framework does not check it";
        ReqCompletionRoutine => "the model of the framework does not check it";
        ReqDelete => "the model of the framework does not check it";
        ReqIsCancOnCancReq => "the model of the framework does not check it";
        ReqMarkCancelableSend => "the model of the framework does not check it";
        RequestCompleted => "the model of the framework does not check it";
        RequestFormattedValid => "the model of the framework does not check it";
        RequestGetStatusValid => "the model of the framework does not check it";
        RequestSendAndForgetNoFormatting => "the model of the framework does not check it";
        RequestSendAndForgetNoFormatting2 => "the model of the framework does not check it";
        StopAckWithinEvtIoStop => "the model of the framework does not check it";
        WdfIoQueueFindRequestFailed => "the model of the framework does not check it";
        WdfIoQueueRetrieveFoundRequest => "the model of the framework does not check it";
        WdfIoQueueRetrieveNextRequest => "the model of the framework does not check it";
        WriteReqs => "the model of the framework does not check it";
    }
    "USB" {
        FailD0EntryIoTargetState => "the model of the framework does not check it";
        UsbContReader => "the model of the framework does not check it";
        UsbDeviceCreate => "the model of the framework does not check it";
        UsbDeviceCreateFail => "the model of the framework does not check it";
        UsbDeviceCreateTarget => "the model of the framework does not check it";
    }
    "warning" {
        DriverAttributeChanged => "the model of the framework does not check it";
        DrvAckIoStop => "the model of the framework does not check it";
        EvtIoResumeGetParam => "the model of the framework does not check it";
        EvtIoStopGetParam => "the model of the framework does not check it";
        EvtIoStopResume => "the model of the framework does not check it";
        EvtSurpriseRemoveNoRequestComplete => "the model of the framework does not check it";
        FDOPowerPolicyOwnerAPI => "the model of the framework does not check it";
        NoCancelFromEvtSurpriseRemove => "the model of the framework does not check it";
        PagedCodeAtD0 => "the model of the framework does not check it";
        ParentObjectCheck => "the model of the framework does not check it";
        ReqNotCanceledLocal => "the model of the framework does not check it";
        ReqSendFail => "the model of the framework does not check it";
        RequestCompletedLocal => "the model of the framework does not check it";
        RequestForUrbXrb => "the model of the framework does not check it";
        SyncReqSend => "the model of the framework does not check it";
        SyncReqSend2 => "the model of the framework does not check it";
    }
}
