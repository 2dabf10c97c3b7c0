//! For each kernel routine that is newer than Windows 7, the first release that has it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Release;

/// Routines of ntoskrnl.exe and fltmgr.sys that were added after Windows 7, grouped by the first release that has them
/// according to their reference pages. The table has no macros, no inline functions, and no routines that are known to
/// be older than their page says. A name that is not listed is assumed to exist in every release.
#[rustfmt::skip]
const ROUTINES: &[(Release, &str)] = &[
    (Release::Win8, "\
        CcCopyReadEx CcCopyWriteEx CcScheduleReadAheadEx CcSetAdditionalCacheAttributesEx CmCallbackGetKeyObjectIDEx \
        CmCallbackReleaseKeyObjectIDEx ExGetFirmwareEnvironmentVariable ExSetFirmwareEnvironmentVariable \
        FltCloseSectionForDataScan FltCreateMailslotFile FltCreateNamedPipeFile FltCreateSectionForDataScan \
        FltEnumerateInstanceInformationByDeviceObject FltEnumerateInstanceInformationByVolumeName \
        FltGetActivityIdCallbackData FltGetContextsEx FltGetSectionContext FltOplockFsctrlEx FltOplockKeysEqual \
        FltPrepareToReuseEcp FltPropagateActivityIdToThread FltQueryQuotaInformationFile FltReadFileEx \
        FltRegisterForDataScan FltReleaseContextsEx FltSetActivityIdCallbackData FltSetQuotaInformationFile \
        FltWriteFileEx FsRtlCheckLockForOplockRequest FsRtlGetSectorSizeInformation FsRtlGetSupportedFeatures \
        FsRtlIsSystemPagingFile FsRtlIssueDeviceIoControl FsRtlMdlReadEx FsRtlPrepareToReuseEcp FsRtlQueryCachedVdl \
        FsRtlQueryKernelEaFile FsRtlSetKernelEaFile IoClearActivityIdThread IoCreateStreamFileObjectEx2 \
        IoCreateSystemThread IoDecrementKeepAliveCount IoGetActivityIdIrp IoGetActivityIdThread \
        IoGetDeviceInterfacePropertyData IoGetOplockKeyContextEx IoIncrementKeepAliveCount \
        IoPropagateActivityIdToThread IoRegisterBootDriverCallback IoReportInterruptActive IoReportInterruptInactive \
        IoSetActivityIdIrp IoSetActivityIdThread IoSetDeviceInterfacePropertyData IoSetMasterIrpStatus \
        IoTransferActivityId IoUnregisterBootDriverCallback KeQuerySystemTimePrecise MmAllocateContiguousNodeMemory \
        MmAllocateMdlForIoSpace MmAllocateNodePagesForMdlEx MmIsDriverSuspectForVerifier PoFxActivateComponent \
        PoFxCompleteDevicePowerNotRequired PoFxCompleteIdleCondition PoFxCompleteIdleState PoFxIdleComponent \
        PoFxNotifySurprisePowerOn PoFxPowerControl PoFxRegisterDevice PoFxReportDevicePoweredOn \
        PoFxSetComponentLatency PoFxSetComponentResidency PoFxSetComponentWake PoFxSetDeviceIdleTimeout \
        PoFxStartDevicePowerManagement PoFxUnregisterDevice PsIsDiskCountersEnabled PsUpdateDiskCounters \
        ZwFlushBuffersFileEx"),
    (Release::Win81, "\
        ExAllocateTimer ExCancelTimer ExDeleteTimer ExInitializeRundownProtectionCacheAwareEx ExSetTimer \
        FsRtlCheckUpperOplock FsRtlUpperOplockFsctrl IoQueryFullDriverPath KeQueryInterruptTimePrecise MmCopyMemory \
        PoFxPowerOnCrashdumpDevice PoFxRegisterCrashdumpDevice RtlQueryPackageIdentityEx"),
    (Release::Win10_1507, "\
        EtwSetInformation IoAllocateIrpEx KeConvertAuxiliaryCounterToPerformanceCounter \
        KeConvertPerformanceCounterToAuxiliaryCounter KeDeregisterBoundCallback KeQueryAuxiliaryCounterFrequency \
        KeRegisterBoundCallback MmMapIoSpaceEx PoFxIssueComponentPerfStateChange \
        PoFxIssueComponentPerfStateChangeMultiple PoFxQueryCurrentComponentPerfState PoFxRegisterComponentPerfStates \
        PsSetCreateThreadNotifyRoutineEx RtlDecompressBufferEx2 RtlDecompressFragmentEx SeEtwWriteKMCveEvent \
        VslCreateSecureSection VslDeleteSecureSection"),
    (Release::Win10_1511, "\
        ZwSetInformationVirtualMemory"),
    (Release::Win10_1607, "\
        FltAddOpenReparseEntry FltCopyOpenReparseList FltFreeOpenReparseList FltPropagateIrpExtension \
        FltRemoveOpenReparseEntry FsRtlIsDaxVolume IoGetSiloParameters PsAllocSiloContextSlot \
        PsAttachSiloToCurrentThread PsCreateSiloContext PsDereferenceSiloContext PsDetachSiloFromCurrentThread \
        PsFreeSiloContextSlot PsGetCurrentServerSilo PsGetCurrentSilo PsGetEffectiveServerSilo PsGetHostSilo \
        PsGetJobServerSilo PsGetJobSilo PsGetPermanentSiloContext PsGetSiloContext PsGetSiloMonitorContextSlot \
        PsInsertPermanentSiloContext PsInsertSiloContext PsIsHostSilo PsMakeSiloContextPermanent \
        PsReferenceSiloContext PsRegisterSiloMonitor PsRemoveSiloContext PsReplaceSiloContext PsStartSiloMonitor \
        PsTerminateServerSilo PsUnregisterSiloMonitor"),
    (Release::Win10_1703, "\
        FltQueryInformationByName PsGetProcessStartKey PsSetCreateProcessNotifyRoutineEx2 RtlDrainNonVolatileFlush \
        RtlFlushNonVolatileMemory RtlFlushNonVolatileMemoryRanges RtlFreeNonVolatileToken RtlGetNonVolatileToken \
        RtlWriteNonVolatileMemory"),
    (Release::Win10_1709, "\
        ExGetFirmwareType ExIsSoftBoot FltQueryDirectoryFileEx IoCheckLinkShareAccess IoRemoveLinkShareAccess \
        IoSetLinkShareAccess IoUpdateLinkShareAccess MmMapMdl PoFxSetTargetDripsDevicePowerState PsGetParentSilo \
        PsGetServerSiloActiveConsoleId PsSetLoadImageNotifyRoutineEx RtlExtendCorrelationVector \
        RtlIncrementCorrelationVector RtlInitializeCorrelationVector RtlIsPartialPlaceholder \
        RtlIsPartialPlaceholderFileHandle RtlIsPartialPlaceholderFileInfo RtlIsStateSeparationEnabled \
        RtlQueryThreadPlaceholderCompatibilityMode RtlSetThreadPlaceholderCompatibilityMode \
        RtlValidateCorrelationVector SeTokenGetNoChildProcessRestricted SeTokenIsNoChildProcessRestrictionEnforced \
        SeTokenSetNoChildProcessRestricted ZwQueryDirectoryFileEx"),
    (Release::Win10_1803, "\
        ClfsCreateMarshallingAreaEx FsRtlIsNameInUnUpcasedExpression IoGetDeviceDirectory IoGetDriverDirectory \
        IoGetIommuInterface IoOpenDriverRegistryKey KeAddTriageDumpDataBlock KeInitializeTriageDumpDataArray \
        MmForceSectionClosedEx RtlGetPersistedStateLocation RtlQueryProcessPlaceholderCompatibilityMode \
        RtlRaiseCustomSystemEventTrigger RtlSetProcessPlaceholderCompatibilityMode"),
    (Release::Win10_1809, "\
        FltRetrieveFileInfoOnCreateCompletionEx MmSecureVirtualMemoryEx PsGetSiloContainerId PsGetThreadServerSilo \
        RtlQueryRegistryValueWithFallback"),
    (Release::Win10_1903, "\
        FltFlushBuffers2 IoRemoveLinkShareAccessEx IoUpdateLinkShareAccessEx PoFxCompleteDirectedPowerDown \
        RtlFillNonVolatileMemory WheaReportHwError WheaReportHwErrorDeviceDriver"),
    (Release::Win10_2004, "\
        ExAllocatePool2 ExAllocatePool3 FsRtlCheckOplockEx2 FsRtlOplockGetAnyBreakOwnerProcess \
        IoAcquireKsrPersistentMemory IoFreeKsrPersistentMemory IoQueryKsrPersistentMemorySize \
        IoReserveKsrPersistentMemory IoWriteKsrPersistentMemory MmAllocateMappingAddressEx \
        MmGetPhysicalMemoryRangesEx2 MmMapMemoryDumpMdlEx RtlFreeUTF8String RtlInitUTF8String RtlInitUTF8StringEx \
        RtlIsZeroMemory RtlNormalizeSecurityDescriptor RtlUTF8StringToUnicodeString RtlUnicodeStringToUTF8String \
        WheaAddErrorSourceDeviceDriver WheaAddErrorSourceDeviceDriverV1 WheaAddHwErrorReportSectionDeviceDriver \
        WheaCreateHwErrorReportDeviceDriver WheaHwErrorReportAbandonDeviceDriver \
        WheaHwErrorReportSetSectionNameDeviceDriver WheaHwErrorReportSetSeverityDeviceDriver \
        WheaHwErrorReportSubmitDeviceDriver WheaLogInternalEvent WheaRemoveErrorSourceDeviceDriver"),
    (Release::Win10_20H2, "\
        FsRtlAllocateAePushLock FsRtlFreeAePushLock FsRtlSetupAdvancedHeaderEx2"),
    (Release::Server2022, "\
        ExFreePool2 MmProtectDriverSection"),
    (Release::Win11_21H2, "\
        FltVetoBypassIo FsRtlGetBypassIoOpenCount FsRtlGetBypassIoOpenCountPtr PsAllocateAffinityToken \
        PsFreeAffinityToken PsRevertToUserMultipleGroupAffinityThread PsSetSystemMultipleGroupAffinityThread"),
    (Release::Win11_22H2, "\
        CcGetCacheFileSize CcSetCacheFileSizes FltGetCopyInformationFromCallbackData \
        IoCheckFileObjectOpenedAsCopyDestination IoCheckFileObjectOpenedAsCopySource IoGetShadowFileInformation \
        IoSetShadowFileInformation WheaRegisterErrorSourceOverride WheaSignalHandlerOverride \
        WheaUnregisterErrorSourceOverride"),
];

/// Returns the routines that were added after Windows 7, each with the first release that has it.
pub fn routines() -> impl Iterator<Item = (&'static str, Release)> {
    ROUTINES.iter().flat_map(|&(release, names)| names.split_whitespace().map(move |name| (name, release)))
}

/// Returns the first release that has a routine, or `None` if every release has it or the table does not contain it.
#[must_use]
pub fn first_with_routine(name: &str) -> Option<Release> {
    // This is called for every import and every export, so the text is parsed only once.
    static BY_NAME: LazyLock<HashMap<&str, Release>> = LazyLock::new(|| routines().collect());
    BY_NAME.get(name).copied()
}
