/* A WDM driver whose threads share mutexes and resources, and wait for DPCs and events. Time is
   virtual: a delay ends when all other threads wait or have ended. With BUG it releases a resource that
   another thread holds. */

#include "steps.h"

static WCHAR DeviceName[] = L"\\Device\\CSync";
static PDEVICE_OBJECT TheDevice;
static ULONG Value, Other;

static VOID Delay(LONG Milliseconds)
{
    LARGE_INTEGER time;

    time.QuadPart = MILLISECONDS(Milliseconds);
    KeDelayExecutionThread(0, FALSE, &time);
}

/* Starts a thread and gives it time to end or to wait. */
static NTSTATUS Start(PKSTART_ROUTINE Routine, PVOID Context)
{
    HANDLE handle;
    NTSTATUS status = PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Routine, Context);

    if (status >= 0) {
        ZwClose(handle);
        Delay(1);
    }
    return status;
}

static NTSTATUS GuardedMutex(void)
{
    /* Since Windows 8 a guarded mutex is a fast mutex. */
    ULONG inside = (USHORT)*NtBuildNumber >= 9200 ? 1 : 0;
    /* Looked up before the IRQL is raised, because MmGetSystemRoutineAddress needs PASSIVE_LEVEL. */
    ANY acquire = LookUp(L"KeAcquireGuardedMutex"), release = LookUp(L"KeReleaseGuardedMutex");
    ANY attempt = LookUp(L"KeTryToAcquireGuardedMutex"), disabled = LookUp(L"KeAreAllApcsDisabled");
    FAST_MUTEX mutex;

    CALL(ANY, "KeInitializeGuardedMutex", &mutex);
    acquire(&mutex);
    CHECK(Irql() == inside && (UCHAR)disabled() == 1);
    release(&mutex);
    CHECK(Irql() == 0 && (UCHAR)disabled() == 0);
    CHECK((UCHAR)attempt(&mutex) == 1);
    CHECK(Irql() == inside && (UCHAR)disabled() == 1);
    CHECK((UCHAR)attempt(&mutex) == 0 && Irql() == inside);
    release(&mutex);
    CHECK(Irql() == 0 && (UCHAR)disabled() == 0);
    /* In a guarded region the unsafe routines are enough, and do not raise the IRQL. */
    CALL(ANY, "KeEnterGuardedRegion");
    CALL(ANY, "KeAcquireGuardedMutexUnsafe", &mutex);
    CHECK(Irql() == 0 && (UCHAR)attempt(&mutex) == 0);
    CALL(ANY, "KeReleaseGuardedMutexUnsafe", &mutex);
    CALL(ANY, "KeLeaveGuardedRegion");
    CHECK(Irql() == 0 && (UCHAR)disabled() == 0);
    return 0;
}

static VOID NTAPI Count(PKDPC Dpc, PVOID Context, PVOID First, PVOID Second)
{
    Value++;
}

static VOID NTAPI Flush(PDEVICE_OBJECT Device, PVOID Context)
{
    KDPC dpc;

    KeInitializeDpc(&dpc, Count, NULL);
    KeInsertQueueDpc(&dpc, NULL, NULL);
    KeFlushQueuedDpcs();
    Other = Value;
    KeSetEvent(Context, 0, FALSE);
}

/* A work item may wait for DPCs, because it is not a DPC itself. */
static NTSTATUS FlushedDpcs(void)
{
    PIO_WORKITEM item = IoAllocateWorkItem(TheDevice);
    KEVENT done;

    CHECK(item != NULL);
    Value = Other = 0;
    KeInitializeEvent(&done, 0, FALSE);
    IoQueueWorkItem(item, Flush, 1, &done);
    KeWaitForSingleObject(&done, 0, 0, FALSE, NULL);
    IoFreeWorkItem(item);
    CHECK(Other == 1);
    return 0;
}

/* A thread that holds a resource until `LetGo` is set. */
static KEVENT LetGo;
static PVOID Holder;

static VOID NTAPI Hold(PVOID Resource)
{
    Holder = KeGetCurrentThread();
    KeEnterCriticalRegion();
    ExAcquireResourceSharedLite(Resource, TRUE);
    Value = (ULONG)CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource);
    KeWaitForSingleObject(&LetGo, 0, 0, FALSE, NULL);
    Other = (ULONG)CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource);
    if (Other != 0) {
        ExReleaseResourceLite(Resource);
    }
    KeLeaveCriticalRegion();
    PsTerminateSystemThread(0);
}

/* Acquires a resource exclusively. */
static VOID NTAPI Write(PVOID Resource)
{
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(Resource, TRUE);
    Other = 1;
    ExReleaseResourceLite(Resource);
    KeLeaveCriticalRegion();
    PsTerminateSystemThread(0);
}

static NTSTATUS UseResource(PERESOURCE Resource)
{
    /* A resource that another thread holds is not acquired by this thread. */
    KeInitializeEvent(&LetGo, 1, FALSE);
    Value = Other = 0;
    CHECK(Start(Hold, Resource) == 0);
    CHECK(Value == 1 && CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource) == 0);
#if BUG == 1
    ExReleaseResourceLite(Resource);
#endif
    ExAcquireResourceSharedLite(Resource, TRUE);
    CHECK((ULONG)CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource) == 1);
    ExReleaseResourceLite(Resource);
    KeSetEvent(&LetGo, 0, FALSE);
    Delay(1);
    CHECK(Other == 1);
    /* One thread can release a resource for the thread that holds it. */
    CHECK(Start(Hold, Resource) == 0);
    CALL(ANY, "ExReleaseResourceForThreadLite", Resource, Holder);
    KeSetEvent(&LetGo, 0, FALSE);
    Delay(1);
    CHECK(Other == 0);
    /* Exclusive access also counts as shared access. Conversion keeps the count and lets no writer in between. */
    ExAcquireResourceExclusiveLite(Resource, TRUE);
    ExAcquireResourceExclusiveLite(Resource, TRUE);
    CHECK((ULONG)CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource) == 2);
    CHECK(Start(Write, Resource) == 0);
    CALL(ANY, "ExConvertExclusiveToSharedLite", Resource);
    Delay(1);
    CHECK(!ExIsResourceAcquiredExclusiveLite(Resource) && Other == 0);
    CHECK((ULONG)CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource) == 2);
    /* A reader waits behind the writer, unless it already has the resource or may starve the writer. */
    CHECK((ULONG)CALL(ANY, "ExGetExclusiveWaiterCount", Resource) == 1);
    Value = 0;
    CHECK(Start(Hold, Resource) == 0 && Value == 0);
    CHECK(ExAcquireResourceSharedLite(Resource, FALSE));
    CHECK((UCHAR)CALL(ANY, "ExAcquireSharedStarveExclusive", Resource, FALSE) == 1);
    CHECK((UCHAR)CALL(ANY, "ExAcquireSharedWaitForExclusive", Resource, FALSE) == 0);
    ExReleaseResourceLite(Resource);
    ExReleaseResourceLite(Resource);
    ExReleaseResourceLite(Resource);
    Delay(1);
    CHECK(Value == 0 && Other == 0);
    ExReleaseResourceLite(Resource);
    Delay(1);
    CHECK(Value == 1 && Other == 1 && CALL(ANY, "ExIsResourceAcquiredSharedLite", Resource) == 0);
    CHECK((ULONG)CALL(ANY, "ExGetExclusiveWaiterCount", Resource) == 0);
    Other = 0;
    KeSetEvent(&LetGo, 0, FALSE);
    Delay(1);
    CHECK(Other == 1);
    return 0;
}

static NTSTATUS Resource(void)
{
    static ERESOURCE resource;
    NTSTATUS status = ExInitializeResourceLite(&resource);

    if (status < 0) {
        return status;
    }
    KeEnterCriticalRegion();
    status = UseResource(&resource);
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&resource);
    return status;
}

static KMUTEX Mutex;

/* Waits up to one second for an event. */
static VOID NTAPI Wait(PVOID Event)
{
    LARGE_INTEGER second;

    second.QuadPart = MILLISECONDS(1000);
    if (KeWaitForSingleObject(Event, 0, 0, FALSE, &second) == 0) {
        __atomic_fetch_add(&Value, 1, __ATOMIC_SEQ_CST);
    } else {
        __atomic_fetch_add(&Other, 1, __ATOMIC_SEQ_CST);
    }
    PsTerminateSystemThread(0);
}

/* Waits up to one second for both an event and the mutex. */
static VOID NTAPI WaitForBoth(PVOID Event)
{
    PVOID objects[] = {Event, &Mutex};
    LARGE_INTEGER second;

    second.QuadPart = MILLISECONDS(1000);
    if (KeWaitForMultipleObjects(2, objects, 0, 0, 0, FALSE, &second, NULL) == 0) {
        Value++;
        KeReleaseMutex(&Mutex, FALSE);
    } else {
        Other++;
    }
    PsTerminateSystemThread(0);
}

#define PULSE(event) ((LONG)CALL(ANY, "KePulseEvent", event, 0, FALSE))

/* A pulse ends one wait for a synchronization event, or all waits for a notification event. It ends no later wait. */
static NTSTATUS PulsedEvents(void)
{
    LARGE_INTEGER now = {0};
    ULONG kind, index;
    KEVENT event;

    KeInitializeMutex(&Mutex, 0);
    for (kind = 0; kind < 2; kind++) {
        KeInitializeEvent(&event, kind, TRUE);
        CHECK(PULSE(&event) == 1 && KeReadStateEvent(&event) == 0);
        Value = Other = 0;
        for (index = 0; index < 3; index++) {
            CHECK(Start(Wait, &event) == 0);
        }
        CHECK(PULSE(&event) == 0 && KeReadStateEvent(&event) == 0);
        CHECK(KeWaitForSingleObject(&event, 0, 0, FALSE, &now) == 0x102);
        Delay(10);
        CHECK(Value == (kind == 0 ? 3 : 1) && Other == 0);
        Delay(2000);
        CHECK(Value + Other == 3 && Value == (kind == 0 ? 3 : 1));
        /* A pulse ends a wait for all objects only if the others are signaled, too. The wait then acquires them all. */
        KeWaitForSingleObject(&Mutex, 0, 0, FALSE, NULL);
        Value = Other = 0;
        CHECK(Start(WaitForBoth, &event) == 0);
        PULSE(&event);
        KeReleaseMutex(&Mutex, FALSE);
        Delay(10);
        CHECK(Value == 0 && Other == 0);
        PULSE(&event);
        Delay(10);
        CHECK(Value == 1 && KeReadStateMutex(&Mutex) == 1 && KeReadStateEvent(&event) == 0);
    }
    return 0;
}

/* Acquires an object and keeps it for a while. */
static VOID NTAPI Keep(PVOID Object)
{
    KeWaitForSingleObject(Object, 0, 0, FALSE, NULL);
    Delay(10);
    Value++;
    if (Object == &Mutex) {
        KeReleaseMutex(&Mutex, FALSE);
    }
    PsTerminateSystemThread(0);
}

/* What is signaled satisfies the waits at once, although the threads continue later. */
static NTSTATUS Satisfied(void)
{
    LARGE_INTEGER now = {0};
    ULONG index;
    KEVENT event;
    KSEMAPHORE semaphore;

    /* A synchronization event that is set twice ends two waits. */
    KeInitializeEvent(&event, 1, FALSE);
    Value = Other = 0;
    for (index = 0; index < 3; index++) {
        CHECK(Start(Wait, &event) == 0);
    }
    CHECK(KeSetEvent(&event, 0, FALSE) == 0 && KeSetEvent(&event, 0, FALSE) == 0 && KeReadStateEvent(&event) == 0);
    Delay(2000);
    CHECK(Value == 2 && Other == 1);
    /* A notification event ends all waits, even if it is reset at once. */
    KeInitializeEvent(&event, 0, FALSE);
    Value = Other = 0;
    for (index = 0; index < 3; index++) {
        CHECK(Start(Wait, &event) == 0);
    }
    KeSetEvent(&event, 0, FALSE);
    KeClearEvent(&event);
    Delay(2000);
    CHECK(Value == 3 && Other == 0);
    /* A mutex and a semaphore belong to the thread that waited, not to the next one that tries. */
    KeInitializeMutex(&Mutex, 0);
    KeWaitForSingleObject(&Mutex, 0, 0, FALSE, NULL);
    Value = 0;
    CHECK(Start(Keep, &Mutex) == 0);
    KeReleaseMutex(&Mutex, FALSE);
    CHECK(KeWaitForSingleObject(&Mutex, 0, 0, FALSE, &now) == 0x102);
    Delay(100);
    CHECK(Value == 1 && KeReadStateMutex(&Mutex) == 1);
    KeInitializeSemaphore(&semaphore, 0, 2);
    CHECK(Start(Keep, &semaphore) == 0);
    KeReleaseSemaphore(&semaphore, 0, 2, FALSE);
    CHECK(KeReadStateSemaphore(&semaphore) == 1);
    Delay(100);
    CHECK(Value == 2 && KeReadStateSemaphore(&semaphore) == 1);
    return 0;
}

#define ABANDONED ((LIST_ENTRY *)0x80)

static KQUEUE Queue;
static LIST_ENTRY Entries[3];

/* Waits for an entry of the queue. */
static VOID NTAPI Take(PVOID Context)
{
    LIST_ENTRY *entry = KeRemoveQueue(&Queue, 0, NULL);

    (void)Context;
    if (entry == ABANDONED) {
        Other++;
    } else {
        Value = 10 * Value + (ULONG)(entry - Entries);
    }
    PsTerminateSystemThread(0);
}

/* Threads get the entries of a queue in order, whether these were there before them or not. After the queue was run down, they
   get STATUS_ABANDONED. */
static NTSTATUS Queues(void)
{
    LARGE_INTEGER now = {0};
    ULONG index;

    Value = Other = 0;
    KeInitializeQueue(&Queue, 0);
    CHECK(KeRemoveQueue(&Queue, 0, &now) == (LIST_ENTRY *)0x102);
    CHECK(KeInsertQueue(&Queue, &Entries[1]) == 0 && KeInsertQueue(&Queue, &Entries[2]) == 1);
    CHECK(KeInsertHeadQueue(&Queue, &Entries[0]) == 2 && KeReadStateQueue(&Queue) == 3);
    CHECK(KeRemoveQueue(&Queue, 0, NULL) == &Entries[0] && KeReadStateQueue(&Queue) == 2);
    CHECK(Start(Take, NULL) == 0 && Value == 1);
    CHECK(Start(Take, NULL) == 0 && Value == 12);
    CHECK(Start(Take, NULL) == 0 && Value == 12);
    CHECK(KeInsertQueue(&Queue, &Entries[0]) == 0);
    Delay(1);
    CHECK(Value == 120 && KeReadStateQueue(&Queue) == 0);
    CHECK(Start(Take, NULL) == 0 && Other == 0);
    CHECK(KeRundownQueue(&Queue) == NULL);
    Delay(1);
    CHECK(Other == 1 && KeRemoveQueue(&Queue, 0, NULL) == ABANDONED);
    KeInitializeQueue(&Queue, 1);
    for (index = 0; index < 3; index++) {
        KeInsertQueue(&Queue, &Entries[index]);
    }
    CHECK(KeRundownQueue(&Queue) == &Entries[0]);
    CHECK(Entries[0].Flink == &Entries[1] && Entries[2].Flink == &Entries[0] && Entries[0].Blink == &Entries[2]);
    return 0;
}

static const STEP Steps[] = {
    STEP(guarded_mutexes_disable_apcs, GuardedMutex),
    STEP(a_work_item_can_wait_for_dpcs, FlushedDpcs),
    STEP(readers_of_a_resource_wait_behind_writers, Resource),
    STEP(a_pulse_ends_no_later_wait, PulsedEvents),
    STEP(what_is_signaled_satisfies_waits_at_once, Satisfied),
    STEP(threads_take_the_entries_of_a_queue_in_order, Queues),
};

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    if (IoGetCurrentIrpStackLocation(Irp)->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    return RUN_STEPS(Irp);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDevice(Driver, DeviceName, Dispatch, &TheDevice);
}
