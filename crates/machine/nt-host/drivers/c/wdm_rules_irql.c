/* Breaks Microsoft's rules about IRQLs: calls routines above or below the IRQL that they allow. */

#include "rules.h"

#define SERVICES 1 /* RTL_REGISTRY_SERVICES */

/* Raises the IRQL, if the rule is to be broken. */
static KIRQL Raise(KIRQL Level)
{
    return Broken ? KfRaiseIrql(Level) : 0;
}

static void Restore(KIRQL Old)
{
    if (Broken) {
        KeLowerIrql(Old);
    }
}

/* Defines an action that executes a statement at a raised IRQL. */
#define RAISED(name, level, declarations, before, statement, after)                                                   \
    static VOID name(PDEVICE_OBJECT Device)                                                                           \
    {                                                                                                                 \
        declarations;                                                                                                 \
        KIRQL old;                                                                                                    \
                                                                                                                      \
        before;                                                                                                       \
        old = Raise(level);                                                                                           \
        statement;                                                                                                    \
        Restore(old);                                                                                                 \
        after;                                                                                                        \
    }

static const GUID Interface = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};

static HANDLE NewEvent(void)
{
    UNICODE_STRING name;
    HANDLE handle = NULL;

    RtlInitUnicodeString(&name, L"\\BaseNamedObjects\\CRules");
    IoCreateNotificationEvent(&name, &handle);
    return handle;
}

static BOOLEAN NTAPI Serve(PKINTERRUPT Interrupt, PVOID Context)
{
    return FALSE;
}

RAISED(ApcLte, 2, PVOID descriptor; BOOLEAN allocated, , ObGetObjectSecurity(Device, &descriptor, &allocated), )
RAISED(ExAllocate, 2, PVOID memory, ,
       memory = ExAllocatePoolWithTag(PagedPool, 16, TAG), ExFreePoolWithTag(memory, TAG))
RAISED(ExApcLte1, 2, FAST_MUTEX mutex, ExInitializeFastMutex(&mutex),
       ExAcquireFastMutex(&mutex); ExReleaseFastMutex(&mutex), )
RAISED(ExApcLte2, 2, , , ExSetTimerResolution(10000, TRUE), ExSetTimerResolution(0, FALSE))
RAISED(ExPassive, 2, GUID guid, , ExUuidCreate(&guid), )
RAISED(ExFree, 2, PVOID memory, memory = ExAllocatePoolWithTag(PagedPool, 16, TAG), ExFreePoolWithTag(memory, TAG), )
RAISED(ExFreePriority, 2, PVOID memory, memory = ExAllocatePoolWithTagPriority(PagedPool, 16, TAG, 0),
       ExFreePoolWithTag(memory, TAG), )
RAISED(ExFreeUntagged, 2, PVOID memory, memory = ExAllocatePoolWithTag(PagedPool, 16, TAG), ExFreePool(memory), )
RAISED(IoApcLte, 2, , , IoGetInitialStack(), )
RAISED(IoPassive1, 2, PIRP irp; KEVENT event; IO_STATUS_BLOCK block, ,
       irp = IoBuildDeviceIoControlRequest(0x222000, Extension(Device)->Lower, NULL, 0, NULL, 0, FALSE, &event, &block),
       IoFreeIrp(irp))
RAISED(IoPassive2, 2, PKINTERRUPT interrupt = NULL, ,
       IoConnectInterrupt(&interrupt, Serve, NULL, NULL, 0, 5, 5, 0, FALSE, 1, FALSE), )
RAISED(IoPassive3, 2, UNICODE_STRING link = {0}, ,
       IoRegisterDeviceInterface(Extension(Device)->Physical, &Interface, NULL, &link), RtlFreeUnicodeString(&link))
RAISED(IoPassive4, 2, UNICODE_STRING name, RtlInitUnicodeString(&name, L"\\??\\CRules"), IoDeleteSymbolicLink(&name), )
RAISED(IoPassive5, 2, , , IoGetConfigurationInformation(), )
RAISED(IoRtlZwPassive, 2, , , RtlCreateRegistryKey(SERVICES, L"CRules"), )
RAISED(KeApcLte1, 2, LARGE_INTEGER time = {{0}}, , KeDelayExecutionThread(0, FALSE, &time), )
RAISED(KeApcLte2, 2, , , KeEnterCriticalRegion(), KeLeaveCriticalRegion())
RAISED(KeDispatchLte, 5, KEVENT event, KeInitializeEvent(&event, 0, FALSE), KeClearEvent(&event), )
RAISED(KeSetEventWait, 2, KEVENT event, KeInitializeEvent(&event, 0, FALSE), KeSetEvent(&event, 0, Broken != 0), )
RAISED(KeWaitMultiple, 2, KEVENT event; PVOID objects[1] = {&event}, KeInitializeEvent(&event, 0, TRUE),
       KeWaitForMultipleObjects(1, objects, 0, 0, 0, FALSE, NULL, NULL), )
RAISED(KeWaitMutex, 2, KMUTEX mutex, KeInitializeMutex(&mutex, 0), KeWaitForSingleObject(&mutex, 0, 0, FALSE, NULL),
       KeReleaseMutex(&mutex, FALSE))
RAISED(MmApcLte, 2, , , MmResetDriverPaging((PVOID)DriverEntry), )
RAISED(MmDispatch, 5, PHYSICAL_ADDRESS any = {{~0u}}; PVOID memory, memory = MmAllocateContiguousMemory(64, any),
       MmFreeContiguousMemory(memory), )
RAISED(NtifsApcPassive, 2, IO_STATUS_BLOCK block; CHAR byte = 0, ,
       ZwWriteFile(NULL, NULL, NULL, NULL, &block, &byte, 1, NULL, NULL), )
RAISED(ObPassive, 2, HANDLE handle; PVOID object = NULL, handle = NewEvent(),
       ObReferenceObjectByHandle(handle, 0, NULL, 0, &object, NULL), ObfDereferenceObject(object); ZwClose(handle))
RAISED(PsPassive, 2, , , PsGetVersion(NULL, NULL, NULL, NULL), )
RAISED(RtlPassive, 2, , , RtlDeleteRegistryValue(SERVICES, L"CRules", L"None"), )
RAISED(ZwPassive, 2, HANDLE handle, handle = NewEvent(), ZwClose(handle), )

/* These routines need DISPATCH_LEVEL. */
static VOID NeedsDispatch(PDEVICE_OBJECT Device)
{
    KDEVICE_QUEUE_ENTRY entry;
    KDEVICE_QUEUE queue;
    KIRQL old = 0;

    KeInitializeDeviceQueue(&queue);
    if (!Broken) {
        old = KfRaiseIrql(2);
    }
    KeInsertDeviceQueue(&queue, &entry);
    KeRemoveDeviceQueue(&queue);
    if (!Broken) {
        KeLowerIrql(old);
    }
}

static VOID ExApcLte3(PDEVICE_OBJECT Device)
{
    ERESOURCE resource;
    KIRQL old;

    ExInitializeResourceLite(&resource);
    KeEnterCriticalRegion();
    old = Raise(2);
    ExAcquireResourceSharedLite(&resource, TRUE);
    Restore(old);
    ExReleaseResourceLite(&resource);
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&resource);
}

static VOID RaiseLower(PDEVICE_OBJECT Device)
{
    KIRQL old = KfRaiseIrql(2);

    KfRaiseIrql(Broken ? 1 : 2);
    KeLowerIrql(old);
}

static VOID RaiseLower2(PDEVICE_OBJECT Device)
{
    KIRQL old = KfRaiseIrql(2);

    if (Broken) {
        KeLowerIrql(1);
    }
    KeLowerIrql(old);
}

static VOID ReleaseSpinLock(PDEVICE_OBJECT Device)
{
    KSPIN_LOCK lock = 0;
    KIRQL old = KeAcquireSpinLockRaiseToDpc(&lock);

    KeReleaseSpinLock(&lock, Broken ? 1 : old);
    if (Broken) {
        KeLowerIrql(old);
    }
}

static NTSTATUS Return(PDEVICE_OBJECT Device, PIRP Irp)
{
    Finish(Irp, 0, 0);
    Raise(2);
    return 0;
}

/* Code that can be paged out, and that is called at DISPATCH_LEVEL. */
__attribute__((section("PAGE"), noinline)) static ULONG Pageable(void)
{
    return Broken + 1;
}

RAISED(CallPageable, 2, , , Pageable(), )

static NTSTATUS ForwardCreate(PDEVICE_OBJECT Device, PIRP Irp)
{
    KIRQL old;
    NTSTATUS status;

    Acquire(Device, Irp);
    old = Raise(2);
    status = PassOn(Device, Irp);
    Restore(old);
    Release(Device, Irp);
    return status;
}

static NTSTATUS NTAPI Free(PDEVICE_OBJECT Device, PIRP Irp, PVOID Context)
{
    IoFreeIrp(Irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Sends a request that the driver made itself, and that the driver below completes at once. */
static void SendOwn(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION next = IoGetCurrentIrpStackLocation(Irp) - 1;
    KIRQL old;

    next->MajorFunction = 9; /* IRP_MJ_FLUSH_BUFFERS */
    next->CompletionRoutine = Free;
    next->Control = 0xE0;
    old = Raise(2);
    IofCallDriver(Extension(Device)->Lower, Irp);
    Restore(old);
}

static VOID ForwardAllocated(PDEVICE_OBJECT Device)
{
    SendOwn(Device, IoAllocateIrp(2, FALSE));
}

static VOID ForwardAsynchronous(PDEVICE_OBJECT Device)
{
    SendOwn(Device, IoBuildAsynchronousFsdRequest(9, Extension(Device)->Lower, NULL, 0, NULL, NULL));
}

static VOID ForwardSynchronous(PDEVICE_OBJECT Device)
{
    IO_STATUS_BLOCK block;
    KEVENT event;
    PIRP irp;
    KIRQL old;

    KeInitializeEvent(&event, 0, FALSE);
    irp = IoBuildSynchronousFsdRequest(9, Extension(Device)->Lower, NULL, 0, NULL, &event, &block);
    old = Raise(2);
    IofCallDriver(Extension(Device)->Lower, irp);
    Restore(old);
    KeWaitForSingleObject(&event, 0, 0, FALSE, NULL);
}

const RULE Rules[] = {
    HANDLER_OF(ForwardedAtBadIrql, IRP_MJ_CREATE, ANY_MINOR, ForwardCreate),
    ACTION_OF(ForwardedAtBadIrqlAllocate, ForwardAllocated),
    ACTION_OF(ForwardedAtBadIrqlFsdAsync, ForwardAsynchronous),
    ACTION_OF(ForwardedAtBadIrqlFsdSync, ForwardSynchronous),
    ACTION_OF(IrqlApcLte, ApcLte),
    ACTION_OF(IrqlDispatch, NeedsDispatch),
    ACTION_OF(IrqlExAllocatePool, ExAllocate),
    ACTION_OF(IrqlExApcLte1, ExApcLte1),
    ACTION_OF(IrqlExApcLte2, ExApcLte2),
    ACTION_OF(IrqlExApcLte3, ExApcLte3),
    ACTION_OF(IrqlExFree1, ExFree),
    ACTION_OF(IrqlExFree2, ExFreePriority),
    ACTION_OF(IrqlExFree3, ExFreeUntagged),
    ACTION_OF(IrqlExPassive, ExPassive),
    ACTION_OF(IrqlIoApcLte, IoApcLte),
    ACTION_OF(IrqlIoPassive1, IoPassive1),
    ACTION_OF(IrqlIoPassive2, IoPassive2),
    ACTION_OF(IrqlIoPassive3, IoPassive3),
    ACTION_OF(IrqlIoPassive4, IoPassive4),
    ACTION_OF(IrqlIoPassive5, IoPassive5),
    ACTION_OF(IrqlIoRtlZwPassive, IoRtlZwPassive),
    ACTION_OF(IrqlKeApcLte1, KeApcLte1),
    ACTION_OF(IrqlKeApcLte2, KeApcLte2),
    ACTION_OF(IrqlKeDispatchLte, KeDispatchLte),
    ACTION_OF(IrqlKeRaiseLower, RaiseLower),
    ACTION_OF(IrqlKeRaiseLower2, RaiseLower2),
    ACTION_OF(IrqlKeReleaseSpinLock, ReleaseSpinLock),
    ACTION_OF(IrqlKeSetEvent, KeSetEventWait),
    ACTION_OF(IrqlKeWaitForMultipleObjects, KeWaitMultiple),
    ACTION_OF(IrqlKeWaitForMutexObject, KeWaitMutex),
    ACTION_OF(IrqlMmApcLte, MmApcLte),
    ACTION_OF(IrqlMmDispatch, MmDispatch),
    ACTION_OF(IrqlNtifsApcPassive, NtifsApcPassive),
    ACTION_OF(IrqlObPassive, ObPassive),
    ACTION_OF(IrqlPsPassive, PsPassive),
    HANDLER_OF(IrqlReturn, IRP_MJ_DEVICE_CONTROL, ANY_MINOR, Return),
    ACTION_OF(IrqlRtlPassive, RtlPassive),
    ACTION_OF(IrqlZwPassive, ZwPassive),
    ACTION_OF(PagedCode, CallPageable),
};
const ULONG RuleCount = sizeof(Rules) / sizeof(Rules[0]);
