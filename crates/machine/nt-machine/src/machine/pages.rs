//! Compares the IRQL limits of routines with Microsoft's reference pages, and their modules with Microsoft's metadata.
//!
//! The metadata states neither IRQLs nor releases nor failures, so the pages are the only public source of them that
//! covers most routines. Both kinds of difference are listed, and a listed difference that does not exist is an error.

use std::collections::BTreeSet;

use windows_releases::Release as Os;
use windows_releases::documented;

use super::routines::{all_routines, kernel_routines};

/// Routines that this host accepts at a higher IRQL than their pages state. Many pages state the limit for pageable
/// arguments, or the IRQL of a typical caller. A finding needs more than such a page.
const LAXER: &str = "\
    ExAcquireRundownProtection ExAcquireRundownProtectionEx ExDeleteResourceLite ExGetPreviousMode \
    ExInitializeFastMutex ExInitializeRundownProtection ExIsProcessorFeaturePresent ExQueryDepthSList \
    ExRaiseAccessViolation ExRaiseDatatypeMisalignment ExRaiseStatus ExReleaseResourceAndLeaveCriticalRegion \
    ExReleaseRundownProtection ExReleaseRundownProtectionEx FsRtlDoesNameContainWildCards FsRtlIsNameInExpression \
    IoBuildAsynchronousFsdRequest IoIsWdmVersionAvailable IoReportInterruptActive IoReportInterruptInactive \
    IoThreadToProcess IoWMIWriteEvent IoWithinStackLimits KeExpandKernelStackAndCallout KeFlushIoBuffers \
    KeInitializeGuardedMutex KeInitializeSemaphore KeInitializeTimer KeInitializeTimerEx KeInvalidateAllCaches \
    KeLeaveCriticalRegion KeQueryPriorityThread KeRaiseIrqlToDpcLevel KeReadStateEvent KeReadStateTimer \
    KeSetBasePriorityThread KeSetPriorityThread MmAllocateNonCachedMemory MmFreeNonCachedMemory MmIsDriverVerifying \
    ObGetObjectSecurity ObIsKernelHandle PsGetProcessExitStatus PsGetThreadId PsIsSystemThread PsIsThreadTerminating \
    PsReferenceImpersonationToken PsReferencePrimaryToken PsTerminateSystemThread RtlAreBitsClear RtlAreBitsSet \
    RtlCaptureContext RtlClearAllBits RtlClearBit RtlClearBits RtlCreateSecurityDescriptor RtlFindClearBits \
    RtlFindClearBitsAndSet RtlFindSetBits RtlFindSetBitsAndClear RtlGetOwnerSecurityDescriptor RtlLengthRequiredSid \
    RtlLengthSecurityDescriptor RtlLengthSid RtlNtStatusToDosError RtlNumberOfClearBits RtlNumberOfSetBits \
    RtlSecondsSince1970ToTime RtlSetAllBits RtlSetBit RtlSetBits RtlSetDaclSecurityDescriptor RtlTestBit \
    RtlTimeToSecondsSince1970 RtlValidSecurityDescriptor SeTokenIsAdmin SeTokenIsRestricted ZwSetEvent \
    ZwWaitForSingleObject";

/// Functions of the framework that this host accepts at a higher IRQL than their pages state.
const LAXER_FUNCTIONS: &str = "\
    WdfFdoInitSetFilter WdfFileObjectGetFileName WdfInterruptSynchronize \
    WdfPdoInitAllocate WdfPdoInitAllowForwardingRequestToParent WdfPdoInitSetDefaultLocale \
    WdfPdoInitSetEventCallbacks WdfRequestRetrieveUnsafeUserInputBuffer WdfRequestRetrieveUnsafeUserOutputBuffer \
    WdfWmiInstanceFireEvent";

/// Returns the routines whose limit is above (or below) that of their pages.
fn differing(names: impl Iterator<Item = (&'static str, u8)>, is_above: bool) -> BTreeSet<&'static str> {
    let differs = |(name, ours): &(&'static str, u8)| {
        let page = documented(name).and_then(|page| page.irql);
        page.is_some_and(|page| if is_above { *ours > page } else { *ours < page })
    };
    names.filter(differs).map(|(name, _)| name).collect()
}

fn listed(names: &'static str) -> BTreeSet<&'static str> {
    names.split_whitespace().collect()
}

#[test]
fn no_routine_is_refused_at_an_irql_that_its_page_allows() {
    let limits = || kernel_routines().map(|routine| (routine.name, routine.irql));
    assert_eq!(differing(limits(), false), BTreeSet::new());
    assert_eq!(differing(limits(), true), listed(LAXER));
    let compared = limits().filter(|(name, _)| documented(name).is_some_and(|page| page.irql.is_some())).count();
    assert!(compared > 500, "{compared} routines have a page that states the IRQL");
}

#[test]
fn no_function_of_the_framework_is_refused_at_an_irql_that_its_page_allows() {
    let table = all_routines(Os::NEWEST);
    let functions = table.iter().filter(|routine| routine.is_of_framework());
    let limits = || functions.clone().filter_map(|routine| Some((routine.name, routine.irql?)));
    assert_eq!(differing(limits(), false), BTreeSet::new());
    assert_eq!(differing(limits(), true), listed(LAXER_FUNCTIONS));
}
