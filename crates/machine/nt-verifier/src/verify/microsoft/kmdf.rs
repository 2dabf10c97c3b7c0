//! Microsoft's rules for KMDF drivers.

table! { Kmdf, "kmdf";
    "DDI usage" {
        BufAfterReqCompletedIntIoctl: FrameworkMisuse;
        BufAfterReqCompletedIntIoctlA: UseAfterFree;
        BufAfterReqCompletedIoctl: FrameworkMisuse;
        BufAfterReqCompletedIoctlA: UseAfterFree;
        BufAfterReqCompletedRead: FrameworkMisuse;
        BufAfterReqCompletedReadA: UseAfterFree;
        BufAfterReqCompletedWrite: FrameworkMisuse;
        BufAfterReqCompletedWriteA: UseAfterFree;
        ChildDeviceInitApi: FrameworkMisuse;
        ControlDeviceDeleted: ObjectLeak;
        ControlDeviceInitAllocate: FrameworkMisuse;
        ControlDeviceInitAPI: FrameworkMisuse;
        CtlDeviceFinishInitDeviceAdd: FrameworkMisuse;
        CtlDeviceFinishInitDrEntry: FrameworkMisuse;
        DeviceCreateFail: FrameworkMisuse;
        DeviceInitAllocate: FrameworkMisuse;
        DeviceInitAPI: FrameworkMisuse;
        DoubleDeviceInitFree: FrameworkMisuse;
        DriverCreate: FrameworkMisuse;
        InitFreeDeviceCallback: ObjectLeak;
        InitFreeDeviceCreate: FrameworkMisuse;
        InitFreeDeviceCreateType2: FrameworkMisuse;
        InitFreeDeviceCreateType4: ObjectLeak;
        InitFreeNull: FrameworkMisuse;
        InputBufferAPI: RequestMisuse;
        MdlAfterReqCompletedIntIoctl: FrameworkMisuse;
        MdlAfterReqCompletedIntIoctlA: UseAfterFree;
        MdlAfterReqCompletedIoctl: FrameworkMisuse;
        MdlAfterReqCompletedIoctlA: UseAfterFree;
        MdlAfterReqCompletedRead: FrameworkMisuse;
        MdlAfterReqCompletedReadA: UseAfterFree;
        MdlAfterReqCompletedWrite: FrameworkMisuse;
        MdlAfterReqCompletedWriteA: UseAfterFree;
        MemAfterReqCompletedIntIoctl: FrameworkMisuse;
        MemAfterReqCompletedIntIoctlA: FrameworkMisuse;
        MemAfterReqCompletedIoctl: FrameworkMisuse;
        MemAfterReqCompletedIoctlA: FrameworkMisuse;
        MemAfterReqCompletedRead: FrameworkMisuse;
        MemAfterReqCompletedReadA: FrameworkMisuse;
        MemAfterReqCompletedWrite: FrameworkMisuse;
        MemAfterReqCompletedWriteA: FrameworkMisuse;
        PdoDeviceInitAPI: FrameworkMisuse;
        PdoInitFreeDeviceCallback: ObjectLeak;
        PdoInitFreeDeviceCreate: FrameworkMisuse;
        PdoInitFreeDeviceCreateType2: FrameworkMisuse;
        PdoInitFreeDeviceCreateType4: ObjectLeak;
    }
    "IRP processing" {
        FwdIrpToIoQueueValid: RequestMisuse;
        MiniportOnlyWdmDevice: FrameworkMisuse;
        SetCompletionRoutineFromDispatch: RequestMisuse;
    }
    "IRQL" {
        KmdfIrql: IrqlTooHigh;
        KmdfIrql2: IrqlTooHigh;
        UsbKmdfIrql => "USB targets are not modelled: a call of their functions ends the run";
        UsbKmdfIrql2 => "USB targets are not modelled: a call of their functions ends the run";
    }
    "locking" {
        ParentObjectCheckLock: ObjectLeak;
        ReqSendWhileSpinlock: LockMisuse;
        Spinlock: LockMisuse LockLeak;
        SpinlockDpc: LockMisuse LockLeak;
        SpinlockRelease: LockMisuse LockLeak;
        WdfInterruptLock: LockMisuse LockLeak;
        WdfInterruptLockRelease: LockMisuse LockLeak;
        WdfSpinlock: LockMisuse LockLeak;
        WdfSpinlockRelease: LockMisuse LockLeak;
        WdfWaitlock: LockMisuse LockLeak;
        WdfWaitlockRelease: LockMisuse LockLeak;
    }
    "miscellaneous" {
        AccessHardwareKey: FrameworkMisuse;
        AddPdotoStaticChildlist: FrameworkMisuse;
        ChildListConfiguration: FrameworkMisuse;
        Cleanup4CtlDeviceRegistered: ObjectLeak;
        NonFDONotPowerPolicyOwnerAPI: FrameworkMisuse;
        NonPnPDrvPowerPolicyOwnerAPI: FrameworkMisuse;
        UnSafeAllocatePool => "advice: the routines are deprecated, and work";
    }
    "request processing" {
        ChangeQueueState: FrameworkMisuse;
        CompleteCanceledReq: RequestTwice;
        DeferredRequestCompleted: RequestNever;
        DoubleCompletion: RequestTwice;
        DoubleCompletionLocal: RequestTwice;
        EvtIoStopCancel: RequestNever;
        EvtIoStopCompleteOrStopAck: RequestNever;
        EvtSurpriseRemoveNoSuspendQueue: FrameworkMisuse;
        FileObjectConfigured: FrameworkMisuse;
        InternalIoctlReqs: RequestMisuse;
        InvalidReqAccess: FrameworkMisuse RequestMisuse;
        InvalidReqAccessLocal: FrameworkMisuse;
        IoctlReqs: RequestMisuse;
        MarkCancOnCancReqLocal: RequestMisuse;
        OutputBufferAPI: RequestMisuse;
        ReadReqs: RequestMisuse;
        ReqCompletionRoutine: RequestMisuse;
        ReqDelete: RequestMisuse;
        ReqIsCancOnCancReq: RequestMisuse;
        ReqMarkCancelableSend: RequestMisuse;
        RequestCompleted: RequestNever;
        RequestFormattedValid: RequestMisuse;
        RequestGetStatusValid: RequestMisuse;
        RequestSendAndForgetNoFormatting: RequestMisuse;
        RequestSendAndForgetNoFormatting2: RequestMisuse;
        StopAckWithinEvtIoStop: RequestMisuse;
        WdfIoQueueFindRequestFailed: FrameworkMisuse;
        WdfIoQueueRetrieveFoundRequest: RequestMisuse;
        WdfIoQueueRetrieveNextRequest: RequestMisuse;
        WriteReqs: RequestMisuse;
    }
    "USB" {
        FailD0EntryIoTargetState => "USB targets are not modelled: a call of their functions ends the run";
        UsbContReader => "USB targets are not modelled: a call of their functions ends the run";
        UsbDeviceCreate => "USB targets are not modelled: a call of their functions ends the run";
        UsbDeviceCreateFail => "USB targets are not modelled: a call of their functions ends the run";
        UsbDeviceCreateTarget => "USB targets are not modelled: a call of their functions ends the run";
    }
    "warning" {
        DriverAttributeChanged => "advice: Microsoft's framework accepts an execution level and a scope for the driver object";
        DrvAckIoStop: RequestNever;
        EvtIoResumeGetParam: RequestMisuse;
        EvtIoStopGetParam: RequestMisuse;
        EvtIoStopResume: RequestMisuse;
        EvtSurpriseRemoveNoRequestComplete: RequestMisuse;
        FDOPowerPolicyOwnerAPI: FrameworkMisuse;
        NoCancelFromEvtSurpriseRemove: RequestMisuse;
        PagedCodeAtD0 => "advice: paged code in the power-up path is slow, not wrong; Microsoft's samples have it";
        ParentObjectCheck: ObjectLeak;
        ReqNotCanceledLocal: RequestMisuse;
        ReqSendFail: RequestNever;
        RequestCompletedLocal: RequestNever;
        RequestForUrbXrb => "USB targets are not modelled: a call of their functions ends the run";
        SyncReqSend => "advice: a request without a timeout is correct if the device below completes it";
        SyncReqSend2 => "advice: a request without a timeout is correct if the device below completes it";
    }
}
