/* Breaks Microsoft's rules about locks, regions and remove locks. */

#include "rules.h"

static KSPIN_LOCK SpinLock;

/* Releases a spin lock that is free. */
static VOID ReleaseFree(PDEVICE_OBJECT Device)
{
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&SpinLock);

    KeReleaseSpinLock(&SpinLock, old);
    if (Broken) {
        old = KfRaiseIrql(2);
        KeReleaseSpinLockFromDpcLevel(&SpinLock);
        KeLowerIrql(old);
    }
}

/* Returns with a spin lock held. */
static NTSTATUS KeepSpinLock(PDEVICE_OBJECT Device, PIRP Irp)
{
    KIRQL old;

    Finish(Irp, 0, 0);
    old = KeAcquireSpinLockRaiseToDpc(&SpinLock);
    if (!Broken) {
        KeReleaseSpinLock(&SpinLock, old);
    } else {
        KeLowerIrql(old);
    }
    return 0;
}

/* Acquires a spin lock twice. */
static VOID AcquireTwice(PDEVICE_OBJECT Device)
{
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&SpinLock);

    if (Broken) {
        KeAcquireSpinLockAtDpcLevel(&SpinLock);
    }
    KeReleaseSpinLock(&SpinLock, old);
}

static VOID ReleaseQueuedFree(PDEVICE_OBJECT Device)
{
    KLOCK_QUEUE_HANDLE handle;

    KeAcquireInStackQueuedSpinLock(&SpinLock, &handle);
    KeReleaseInStackQueuedSpinLock(&handle);
    if (Broken) {
        KeReleaseInStackQueuedSpinLock(&handle);
    }
}

static NTSTATUS KeepQueuedSpinLock(PDEVICE_OBJECT Device, PIRP Irp)
{
    static KLOCK_QUEUE_HANDLE handle;

    Finish(Irp, 0, 0);
    KeAcquireInStackQueuedSpinLock(&SpinLock, &handle);
    if (!Broken) {
        KeReleaseInStackQueuedSpinLock(&handle);
    } else {
        KeLowerIrql(0);
    }
    return 0;
}

static VOID ReleaseCancelFree(PDEVICE_OBJECT Device)
{
    KIRQL old;

    IoAcquireCancelSpinLock(&old);
    IoReleaseCancelSpinLock(old);
    if (Broken) {
        IoReleaseCancelSpinLock(old);
    }
}

static VOID NTAPI Cancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (!Broken) {
        IoReleaseCancelSpinLock(Irp->CancelIrql);
    }
}

/* Cancels a request whose cancel routine keeps the cancel spin lock. */
static VOID KeepCancelLock(PDEVICE_OBJECT Device)
{
    PIRP irp = IoAllocateIrp(2, FALSE);

    IoSetCancelRoutine(irp, Cancel);
    IoCancelIrp(irp);
    IoFreeIrp(irp);
}

static VOID LeaveCritical(PDEVICE_OBJECT Device)
{
    KeEnterCriticalRegion();
    KeLeaveCriticalRegion();
    if (Broken) {
        KeLeaveCriticalRegion();
    }
}

static VOID LeaveGuarded(PDEVICE_OBJECT Device)
{
    KeEnterGuardedRegion();
    if (!Broken) {
        KeLeaveGuardedRegion();
    }
}

static ERESOURCE Resource;

/* Releases a resource that it has already released. */
static VOID ReleaseResource(PDEVICE_OBJECT Device)
{
    ExInitializeResourceLite(&Resource);
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(&Resource, TRUE);
    ExReleaseResourceLite(&Resource);
    if (Broken) {
        ExReleaseResourceLite(&Resource);
    }
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&Resource);
}

static VOID AcquireOutside(PDEVICE_OBJECT Device)
{
    ExInitializeResourceLite(&Resource);
    if (!Broken) {
        KeEnterCriticalRegion();
    }
    ExAcquireResourceSharedLite(&Resource, TRUE);
    ExReleaseResourceLite(&Resource);
    if (!Broken) {
        KeLeaveCriticalRegion();
    }
    ExDeleteResourceLite(&Resource);
}

static NTSTATUS CompleteLocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&SpinLock);

    if (!Broken) {
        KeReleaseSpinLock(&SpinLock, old);
    }
    Finish(Irp, 0, 0);
    if (Broken) {
        KeReleaseSpinLock(&SpinLock, old);
    }
    return 0;
}

/* Completes a request, and keeps the remove lock that it acquired for it. */
static NTSTATUS KeepRemoveLock(PDEVICE_OBJECT Device, PIRP Irp)
{
    Acquire(Device, Irp);
    Finish(Irp, 0, 0);
    if (!Broken) {
        Release(Device, Irp);
    }
    return 0;
}

/* Passes on a request, and keeps the remove lock. The driver below completes it at once. */
static NTSTATUS ForwardAndKeep(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    status = ForwardAndWait(Device, Irp);
    IofCompleteRequest(Irp, 0);
    if (!Broken) {
        Release(Device, Irp);
    }
    return status;
}

/* Passes on a request without the remove lock. */
static NTSTATUS ForwardUnlocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction == IRP_MJ_PNP) {
        Irp->IoStatus.Status = 0;
    }
    return Broken ? PassOn(Device, Irp) : PassOnLocked(Device, Irp);
}

static NTSTATUS RemoveUnlocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    NTSTATUS status;

    Irp->IoStatus.Status = 0;
    if (!Broken) {
        return Remove(Device, Irp);
    }
    status = PassOn(Device, Irp);
    Acquire(Device, Irp);
    ReleaseAndWait(Device, Irp);
    IoDetachDevice(lower);
    IoDeleteDevice(Device);
    return status;
}

/* Waits for a remove lock that it has not acquired. */
static NTSTATUS WaitUnlocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    NTSTATUS status;

    Irp->IoStatus.Status = 0;
    if (!Broken) {
        return Remove(Device, Irp);
    }
    ReleaseAndWait(Device, Irp);
    status = PassOn(Device, Irp);
    IoDetachDevice(lower);
    IoDeleteDevice(Device);
    return status;
}

static NTSTATUS WaitInQuery(PDEVICE_OBJECT Device, PIRP Irp)
{
    IO_REMOVE_LOCK other;

    if (Broken) {
        IoInitializeRemoveLockEx(&other, TAG, 0, 0, sizeof(other));
        IoAcquireRemoveLockEx(&other, Irp, "", 1, sizeof(other));
        IoReleaseRemoveLockAndWaitEx(&other, Irp, sizeof(other));
    }
    Irp->IoStatus.Status = 0;
    return PassOnLocked(Device, Irp);
}

static NTSTATUS Refuse(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (Broken) {
        return Finish(Irp, STATUS_NOT_SUPPORTED, 0);
    }
    return PlugAndPlay(Device, Irp, IoGetCurrentIrpStackLocation(Irp)->MinorFunction);
}

/* The same, for a request after which the device is gone. */
static NTSTATUS RefuseRemoval(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;

    if (!Broken) {
        return Remove(Device, Irp);
    }
    Finish(Irp, STATUS_NOT_SUPPORTED, 0);
    IoDetachDevice(lower);
    IoDeleteDevice(Device);
    return STATUS_NOT_SUPPORTED;
}

const RULE Rules[] = {
    ACTION_OF(SpinLock, ReleaseFree),
    ACTION_OF(SpinLockDpc, AcquireTwice),
    HANDLER_OF(SpinlockRelease, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, KeepSpinLock),
    ACTION_OF(QueuedSpinLock, ReleaseQueuedFree),
    HANDLER_OF(QueuedSpinLockRelease, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, KeepQueuedSpinLock),
    ACTION_OF(CancelSpinLock, ReleaseCancelFree),
    ACTION_OF(CancelSpinlockRelease, KeepCancelLock),
    ACTION_OF(CriticalRegions, LeaveCritical),
    ACTION_OF(GuardedRegions, LeaveGuarded),
    ACTION_OF(ExclusiveResourceAccess, ReleaseResource),
    ACTION_OF(WithinCriticalRegion, AcquireOutside),
    HANDLER_OF(SpinLockSafe, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, CompleteLocked),
    HANDLER_OF(RemoveLock, IRP_MJ_PNP, IRP_MN_START_DEVICE, ForwardAndKeep),
    HANDLER_OF(RemoveLockRelease2, IRP_MJ_READ, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseCleanup, IRP_MJ_CLEANUP, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseClose, IRP_MJ_CLOSE, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseCreate, IRP_MJ_CREATE, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseDeviceControl, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseInternalDeviceControl, IRP_MJ_INTERNAL_DEVICE_CONTROL, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleasePnp, IRP_MJ_PNP, IRP_MN_START_DEVICE, ForwardAndKeep),
    HANDLER_OF(RemoveLockReleasePower, IRP_MJ_POWER, ANY_MINOR, ForwardAndKeep),
    HANDLER_OF(RemoveLockReleaseRead, IRP_MJ_READ, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseShutdown, IRP_MJ_SHUTDOWN_, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockReleaseSystemControl, IRP_MJ_SYSTEM_CONTROL_, ANY_MINOR, ForwardAndKeep),
    HANDLER_OF(RemoveLockReleaseWrite, IRP_MJ_WRITE, ANY_MINOR, KeepRemoveLock),
    HANDLER_OF(RemoveLockForward, IRP_MJ_POWER, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForward2, IRP_MJ_CREATE, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardDeviceControl, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardDeviceControl2, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardDeviceControlInternal, IRP_MJ_INTERNAL_DEVICE_CONTROL, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardDeviceControlInternal2, IRP_MJ_INTERNAL_DEVICE_CONTROL, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardRead, IRP_MJ_READ, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardRead2, IRP_MJ_READ, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardWrite, IRP_MJ_WRITE, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockForwardWrite2, IRP_MJ_WRITE, ANY_MINOR, ForwardUnlocked),
    HANDLER_OF(RemoveLockMnSurpriseRemove, IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL_, ForwardUnlocked),
    HANDLER_OF(RemoveLockQueryMnRemove, IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE, ForwardUnlocked),
    HANDLER_OF(RemoveLockMnRemove2, IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE, RemoveUnlocked),
    HANDLER_OF(RemoveLockMnRemove, IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE, WaitUnlocked),
    HANDLER_OF(RemoveLockCheck, IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE, WaitUnlocked),
    HANDLER_OF(IoReleaseRemoveLockAndWaitOutsideRemoveDevice, IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE, WaitInQuery),
    HANDLER_OF(NsRemoveLockMnRemove, IRP_MJ_PNP, IRP_MN_REMOVE_DEVICE, RefuseRemoval),
    HANDLER_OF(NsRemoveLockMnSurpriseRemove, IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL_, Refuse),
    HANDLER_OF(NsRemoveLockQueryMnRemove, IRP_MJ_PNP, IRP_MN_QUERY_REMOVE_DEVICE, Refuse),
};
const ULONG RuleCount = sizeof(Rules) / sizeof(Rules[0]);
