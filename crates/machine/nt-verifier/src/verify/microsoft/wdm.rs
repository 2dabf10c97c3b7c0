//! Microsoft's rules for WDM drivers.

table! { Wdm, "wdm";
    "DDI usage" {
        DebugBreakUsage: BugCheck, "DbgBreakPoint DbgBreakPointWithStatus";
        DoubleFetch => "reads of user memory are not recorded";
        ObsoleteDDIs => "the routine is not modelled, so a call ends the run";
        SafeStrings => "about the source: a call with a buffer of the right size is not a mistake of the run";
    }
    "IRP pending" {
        MarkDevicePower: RequestMisuse;
        MarkingInterlockedQueuedIrps: RequestMisuse;
        MarkingQueuedIrps: RequestMisuse;
        MarkIrpPending: RequestMisuse;
        MarkIrpPending2: RequestMisuse;
        MarkPower: RequestMisuse;
        MarkPowerDown: RequestMisuse;
        MarkQueryRelations: RequestMisuse;
        MarkStartDevice: RequestMisuse;
        PendedCompletedRequest: RequestMisuse;
        PendedCompletedRequest2: RequestMisuse;
        PendedCompletedRequest3: RequestMisuse;
        PendedCompletedRequestEx: RequestMisuse;
        StartDeviceWait => "a driver may forward the request, wait, and then start the device; Microsoft's samples do";
        StartDeviceWait2 => "a driver may forward the request, wait, and then start the device; Microsoft's samples do";
        StartDeviceWait3 => "a driver may forward the request, wait, and then start the device; Microsoft's samples do";
        StartDeviceWait4 => "a driver may forward the request, wait, and then start the device; Microsoft's samples do";
    }
    "IRP processing" {
        CompleteRequest: RequestMisuse RequestNever;
        CompleteRequestStatusCheck: RequestMisuse;
        CompletionRoutineRegistered: RequestMisuse;
        DoubleCompletion: RequestTwice;
        IoReuseIrp: RequestMisuse;
        IoReuseIrp2: RequestMisuse;
        IoSetCompletionExCompleteIrp [run_time]: RequestMisuse;
        IoSetCompletionRoutineExCheck: RequestMisuse;
        IoSetCompletionRoutineExCheckDeviceObject: RequestMisuse;
        IoSetCompletionRoutineNonPnpDriver => "a driver that waits for the request before it unloads may use either routine";
        IrpCancelField => "a read of Irp->Cancel leaves no trace";
        IrpProcessingComplete: RequestNever;
        LowerDriverReturn: RequestMisuse;
        PnpIrpCompletion: RequestMisuse;
        PnpRemove [run_time]: RequestMisuse;
        PnpSurpriseRemove: RequestMisuse;
        PowerDownAllocate => "the allocation works; Windows only advises against it";
        PowerDownFail: RequestMisuse;
        PowerIrpDDIs: RequestMisuse;
        PowerUpFail: RequestMisuse;
        SignalEventInCompletion: Hang;
        SignalEventInCompletion2: Hang;
        SignalEventInCompletion3: Hang;
        StartIoCancel => "the order of two settings that are not used in between";
        StartIoRecursion: RequestMisuse;
        WmiComplete: RequestNever;
        WmiForward: RequestNever;
    }
    "IRP tracking" {
        IoReleaseRemoveLockAndWaitOutsideRemoveDevice: LockMisuse;
        NsRemoveLockMnRemove: RequestMisuse;
        NsRemoveLockMnSurpriseRemove: RequestMisuse;
        NsRemoveLockQueryMnRemove: RequestMisuse;
        RemoveLock: LockLeak;
        RemoveLockCheck: LockMisuse;
        RemoveLockForward: LockMisuse;
        RemoveLockForward2: LockMisuse;
        RemoveLockForwardDeviceControl: LockMisuse;
        RemoveLockForwardDeviceControl2: LockMisuse;
        RemoveLockForwardDeviceControlInternal: LockMisuse;
        RemoveLockForwardDeviceControlInternal2: LockMisuse;
        RemoveLockForwardRead: LockMisuse;
        RemoveLockForwardRead2: LockMisuse;
        RemoveLockForwardWrite: LockMisuse;
        RemoveLockForwardWrite2: LockMisuse;
        RemoveLockMnRemove: LockMisuse;
        RemoveLockMnRemove2: LockMisuse;
        RemoveLockMnSurpriseRemove: LockMisuse;
        RemoveLockQueryMnRemove: LockMisuse;
        RemoveLockRelease2: LockLeak LockMisuse;
        RemoveLockReleaseCleanup: LockLeak;
        RemoveLockReleaseClose: LockLeak;
        RemoveLockReleaseCreate: LockLeak;
        RemoveLockReleaseDeviceControl: LockLeak;
        RemoveLockReleaseInternalDeviceControl: LockLeak;
        RemoveLockReleasePnp: LockLeak;
        RemoveLockReleasePower: LockLeak;
        RemoveLockReleaseRead: LockLeak;
        RemoveLockReleaseShutdown: LockLeak;
        RemoveLockReleaseSystemControl: LockLeak;
        RemoveLockReleaseWrite: LockLeak;
    }
    "IRQL" {
        ForwardedAtBadIrql: IrqlTooHigh;
        ForwardedAtBadIrqlAllocate: IrqlTooHigh;
        ForwardedAtBadIrqlFsdAsync: IrqlTooHigh;
        ForwardedAtBadIrqlFsdSync: IrqlTooHigh;
        IrqlApcLte [run_time]: IrqlTooHigh, "ObGetObjectSecurity ObReleaseObjectSecurity";
        IrqlDispatch [run_time]: IrqlTooLow, "
            IoAllocateAdapterChannel IoAllocateController IoFreeController IoStartNextPacket
            KeAcquireSpinLockAtDpcLevel KeInsertByKeyDeviceQueue KeInsertDeviceQueue
            KeReleaseSpinLockFromDpcLevel KeRemoveByKeyDeviceQueue KeRemoveDeviceQueue
        ";
        IrqlExAllocatePool [run_time]: IrqlTooHigh, "ExAllocatePoolWithTag ExAllocatePoolWithTagPriority";
        IrqlExApcLte1 [run_time]: IrqlTooHigh, "ExAcquireFastMutex ExTryToAcquireFastMutex";
        IrqlExApcLte2 [run_time]: IrqlTooHigh, "
            CmRegisterCallback CmUnRegisterCallback ExAllocateFromPagedLookasideList ExAllocatePoolWithQuota
            ExAllocatePoolWithQuotaTag ExDeletePagedLookasideList ExFreeToPagedLookasideList
            ExInitializePagedLookasideList ExRegisterCallback ExSetTimerResolution ExUnregisterCallback
            ProbeForRead ProbeForWrite CmRegisterCallbackEx
        ";
        IrqlExApcLte3 [run_time]: IrqlTooHigh, "
            ExAcquireResourceExclusiveLite ExAcquireResourceSharedLite ExAcquireSharedStarveExclusive
            ExAcquireSharedWaitForExclusive ExConvertExclusiveToSharedLite ExDeleteResourceLite
        ";
        IrqlExApcLteInline => "the page names no routine";
        IrqlExFree1: IrqlTooHigh;
        IrqlExFree2: IrqlTooHigh;
        IrqlExFree3: IrqlTooHigh;
        IrqlExPassive [run_time]: IrqlTooHigh, "
            ExCreateCallback ExIsProcessorFeaturePresent ExRaiseAccessViolation ExRaiseDatatypeMisalignment
            ExRaiseStatus ExUuidCreate
        ";
        IrqlIoApcLte: IrqlTooHigh, "IoDeleteDevice IoGetInitialStack IoRaiseHardError IoRaiseInformationalHardError";
        IrqlIoDispatch => "the routines are not modelled";
        IrqlIoPassive1 [run_time]: IrqlTooHigh, "
            IoAttachDevice IoCreateDevice IoSetDeviceInterfaceState IoBuildDeviceIoControlRequest
        ";
        IrqlIoPassive2 [run_time]: IrqlTooHigh, "IoCheckShareAccess IoConnectInterrupt IoCreateController";
        IrqlIoPassive3 [run_time]: IrqlTooHigh, "
            IoDetachDevice IoAssignArcName IoRegisterDeviceInterface IoCreateSymbolicLink
        ";
        IrqlIoPassive4 [run_time]: IrqlTooHigh, "
            IoCreateFile IoCreateNotificationEvent IoCreateSymbolicLink IoCreateSynchronizationEvent
            IoCreateUnprotectedSymbolicLink IoDeassignArcName IoDeleteController IoDeleteSymbolicLink
            IoDisconnectInterrupt
        ";
        IrqlIoPassive5 [run_time]: IrqlTooHigh, "
            IoGetConfigurationInformation IoGetDeviceObjectPointer IoGetDmaAdapter IoGetFileObjectGenericMapping
            IoInitializeTimer IoIsWdmVersionAvailable IoRegisterDriverReinitialization
            IoRegisterShutdownNotification IoRemoveShareAccess IoSetShareAccess IoUnregisterShutdownNotification
            IoUpdateShareAccess IoWMIAllocateInstanceIds IoWMIRegistrationControl
        ";
        IrqlIoRtlZwPassive [run_time]: IrqlTooHigh, "
            IoCreateFileEx IoCreateFileSpecifyDeviceObjectHint IoGetDeviceDirectory IoGetDriverDirectory
            IoOpenDeviceInterfaceRegistryKey IoOpenDeviceRegistryKey RtlCreateRegistryKey
            RtlCreateSystemVolumeInformationFolder RtlWriteRegistryValue ZwCreateDirectoryObject ZwCreateFile
            ZwCreateKeyTransacted ZwDeleteFile ZwDeleteValueKey ZwFlushBuffersFileEx ZwFlushBuffersFile
            ZwRenameKey ZwSetEaFile ZwSetInformationFile ZwSetInformationKey
        ";
        IrqlKeApcLte1 [run_time]: IrqlTooHigh, "
            KeAcquireGuardedMutex KeAcquireGuardedMutexUnsafe KeDelayExecutionThread KeQueryActiveProcessors
            KeReleaseGuardedMutex KeReleaseGuardedMutexUnsafe KeTryToAcquireGuardedMutex
        ";
        IrqlKeApcLte2 [run_time]: IrqlTooHigh, "
            KeAreAllApcsDisabled KeAreApcsDisabled KeDeregisterNmiCallback KeEnterCriticalRegion
            KeEnterGuardedRegion KeLeaveCriticalRegion KeLeaveGuardedRegion KeRegisterNmiCallback
        ";
        IrqlKeDispatchLte [run_time]: IrqlTooHigh, "
            KeAcquireSpinLockRaiseToDpc KeCancelTimer KeClearEvent KeFlushIoBuffers KeInitializeDeviceQueue
            KeInitializeTimer KeInitializeTimerEx KePulseEvent KeRaiseIrqlToDpcLevel KeReadStateEvent
            KeReadStateTimer KeReleaseMutex KeRemoveEntryDeviceQueue KeResetEvent KeSaveFloatingPointState
            KeSetTimer KeSetTimerEx KeInitializeSemaphore
        ";
        IrqlKeRaiseLower: IrqlTooLow, "KeLowerIrql KeRaiseIrql KfRaiseIrql KfLowerIrql";
        IrqlKeRaiseLower2: IrqlTooLow;
        IrqlKeReleaseSpinLock [run_time]: IrqlTooHigh IrqlTooLow LockMisuse, "KeReleaseSpinLock";
        IrqlKeSetEvent [run_time]: IrqlTooHigh, "KeSetEvent";
        IrqlKeWaitForMultipleObjects: IrqlTooHigh, "KeWaitForMultipleObjects";
        IrqlKeWaitForMutexObject: IrqlTooHigh, "KeWaitForSingleObject KeWaitForMutexObject";
        IrqlMmApcLte [run_time]: IrqlTooHigh, "
            MmAllocateNonCachedMemory MmFreeNonCachedMemory MmAllocatePagesForMdl MmFreePagesFromMdl
            MmLockPagableDataSection MmLockPagableSectionByHandle MmPageEntireDriver MmResetDriverPaging
            MmSecureVirtualMemory MmUnlockPagableImageSection MmUnsecureVirtualMemory MmAllocatePagesForMdlEx
        ";
        IrqlMmDispatch: IrqlTooHigh, "MmFreeContiguousMemory";
        IrqlNtifsApcPassive [run_time]: IrqlTooHigh, "
            NtSetInformationFile NtWriteFile NtCreateFile ZwWriteFile CcCopyWrite CcCopyWriteEx CcDeferWrite
            CcFastCopyWrite
        ";
        IrqlObPassive [run_time]: IrqlTooHigh, "ObReferenceObjectByHandle";
        IrqlPsPassive [run_time]: IrqlTooHigh, "
            PsCreateSystemThread PsGetVersion PsSetCreateProcessNotifyRoutine PsSetCreateThreadNotifyRoutine
            PsSetLoadImageNotifyRoutine PsTerminateSystemThread
        ";
        IrqlReturn: IrqlChanged;
        IrqlRtlPassive [run_time]: IrqlTooHigh, "RtlDeleteRegistryValue";
        IrqlZwPassive [run_time]: IrqlTooHigh, "
            ZwClose ZwCreateKey ZwDeleteKey ZwEnumerateKey ZwEnumerateValueKey ZwFlushKey ZwOpenKey ZwQueryKey
            ZwQueryValueKey ZwSetValueKey
        ";
    }
    "local IRP processing" {
        IoAllocateComplete: RequestMisuse;
        IoAllocateForward: RequestMisuse;
        IoAllocateFree: RequestMisuse;
        IoAllocateIrpSignalEventInCompletion: Hang;
        IoAllocateIrpSignalEventInCompletion2: Hang;
        IoAllocateIrpSignalEventInCompletion3: Hang;
        IoAllocateIrpSignalEventInCompletionTimeout: Hang;
        IoBuildDeviceControlNoFree: RequestMisuse;
        IoBuildDeviceControlWait: RequestMisuse;
        IoBuildDeviceControlWaitTimeout: Hang;
        IoBuildDeviceIoControlSetEvent: RequestMisuse;
        IoBuildFsdComplete: RequestMisuse;
        IoBuildFsdForward: RequestMisuse;
        IoBuildFsdFree: RequestMisuse;
        IoBuildFsdIrpSignalEventInCompletion: Hang;
        IoBuildFsdIrpSignalEventInCompletion2: Hang;
        IoBuildFsdIrpSignalEventInCompletion3: Hang;
        IoBuildFsdIrpSignalEventInCompletionTimeout: Hang;
        IoBuildSynchronousFsdRequestNoFree: RequestMisuse;
        IoBuildSynchronousFsdRequestWait: RequestMisuse;
        IoBuildSynchronousFsdRequestWaitTimeout: Hang;
        RequestedPowerIrp [run_time]: RequestMisuse;
    }
    "locking" {
        CancelSpinLock: LockMisuse LockLeak;
        CancelSpinlockRelease: LockMisuse LockLeak;
        CriticalRegions [run_time]: LockMisuse LockLeak;
        ExclusiveResourceAccess: LockMisuse LockLeak;
        GuardedRegions [run_time]: LockMisuse LockLeak;
        QueuedSpinLock [run_time]: LockMisuse LockLeak;
        QueuedSpinLockRelease [run_time]: LockMisuse LockLeak;
        SpinLock [run_time]: LockMisuse LockLeak;
        SpinLockDpc: LockMisuse LockLeak;
        SpinlockRelease [run_time]: LockMisuse LockLeak;
        SpinLockSafe: LockMisuse;
        WithinCriticalRegion: LockMisuse;
    }
    "miscellaneous" {
        AddDevice: BadArgument;
        DanglingDeviceObjectReference: ObjectLeak;
        PnpSameDeviceObject: BadArgument;
        TargetRelationNeedsRef => "only the framework asks for the target device";
        UnSafeAllocatePool => "about the source: a driver for older releases of Windows has to call these routines";
        ZwRegistryCreate: HandleLeak;
        ZwRegistryOpen: HandleLeak;
    }
    "warning" {
        CheckDeviceObjectFlags => "the flags of a child are only wrong together with those of the drivers above it";
        CompletionEventChecking: RequestMisuse;
        DeleteDevice => "Windows keeps the device until the request returns, so this is only a warning";
        MultRemoveLock => "a device may have several remove locks";
        PagedCode: PageableAtDispatch;
        PagedCodeAtPowerTrans => "PAGED_CODE is a macro; images do not contain it";
        ReservedDDIs => "the page names no routine";
    }
}
