/* A KMDF driver that uses timers, DPCs, work items and locks. Times in its log are in milliseconds. With BUG 1, callbacks wait for
   themselves. */

#include "framework.h"

#define START_TIMERS 0x222000
#define STOP_TIMERS 0x222004
#define WAITS 0x222008
#define DEFERRED 0x22200C
#define LOCKS 0x222010
#define SCOPE 0x222014
#define PARENTS 0x222018
#define ENDS 0x22201C

static WDFTIMER Once, Passive, Periodic;
static WDFWORKITEM Work, Contender;
static WDFDPC Dpc;
static WDFWAITLOCK WaitLock;
static WDFSPINLOCK SpinLock;
static WDFDEVICE Device;
static KEVENT Event;
static ULONGLONG Zero;
static ULONG Ticks, Inside;

static ULONGLONG Clock(void)
{
    ULONG64 counter;
    return KeQueryInterruptTimePrecise(&counter);
}

static ULONG Now(void)
{
    return (ULONG)((Clock() - Zero) / 10000);
}

/* Whether each has the device as its parent: a timer, a work item, a DPC. */
static ULONG HasParent(WDFOBJECT Object)
{
    if (Object == (WDFOBJECT)Once) {
        return WDF(WDFTIMERGETPARENTOBJECT, WdfTimerGetParentObject, Once) == (WDFOBJECT)Device;
    }
    if (Object == (WDFOBJECT)Work) {
        return WDF(WDFWORKITEMGETPARENTOBJECT, WdfWorkItemGetParentObject, Work) == (WDFOBJECT)Device;
    }
    return WDF(WDFDPCGETPARENTOBJECT, WdfDpcGetParentObject, Dpc) == (WDFOBJECT)Device;
}

static const char *Kind(WDFOBJECT Object)
{
    return Object == (WDFOBJECT)Once ? "timer" : Object == (WDFOBJECT)Work ? "work item" : "dpc";
}

static VOID NTAPI Cleanup(WDFOBJECT Object)
{
    LOG("cleanup %s, parent %u\n", Kind(Object), HasParent(Object));
}

static VOID NTAPI Destroy(WDFOBJECT Object)
{
    LOG("destroy %s, parent %u\n", Kind(Object), HasParent(Object));
}

static VOID NTAPI OnOnce(WDFTIMER Timer)
{
    LOG("once at %u, irql %u\n", Now(), Irql());
}

static VOID NTAPI OnPassive(WDFTIMER Timer)
{
    LARGE_INTEGER time;

    /* A callback may wait only at PASSIVE_LEVEL. */
    time.QuadPart = MILLISECONDS(10);
    KeDelayExecutionThread(0, FALSE, &time);
    LOG("passive until %u, irql %u\n", Now(), Irql());
    if (BUG == 1) {
        WDF(WDFTIMERSTOP, WdfTimerStop, Timer, TRUE);
    }
}

static VOID NTAPI OnPeriodic(WDFTIMER Timer)
{
    Ticks++;
    LOG("tick %u at %u\n", Ticks, Now());
}

static VOID NTAPI OnWork(WDFWORKITEM Item)
{
    LOG("work at irql %u\n", Irql());
}

static VOID NTAPI OnDpc(WDFDPC Object)
{
    LOG("dpc at irql %u\n", Irql());
    WDF(WDFWORKITEMENQUEUE, WdfWorkItemEnqueue, Work);
}

/* Acquires the wait lock while the request's thread holds it: first with a timeout, then without. */
static VOID NTAPI OnContender(WDFWORKITEM Item)
{
    LONGLONG timeout = MILLISECONDS(20);
    NTSTATUS status = WDF(WDFWAITLOCKACQUIRE, WdfWaitLockAcquire, WaitLock, &timeout);

    LOG("contender %x at %u\n", status, Now());
    status = WDF(WDFWAITLOCKACQUIRE, WdfWaitLockAcquire, WaitLock, NULL);
    LOG("contender %x at %u\n", status, Now());
    if (status >= 0) {
        WDF(WDFWAITLOCKRELEASE, WdfWaitLockRelease, WaitLock);
    }
}

static void StartTimers(void)
{
    LOG("was set %u\n", WDF(WDFTIMERSTART, WdfTimerStart, Once, MILLISECONDS(100)));
    LOG("was set %u\n", WDF(WDFTIMERSTART, WdfTimerStart, Once, MILLISECONDS(120)));
    WDF(WDFTIMERSTART, WdfTimerStart, Passive, MILLISECONDS(150));
    WDF(WDFTIMERSTART, WdfTimerStart, Periodic, MILLISECONDS(50));
}

static void StopTimers(void)
{
    LOG("stops %u\n", WDF(WDFTIMERSTOP, WdfTimerStop, Once, TRUE));
    LOG("stops %u\n", WDF(WDFTIMERSTOP, WdfTimerStop, Periodic, TRUE));
}

/* A delay, waits that time out, a wait for a timer, and waits for one and for both of two objects. */
static void Waits(void)
{
    PVOID objects[2] = {&Event, NULL};
    KTIMER timer;
    LARGE_INTEGER time;
    NTSTATUS status;

    time.QuadPart = MILLISECONDS(500);
    KeDelayExecutionThread(0, FALSE, &time);
    LOG("delayed until %u\n", Now());
    time.QuadPart = MILLISECONDS(200);
    status = KeWaitForSingleObject(&Event, 0, 0, FALSE, &time);
    LOG("waited: %x at %u\n", status, Now());
    time.QuadPart = 0;
    status = KeWaitForSingleObject(&Event, 0, 0, FALSE, &time);
    LOG("looked: %x at %u\n", status, Now());
    KeInitializeTimer(&timer);
    time.QuadPart = MILLISECONDS(30);
    KeSetTimer(&timer, time, NULL);
    status = KeWaitForSingleObject(&timer, 0, 0, FALSE, NULL);
    LOG("timer: %x at %u\n", status, Now());
    KeSetTimer(&timer, time, NULL);
    objects[1] = &timer;
    status = KeWaitForMultipleObjects(2, objects, 1, 0, 0, FALSE, NULL, NULL);
    LOG("either: %x at %u\n", status, Now());
    KeSetEvent(&Event, 0, FALSE);
    status = KeWaitForMultipleObjects(2, objects, 0, 0, 0, FALSE, NULL, NULL);
    LOG("both: %x at %u\n", status, Now());
    KeClearEvent(&Event);
}

static void Locks(void)
{
    LARGE_INTEGER time;

    WDF(WDFWAITLOCKACQUIRE, WdfWaitLockAcquire, WaitLock, NULL);
    WDF(WDFWORKITEMENQUEUE, WdfWorkItemEnqueue, Contender);
    time.QuadPart = MILLISECONDS(50);
    KeDelayExecutionThread(0, FALSE, &time);
    LOG("released at %u\n", Now());
    WDF(WDFWAITLOCKRELEASE, WdfWaitLockRelease, WaitLock);
    WDF(WDFWORKITEMFLUSH, WdfWorkItemFlush, Contender);
    WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, SpinLock);
    LOG("spin lock at irql %u\n", Irql());
    WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, SpinLock);
    LOG("without it at irql %u\n", Irql());
}

/* Runs under the device's lock. The request below holds that lock, so this must not run until the request returns. */
static VOID NTAPI OnScoped(WDFWORKITEM Item)
{
    LOG("scoped, %u inside\n", Inside);
}

static NTSTATUS Scope(WDFREQUEST Request)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config = {0};
    WDFWORKITEM item;
    LARGE_INTEGER time;
    NTSTATUS status;

    config.Size = sizeof(config);
    config.EvtWorkItemFunc = OnScoped;
    config.AutomaticSerialization = TRUE;
    InitAttributes(&attributes, Device);
    status = WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &config, &attributes, &item);
    if (status < 0) {
        return status;
    }
    Inside = 1;
    WDF(WDFWORKITEMENQUEUE, WdfWorkItemEnqueue, item);
    time.QuadPart = MILLISECONDS(5);
    KeDelayExecutionThread(0, FALSE, &time);
    Inside = 0;
    return status;
}

/* A work item may delete itself, but not wait for itself. */
static VOID NTAPI OnOwnEnd(WDFWORKITEM Item)
{
    if (BUG == 1) {
        WDF(WDFWORKITEMFLUSH, WdfWorkItemFlush, Item);
    }
    LOG("ends itself\n");
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Item);
    LOG("ended itself\n");
}

static VOID NTAPI OnLastWork(WDFWORKITEM Item)
{
    LOG("last work\n");
}

static NTSTATUS QueueWork(PFN_WDF_WORKITEM Callback, WDFWORKITEM *Item)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config = {0};
    NTSTATUS status;

    config.Size = sizeof(config);
    config.EvtWorkItemFunc = Callback;
    InitAttributes(&attributes, Device);
    status = WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &config, &attributes, Item);
    if (status >= 0) {
        WDF(WDFWORKITEMENQUEUE, WdfWorkItemEnqueue, *Item);
    }
    return status;
}

/* The callback of a queued work item runs before the work item is deleted. */
static NTSTATUS Ends(void)
{
    WDFWORKITEM item;
    NTSTATUS status = QueueWork(OnLastWork, &item);

    if (status < 0) {
        return status;
    }
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)item);
    LOG("deleted\n");
    return QueueWork(OnOwnEnd, &item);
}

static VOID NTAPI Control(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS status = 0;

    Zero = Clock();
    switch (Code) {
    case START_TIMERS:
        StartTimers();
        break;
    case STOP_TIMERS:
        StopTimers();
        break;
    case WAITS:
        Waits();
        break;
    case DEFERRED:
        if (!WDF(WDFDPCENQUEUE, WdfDpcEnqueue, Dpc)) {
            status = STATUS_UNSUCCESSFUL;
        }
        break;
    case LOCKS:
        Locks();
        break;
    case SCOPE:
        status = Scope(Request);
        break;
    case PARENTS:
        LOG("parents %u %u %u\n", HasParent(Once), HasParent(Work), HasParent(Dpc));
        break;
    case ENDS:
        status = Ends();
        break;
    default:
        status = STATUS_INVALID_DEVICE_REQUEST;
    }
    Complete(Request, status, 0);
}

static NTSTATUS CreateTimer(PFN_WDF_TIMER Callback, ULONG Period, WDF_EXECUTION_LEVEL Level, WDFTIMER *Timer)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_TIMER_CONFIG config = {0};

    config.Size = sizeof(config);
    config.EvtTimerFunc = Callback;
    config.Period = Period;
    InitAttributes(&attributes, Device);
    attributes.ExecutionLevel = Level;
    if (Timer == &Once) {
        attributes.EvtCleanupCallback = Cleanup;
        attributes.EvtDestroyCallback = Destroy;
    }
    return WDF(WDFTIMERCREATE, WdfTimerCreate, &config, &attributes, Timer);
}

static NTSTATUS CreateDeferred(void)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG work = {0};
    WDF_DPC_CONFIG dpc = {0};
    NTSTATUS status;

    InitAttributes(&attributes, Device);
    attributes.EvtCleanupCallback = Cleanup;
    attributes.EvtDestroyCallback = Destroy;
    work.Size = sizeof(work);
    work.EvtWorkItemFunc = OnWork;
    status = WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &work, &attributes, &Work);
    if (status >= 0) {
        dpc.Size = sizeof(dpc);
        dpc.EvtDpcFunc = OnDpc;
        status = WDF(WDFDPCCREATE, WdfDpcCreate, &dpc, &attributes, &Dpc);
    }
    InitAttributes(&attributes, Device);
    if (status >= 0) {
        work.EvtWorkItemFunc = OnContender;
        status = WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &work, &attributes, &Contender);
    }
    if (status >= 0) {
        status = WDF(WDFWAITLOCKCREATE, WdfWaitLockCreate, &attributes, &WaitLock);
    }
    if (status >= 0) {
        status = WDF(WDFSPINLOCKCREATE, WdfSpinLockCreate, &attributes, &SpinLock);
    }
    return status;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_IO_QUEUE_CONFIG queue;
    NTSTATUS status;

    Ticks = 0;
    KeInitializeEvent(&Event, 0, FALSE);
    InitAttributes(&attributes, NULL);
    attributes.ExecutionLevel = WdfExecutionLevelPassive;
    attributes.SynchronizationScope = WdfSynchronizationScopeDevice;
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, &attributes, &Device);
    if (status >= 0) {
        WDF_IO_QUEUE_CONFIG_INIT_DEFAULT_QUEUE(&queue, WdfIoQueueDispatchParallel);
        queue.EvtIoDeviceControl = Control;
        status = WDF(WDFIOQUEUECREATE, WdfIoQueueCreate, Device, &queue, NULL, NULL);
    }
    if (status >= 0) {
        status = CreateTimer(OnOnce, 0, WdfExecutionLevelInheritFromParent, &Once);
    }
    if (status >= 0) {
        status = CreateTimer(OnPassive, 0, WdfExecutionLevelPassive, &Passive);
    }
    if (status >= 0) {
        status = CreateTimer(OnPeriodic, 50, WdfExecutionLevelInheritFromParent, &Periodic);
    }
    if (status >= 0) {
        status = CreateDeferred();
    }
    return status;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
