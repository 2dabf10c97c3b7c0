/* Breaks Microsoft's rules about requests that the driver receives, and about its devices and keys. */

#include "rules.h"

static LIST_ENTRY Queue;
static KSPIN_LOCK QueueLock;

static NTSTATUS MarkAndReturn(PDEVICE_OBJECT Device, PIRP Irp)
{
    IoMarkIrpPending(Irp);
    Finish(Irp, 0, 0);
    return Broken ? 0 : STATUS_PENDING;
}

static NTSTATUS NTAPI MarkIfPending(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    if (Irp->PendingReturned && !Broken) {
        IoMarkIrpPending(Irp);
    }
    return 0;
}

/* Passes on a request with a completion routine that does not mark it as pending. */
static NTSTATUS ForwardUnmarked(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    CopyLocation(Irp, MarkIfPending, NULL);
    status = IofCallDriver(Extension(Device)->Lower, Irp);
    Release(Device, Irp);
    return status;
}

static NTSTATUS CompleteAndPend(PDEVICE_OBJECT Device, PIRP Irp)
{
    Finish(Irp, 0, 0);
    return Broken ? STATUS_PENDING : 0;
}

/* Completes a request that the driver below has. */
static NTSTATUS CompleteForwarded(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    CopyLocation(Irp, NULL, NULL);
    status = IofCallDriver(Extension(Device)->Lower, Irp);
    if (Broken) {
        IofCompleteRequest(Irp, 0);
    }
    Release(Device, Irp);
    return status;
}

static NTSTATUS QueueInterlocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    Queue.Flink = Queue.Blink = &Queue;
    if (!Broken) {
        IoMarkIrpPending(Irp);
    }
    ExInterlockedInsertTailList(&Queue, &Irp->Tail.Overlay.ListEntry, &QueueLock);
    IoMarkIrpPending(Irp);
    ExInterlockedRemoveHeadList(&Queue, &QueueLock);
    Finish(Irp, 0, 0);
    return STATUS_PENDING;
}

static NTSTATUS QueueLocked(PDEVICE_OBJECT Device, PIRP Irp)
{
    PLIST_ENTRY entry = &Irp->Tail.Overlay.ListEntry;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&QueueLock);

    Queue.Flink = Queue.Blink = entry;
    entry->Flink = entry->Blink = &Queue;
    if (!Broken) {
        IoMarkIrpPending(Irp);
    }
    KeReleaseSpinLock(&QueueLock, old);
    IoMarkIrpPending(Irp);
    Finish(Irp, 0, 0);
    return STATUS_PENDING;
}

static NTSTATUS CompletePending(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Finish(Irp, Broken ? STATUS_PENDING : 0, 0);
}

static NTSTATUS CompleteTwice(PDEVICE_OBJECT Device, PIRP Irp)
{
    Finish(Irp, 0, 0);
    if (Broken) {
        IofCompleteRequest(Irp, 0);
    }
    return 0;
}

/* Sets a completion routine, and does not pass on the request. */
static NTSTATUS RegisterOnly(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    CopyLocation(Irp, NULL, NULL);
    IoSetCompletionRoutineEx(Device, Irp, MarkIfPending, NULL, TRUE, TRUE, TRUE);
    status = Broken ? Finish(Irp, 0, 0) : IofCallDriver(Extension(Device)->Lower, Irp);
    Release(Device, Irp);
    return status;
}

/* Passes on a request although its completion routine could not be set: the test makes the call fail. */
static NTSTATUS RegisterFailed(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status;

    Acquire(Device, Irp);
    CopyLocation(Irp, NULL, NULL);
    status = IoSetCompletionRoutineEx(Device, Irp, MarkIfPending, NULL, TRUE, TRUE, TRUE);
    status = status < 0 && !Broken ? Finish(Irp, status, 0) : IofCallDriver(Extension(Device)->Lower, Irp);
    Release(Device, Irp);
    return status;
}

static NTSTATUS NTAPI Mark(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    if (Irp->PendingReturned) {
        IoMarkIrpPending(Irp);
    }
    return 0;
}

static NTSTATUS RegisterForLower(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    NTSTATUS status;

    Acquire(Device, Irp);
    CopyLocation(Irp, NULL, NULL);
    IoSetCompletionRoutineEx(Broken ? lower : Device, Irp, Mark, NULL, TRUE, TRUE, TRUE);
    status = IofCallDriver(lower, Irp);
    Release(Device, Irp);
    return status;
}

static NTSTATUS Forget(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Broken ? 0 : Finish(Irp, 0, 0);
}

static NTSTATUS ForgetControl(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Broken ? 0 : PassOnLocked(Device, Irp);
}

/* Returns another status than the driver below. */
static NTSTATUS ReturnOther(PDEVICE_OBJECT Device, PIRP Irp)
{
    NTSTATUS status = PassOnLocked(Device, Irp);

    return Broken ? STATUS_UNSUCCESSFUL : status;
}

static NTSTATUS CompletePnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Broken ? Finish(Irp, 0, 0) : PassOnLocked(Device, Irp);
}

static NTSTATUS FailSurprise(PDEVICE_OBJECT Device, PIRP Irp)
{
    Irp->IoStatus.Status = 0;
    return Broken ? Finish(Irp, STATUS_UNSUCCESSFUL, 0) : PassOnLocked(Device, Irp);
}

static NTSTATUS DetachAtSurprise(PDEVICE_OBJECT Device, PIRP Irp)
{
    PDEVICE_OBJECT lower = Extension(Device)->Lower;
    NTSTATUS status;

    Irp->IoStatus.Status = 0;
    status = PassOnLocked(Device, Irp);
    if (Broken) {
        IoDetachDevice(lower);
        Extension(Device)->Lower = IoAttachDeviceToDeviceStack(Device, Extension(Device)->Physical);
    }
    return status;
}

static NTSTATUS FailPower(PDEVICE_OBJECT Device, PIRP Irp, BOOLEAN Up)
{
    BOOLEAN up = IoGetCurrentIrpStackLocation(Irp)->Parameters.Power.State.SystemState == 1; /* PowerSystemWorking */

    return Broken && up == Up ? Finish(Irp, STATUS_UNSUCCESSFUL, 0) : PassOnLocked(Device, Irp);
}

static NTSTATUS FailPowerDown(PDEVICE_OBJECT Device, PIRP Irp)
{
    return FailPower(Device, Irp, FALSE);
}

static NTSTATUS FailPowerUp(PDEVICE_OBJECT Device, PIRP Irp)
{
    return FailPower(Device, Irp, TRUE);
}

static NTSTATUS CallInPower(PDEVICE_OBJECT Device, PIRP Irp)
{
    GUID guid;

    if (!Broken) {
        Device->Flags |= 0x2000; /* DO_POWER_PAGABLE */
    }
    ExUuidCreate(&guid);
    return PassOnLocked(Device, Irp);
}

static VOID NTAPI StartIo(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (Broken) {
        IoStartNextPacket(Device, FALSE);
    }
    Finish(Irp, 0, 0);
}

static NTSTATUS StartPacket(PDEVICE_OBJECT Device, PIRP Irp)
{
    KIRQL old;

    TheDriver->DriverStartIo = StartIo;
    IoMarkIrpPending(Irp);
    IoStartPacket(Device, Irp, NULL, NULL);
    if (!Broken) {
        old = KfRaiseIrql(2);
        IoStartNextPacket(Device, FALSE);
        KeLowerIrql(old);
    }
    return STATUS_PENDING;
}

static NTSTATUS NTAPI SetUnlessBroken(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event)
{
    if (!Broken) {
        KeSetEvent((PKEVENT)Event, 0, FALSE);
    }
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static NTSTATUS NTAPI MarkAndSet(PDEVICE_OBJECT Device, PIRP Irp, PVOID Event)
{
    if (Broken) {
        IoMarkIrpPending(Irp);
    }
    KeSetEvent((PKEVENT)Event, 0, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static NTSTATUS WaitFor(PDEVICE_OBJECT Device, PIRP Irp, PIO_COMPLETION_ROUTINE Routine)
{
    NTSTATUS status;
    KEVENT event;

    Acquire(Device, Irp);
    KeInitializeEvent(&event, 0, FALSE);
    CopyLocation(Irp, Routine, &event);
    if (IofCallDriver(Extension(Device)->Lower, Irp) == STATUS_PENDING) {
        KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
    }
    status = Irp->IoStatus.Status;
    IofCompleteRequest(Irp, 0);
    Release(Device, Irp);
    return status;
}

static NTSTATUS WaitForever(PDEVICE_OBJECT Device, PIRP Irp)
{
    return WaitFor(Device, Irp, SetUnlessBroken);
}

static NTSTATUS MarkInCompletion(PDEVICE_OBJECT Device, PIRP Irp)
{
    return WaitFor(Device, Irp, MarkAndSet);
}

static VOID AttachForeign(PDEVICE_OBJECT Device, BOOLEAN Source)
{
    static ULONG64 nothing[sizeof(DEVICE_OBJECT) / 8];
    PDEVICE_OBJECT own, none = (PDEVICE_OBJECT)nothing, lower;

    if (IoCreateDevice(TheDriver, 0, NULL, 0x22, 0, FALSE, &own) < 0) {
        return;
    }
    lower = IoAttachDeviceToDeviceStack(Broken && Source ? none : own, Broken && !Source ? none : Device);
    if (lower != NULL) {
        IoDetachDevice(lower);
    }
    IoDeleteDevice(own);
}

static VOID AttachNothing(PDEVICE_OBJECT Device)
{
    AttachForeign(Device, TRUE);
}

static VOID AttachToNothing(PDEVICE_OBJECT Device)
{
    AttachForeign(Device, FALSE);
}

static VOID KeepReference(PDEVICE_OBJECT Device)
{
    PDEVICE_OBJECT top = IoGetAttachedDeviceReference(Device);

    if (!Broken) {
        ObfDereferenceObject(top);
    }
}

static VOID KeepKey(BOOLEAN Creates)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes;
    HANDLE key = NULL;
    NTSTATUS status;

    RtlInitUnicodeString(&name, L"\\Registry\\Machine\\System\\CurrentControlSet\\Services");
    InitializeObjectAttributes(&attributes, &name, 0x240, NULL, NULL);
    status = Creates ? ZwCreateKey(&key, 0x20019, &attributes, 0, NULL, 0, NULL)
                     : ZwOpenKey(&key, 0x20019, &attributes);
    if (status >= 0 && !Broken) {
        ZwClose(key);
    }
}

static VOID KeepCreatedKey(PDEVICE_OBJECT Device)
{
    KeepKey(TRUE);
}

static VOID KeepOpenedKey(PDEVICE_OBJECT Device)
{
    KeepKey(FALSE);
}

static VOID Break(PDEVICE_OBJECT Device)
{
    if (Broken) {
        DbgBreakPoint();
    }
}

#define READ_OF(name, handler) HANDLER_OF(name, IRP_MJ_READ, ANY_MINOR, handler)

const RULE Rules[] = {
    READ_OF(MarkIrpPending, MarkAndReturn),
    READ_OF(MarkIrpPending2, ForwardUnmarked),
    HANDLER_OF(MarkStartDevice, IRP_MJ_PNP, IRP_MN_START_DEVICE, ForwardUnmarked),
    HANDLER_OF(MarkQueryRelations, IRP_MJ_PNP, 7, ForwardUnmarked),
    HANDLER_OF(MarkPower, IRP_MJ_POWER, 2, ForwardUnmarked),
    HANDLER_OF(MarkPowerDown, IRP_MJ_POWER, 2, ForwardUnmarked),
    HANDLER_OF(MarkDevicePower, IRP_MJ_POWER, 2, ForwardUnmarked),
    READ_OF(PendedCompletedRequest, CompleteAndPend),
    READ_OF(PendedCompletedRequest2, CompleteForwarded),
    READ_OF(PendedCompletedRequest3, CompleteForwarded),
    READ_OF(PendedCompletedRequestEx, CompleteForwarded),
    READ_OF(CompleteRequest, CompleteForwarded),
    READ_OF(MarkingInterlockedQueuedIrps, QueueInterlocked),
    READ_OF(MarkingQueuedIrps, QueueLocked),
    READ_OF(CompleteRequestStatusCheck, CompletePending),
    READ_OF(DoubleCompletion, CompleteTwice),
    READ_OF(CompletionRoutineRegistered, RegisterOnly),
    READ_OF(IoSetCompletionExCompleteIrp, RegisterFailed),
    READ_OF(IoSetCompletionRoutineExCheck, RegisterFailed),
    READ_OF(IoSetCompletionRoutineExCheckDeviceObject, RegisterForLower),
    READ_OF(IrpProcessingComplete, Forget),
    HANDLER_OF(WmiComplete, IRP_MJ_SYSTEM_CONTROL_, ANY_MINOR, ForgetControl),
    HANDLER_OF(WmiForward, IRP_MJ_SYSTEM_CONTROL_, ANY_MINOR, ForgetControl),
    HANDLER_OF(LowerDriverReturn, IRP_MJ_CREATE, ANY_MINOR, ReturnOther),
    HANDLER_OF(PnpIrpCompletion, IRP_MJ_PNP, 9, CompletePnp),
    HANDLER_OF(PnpRemove, IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL_, FailSurprise),
    HANDLER_OF(PnpSurpriseRemove, IRP_MJ_PNP, IRP_MN_SURPRISE_REMOVAL_, DetachAtSurprise),
    HANDLER_OF(PowerDownFail, IRP_MJ_POWER, 2, FailPowerDown),
    HANDLER_OF(PowerUpFail, IRP_MJ_POWER, 2, FailPowerUp),
    HANDLER_OF(PowerIrpDDIs, IRP_MJ_POWER, 2, CallInPower),
    READ_OF(StartIoRecursion, StartPacket),
    READ_OF(SignalEventInCompletion, WaitForever),
    READ_OF(SignalEventInCompletion2, WaitForever),
    READ_OF(SignalEventInCompletion3, WaitForever),
    READ_OF(CompletionEventChecking, MarkInCompletion),
    ACTION_OF(DebugBreakUsage, Break),
    ACTION_OF(AddDevice, AttachNothing),
    ACTION_OF(PnpSameDeviceObject, AttachToNothing),
    ACTION_OF(DanglingDeviceObjectReference, KeepReference),
    ACTION_OF(ZwRegistryCreate, KeepCreatedKey),
    ACTION_OF(ZwRegistryOpen, KeepOpenedKey),
};
const ULONG RuleCount = sizeof(Rules) / sizeof(Rules[0]);
