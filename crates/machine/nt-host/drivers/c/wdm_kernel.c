/* A WDM driver that uses many parts of the kernel, and checks the results. */

#include "steps.h"

static WCHAR DeviceName[] = L"\\Device\\CKernel";
static PDEVICE_OBJECT TheDevice;
static UNICODE_STRING RegistryPath;
static KEVENT Done;
static ULONG Value;

/* The documented first members of a lookaside list, which inlined code uses. */
typedef struct {
    ULONGLONG Head[2];
    USHORT Depth, MaximumDepth;
    ULONG Counts[4];
    ULONG Type, Tag, Size;
    PVOID(NTAPI *Allocate)(ULONG Type, SIZE_T Size, ULONG Tag);
    VOID(NTAPI *Free)(PVOID Entry);
    ULONGLONG Rest[8];
} LOOKASIDE;

typedef VOID NTAPI INITIALIZE_LOOKASIDE(LOOKASIDE *, PVOID, PVOID, ULONG, SIZE_T, ULONG, USHORT);
typedef VOID NTAPI DELETE_LOOKASIDE(LOOKASIDE *);

static NTSTATUS Pool(void)
{
    INITIALIZE_LOOKASIDE *initialize = LookUp(L"ExInitializeNPagedLookasideList");
    DELETE_LOOKASIDE *delete = LookUp(L"ExDeleteNPagedLookasideList");
    LOOKASIDE list;
    UCHAR *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TAG);
    UCHAR *entry;

    if (memory == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (memory[0] != 0 || memory[99] != 0) {
        ExFreePoolWithTag(memory, TAG);
        return STATUS_UNSUCCESSFUL;
    }
    ExFreePoolWithTag(memory, TAG);
    if (initialize == NULL || delete == NULL) {
        return STATUS_NOT_SUPPORTED;
    }
    initialize(&list, NULL, NULL, 0, 64, TAG, 0);
    /* The WDK's inline functions make these calls if the list is empty or full. */
    entry = list.Allocate(list.Type, list.Size, list.Tag);
    if (entry != NULL) {
        entry[63] = 1;
        list.Free(entry);
    }
    delete(&list);
    return entry == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
}

static NTSTATUS Mdl(void)
{
    UCHAR *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, 3000, TAG);
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    PMDL mdl, part;
    UCHAR *address;

    if (memory == NULL) {
        return status;
    }
    mdl = IoAllocateMdl(memory, 3000, FALSE, FALSE, NULL);
    part = IoAllocateMdl(memory, 3000, FALSE, FALSE, NULL);
    if (mdl != NULL && part != NULL) {
        MmBuildMdlForNonPagedPool(mdl);
        IoBuildPartialMdl(mdl, part, memory + 100, 50);
        address = MmMapLockedPagesSpecifyCache(part, 0, 1, NULL, FALSE, 16);
        status = address == memory + 100 && part->ByteCount == 50 && mdl->MappedSystemVa == memory
                     ? 0
                     : STATUS_UNSUCCESSFUL;
        if (address == NULL) {
            status = STATUS_INSUFFICIENT_RESOURCES;
        } else {
            MmUnmapLockedPages(address, part);
        }
    }
    if (part != NULL) {
        IoFreeMdl(part);
    }
    if (mdl != NULL) {
        IoFreeMdl(mdl);
    }
    ExFreePoolWithTag(memory, TAG);
    return status;
}

static VOID NTAPI TakeShared(PVOID Context)
{
    PERESOURCE resource = Context;

    /* Does not wait: this fails if another thread has the resource exclusively. */
    KeEnterCriticalRegion();
    Value = ExAcquireResourceSharedLite(resource, FALSE) ? 1 : 2;
    if (Value == 1) {
        ExReleaseResourceLite(resource);
    }
    KeLeaveCriticalRegion();
    PsTerminateSystemThread(0);
}

/* Runs a routine on a new thread and waits until the thread ends. */
static NTSTATUS OnThread(PKSTART_ROUTINE Routine, PVOID Context)
{
    PVOID thread;
    HANDLE handle;
    NTSTATUS status = PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Routine, Context);

    if (status < 0) {
        return status;
    }
    status = ObReferenceObjectByHandle(handle, 0, NULL, 0, &thread, NULL);
    if (status >= 0) {
        KeWaitForSingleObject(thread, 0, 0, FALSE, NULL);
        ObfDereferenceObject(thread);
    } else {
        /* The thread must end before the driver is unloaded. */
        LARGE_INTEGER time;
        time.QuadPart = MILLISECONDS(100);
        KeDelayExecutionThread(0, FALSE, &time);
    }
    ZwClose(handle);
    return status;
}

static NTSTATUS Resource(void)
{
    ERESOURCE resource;
    NTSTATUS status = ExInitializeResourceLite(&resource);

    if (status < 0) {
        return status;
    }
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(&resource, TRUE);
    Value = 0;
    if (!ExIsResourceAcquiredExclusiveLite(&resource) || !ExAcquireResourceExclusiveLite(&resource, FALSE)) {
        status = STATUS_UNSUCCESSFUL;
    } else {
        ExReleaseResourceLite(&resource);
        status = OnThread(TakeShared, &resource);
    }
    ExReleaseResourceLite(&resource);
    if (status >= 0 && Value != 2) {
        status = STATUS_UNSUCCESSFUL;
    }
    if (status >= 0) {
        ExAcquireResourceSharedLite(&resource, TRUE);
        status = OnThread(TakeShared, &resource);
        ExReleaseResourceLite(&resource);
        if (status >= 0 && Value != 1) {
            status = STATUS_UNSUCCESSFUL;
        }
    }
    KeLeaveCriticalRegion();
    ExDeleteResourceLite(&resource);
    return status;
}

static VOID NTAPI TryMutex(PVOID Context)
{
    Value = ExTryToAcquireFastMutex(Context) ? 1 : 2;
    if (Value == 1) {
        ExReleaseFastMutex(Context);
    }
    PsTerminateSystemThread(0);
}

static NTSTATUS FastMutex(void)
{
    FAST_MUTEX mutex = {0};
    NTSTATUS status;
    ULONG inside;

    mutex.Count = 1;
    KeInitializeEvent(&mutex.Event, 1, FALSE);
    ExAcquireFastMutex(&mutex);
    inside = Irql();
    ExReleaseFastMutex(&mutex);
    CHECK(inside == 1 && Irql() == 0);
    ExAcquireFastMutexUnsafe(&mutex);
    status = OnThread(TryMutex, &mutex);
    ExReleaseFastMutexUnsafe(&mutex);
    CHECK(status < 0 || Value == 2);
    return status;
}

typedef VOID NTAPI PUSH_LOCK_ROUTINE(ULONG_PTR *Lock, ULONG Flags);

/* Looks up the push lock routines, because the kit's import library does not have them. */
static NTSTATUS PushLock(void)
{
    static const PWSTR names[] = {L"ExAcquirePushLockExclusiveEx", L"ExReleasePushLockExclusiveEx",
                                  L"ExAcquirePushLockSharedEx", L"ExReleasePushLockSharedEx"};
    PUSH_LOCK_ROUTINE *routines[4];
    ULONG_PTR lock = 0;
    ULONG index;

    for (index = 0; index < 4; index++) {
        routines[index] = LookUp(names[index]);
        if (routines[index] == NULL) {
            return STATUS_NOT_SUPPORTED;
        }
    }
    KeEnterCriticalRegion();
    routines[0](&lock, 0);
    routines[1](&lock, 0);
    routines[2](&lock, 0);
    routines[2](&lock, 0);
    routines[3](&lock, 0);
    routines[3](&lock, 0);
    KeLeaveCriticalRegion();
    CHECK(lock == 0);
    return 0;
}

static NTSTATUS SpinLocks(void)
{
    EX_SPIN_LOCK shared = 0;
    KSPIN_LOCK lock;
    KLOCK_QUEUE_HANDLE queued;
    KIRQL old, second;

    KeInitializeSpinLock(&lock);
    old = ExAcquireSpinLockShared(&shared);
    CHECK(old == 0 && Irql() == 2);
    second = ExAcquireSpinLockShared(&shared);
    ExReleaseSpinLockShared(&shared, second);
    ExReleaseSpinLockShared(&shared, old);
    old = ExAcquireSpinLockExclusive(&shared);
    ExReleaseSpinLockExclusive(&shared, old);
    CHECK(Irql() == 0 && shared == 0);
    KeAcquireInStackQueuedSpinLock(&lock, &queued);
    CHECK(Irql() == 2);
    KeReleaseInStackQueuedSpinLock(&queued);
    CHECK(Irql() == 0);
    return 0;
}

static VOID NTAPI Work(PDEVICE_OBJECT Device, PVOID Context)
{
    Value = Irql() == 0 && Device == TheDevice && Context == &Done ? 3 : 4;
    KeSetEvent(&Done, 0, FALSE);
}

static NTSTATUS WorkItem(void)
{
    PIO_WORKITEM item = IoAllocateWorkItem(TheDevice);

    if (item == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    KeClearEvent(&Done);
    IoQueueWorkItem(item, Work, 1, &Done);
    KeWaitForSingleObject(&Done, 0, 0, FALSE, NULL);
    IoFreeWorkItem(item);
    CHECK(Value == 3);
    return 0;
}

static VOID NTAPI Dpc(PKDPC Object, PVOID Context, PVOID First, PVOID Second)
{
    Value += Irql() == 2 && Context == &Value;
    if (Value == 3) {
        KeSetEvent(&Done, 0, FALSE);
    }
}

static NTSTATUS Timer(void)
{
    LARGE_INTEGER time;
    KTIMER timer;
    KDPC dpc;

    Value = 0;
    KeClearEvent(&Done);
    KeInitializeTimerEx(&timer, 1);
    KeInitializeDpc(&dpc, Dpc, &Value);
    time.QuadPart = MILLISECONDS(20);
    KeSetTimerEx(&timer, time, 10, &dpc);
    KeWaitForSingleObject(&Done, 0, 0, FALSE, NULL);
    CHECK(KeCancelTimer(&timer) && !KeCancelTimer(&timer));
    KeFlushQueuedDpcs();
    CHECK(Value == 3);
    return 0;
}

static VOID NTAPI Extended(PEX_TIMER Object, PVOID Context)
{
    KeSetEvent(Context, 0, FALSE);
}

static NTSTATUS ExtendedTimer(void)
{
    PEX_TIMER timer;

    KeClearEvent(&Done);
    timer = ExAllocateTimer(Extended, &Done, 0);
    if (timer == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    ExSetTimer(timer, MILLISECONDS(15), 0, NULL);
    KeWaitForSingleObject(&Done, 0, 0, FALSE, NULL);
    ExSetTimer(timer, MILLISECONDS(15), 0, NULL);
    CHECK(ExDeleteTimer(timer, TRUE, TRUE, NULL));
    return 0;
}

static NTSTATUS Registry(void)
{
    UCHAR buffer[64];
    KEY_VALUE_PARTIAL_INFORMATION *information = (void *)buffer;
    OBJECT_ATTRIBUTES attributes = {0};
    UNICODE_STRING name;
    HANDLE key;
    ULONG length;
    NTSTATUS status;

    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &RegistryPath;
    attributes.Attributes = 0x240;
    status = ZwOpenKey(&key, 0x20019, &attributes);
    if (status < 0) {
        return status;
    }
    RtlInitUnicodeString(&name, L"Start");
    status = ZwQueryValueKey(key, &name, 2, information, sizeof(buffer), &length);
    if (status >= 0 && (information->Type != 4 || *(ULONG *)information->Data != 3)) {
        status = STATUS_UNSUCCESSFUL;
    }
    if (status >= 0) {
        status = ZwSetValueKey(key, &name, 0, 4, &length, sizeof(length));
    }
    ZwClose(key);
    return status;
}

static NTSTATUS Dispatchers(void)
{
    LARGE_INTEGER now = {0};
    KSEMAPHORE semaphore;
    KMUTEX mutex;

    KeInitializeSemaphore(&semaphore, 1, 2);
    CHECK(KeWaitForSingleObject(&semaphore, 0, 0, FALSE, &now) == 0);
    CHECK(KeWaitForSingleObject(&semaphore, 0, 0, FALSE, &now) == 0x102);
    CHECK(KeReleaseSemaphore(&semaphore, 0, 2, FALSE) == 0 && KeReadStateSemaphore(&semaphore) == 2);
    KeInitializeMutex(&mutex, 0);
    CHECK(KeWaitForSingleObject(&mutex, 0, 0, FALSE, NULL) == 0);
    CHECK(KeWaitForSingleObject(&mutex, 0, 0, FALSE, NULL) == 0);
    KeReleaseMutex(&mutex, FALSE);
    KeReleaseMutex(&mutex, FALSE);
    CHECK(KeReadStateMutex(&mutex) == 1);
    return 0;
}

static NTSTATUS Bits(void)
{
    ULONG words[2] = {0xF, 0};
    RTL_BITMAP map;

    RtlInitializeBitMap(&map, words, 40);
    CHECK(RtlFindClearBitsAndSet(&map, 3, 0) == 4 && words[0] == 0x7F);
    RtlSetBits(&map, 30, 4);
    CHECK(words[0] == 0xC000007F && words[1] == 3);
    CHECK(RtlFindClearBitsAndSet(&map, 30, 0) == 0xFFFFFFFF);
    RtlClearAllBits(&map);
    CHECK(words[0] == 0 && (words[1] & 0xFF) == 0);
    return 0;
}

static NTSTATUS ByName(void)
{
    UNICODE_STRING name;
    PDEVICE_OBJECT device;
    PFILE_OBJECT file;
    NTSTATUS status;

    RtlInitUnicodeString(&name, DeviceName);
    status = IoGetDeviceObjectPointer(&name, 0x80, &file, &device);
    if (status < 0) {
        return status;
    }
    ObfDereferenceObject(file);
    CHECK(device == TheDevice);
    return 0;
}

/* The bits of a slot above its argument are undefined. */
#define GARBAGE 0xA5A5A5A500000000ULL

static NTSTATUS UpperHalves(void)
{
    OBJECT_ATTRIBUTES attributes = {0};
    IO_STATUS_BLOCK block;
    UNICODE_STRING name;
    KEVENT events[2];
    PVOID objects[2] = {&events[0], &events[1]};
    ULONG input = 0;
    NTSTATUS status;
    HANDLE file;

    KeInitializeEvent(&events[0], 0, TRUE);
    KeInitializeEvent(&events[1], 0, TRUE);
    status = (NTSTATUS)((ANY)KeWaitForMultipleObjects)(GARBAGE | 2, objects, GARBAGE, GARBAGE, GARBAGE, GARBAGE, NULL, NULL);
    CHECK(status == 0);

    RtlInitUnicodeString(&name, DeviceName);
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = 0x240;
    status = ZwOpenFile(&file, 0x80000000, &attributes, &block, 0, 0);
    if (status < 0) {
        return status;
    }
    /* There is no room for the output. */
    status = (NTSTATUS)((ANY)ZwDeviceIoControlFile)(file, NULL, NULL, NULL, &block, GARBAGE | 0x222000, &input,
                                                    GARBAGE | sizeof(input), NULL, GARBAGE);
    ZwClose(file);
    return status == STATUS_BUFFER_TOO_SMALL ? 0 : status;
}

static const STEP Steps[] = {
    STEP(pool_blocks_are_zeroed_and_lookaside_lists_allocate, Pool),
    STEP(a_partial_mdl_describes_a_range_of_its_source, Mdl),
    STEP(an_exclusive_resource_keeps_readers_of_other_threads_out, Resource),
    STEP(a_fast_mutex_raises_the_irql_and_has_one_owner, FastMutex),
    STEP(push_locks_can_be_shared, PushLock),
    STEP(spin_locks_raise_and_restore_the_irql, SpinLocks),
    STEP(a_work_item_runs_at_passive_level, WorkItem),
    STEP(a_periodic_timer_queues_its_dpc_until_it_is_canceled, Timer),
    STEP(an_extended_timer_is_canceled_when_it_is_deleted, ExtendedTimer),
    STEP(the_service_key_has_values, Registry),
    STEP(semaphores_count_and_mutexes_are_recursive, Dispatchers),
    STEP(runs_of_clear_bits_are_found_and_set, Bits),
    STEP(a_device_is_found_by_its_name, ByName),
    STEP(the_upper_halves_of_narrow_arguments_are_ignored, UpperHalves),
};

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    return RUN_STEPS(Irp);
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    return Finish(Irp, 0, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(TheDevice);
    ExFreePoolWithTag(RegistryPath.Buffer, TAG);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    NTSTATUS status;

    KeInitializeEvent(&Done, 0, FALSE);
    RegistryPath.Buffer = ExAllocatePool2(POOL_FLAG_NON_PAGED, Path->Length, TAG);
    if (RegistryPath.Buffer == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    RegistryPath.Length = 0;
    RegistryPath.MaximumLength = Path->Length;
    RtlCopyUnicodeString(&RegistryPath, Path);
    RtlInitUnicodeString(&name, DeviceName);
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
    if (status < 0) {
        ExFreePoolWithTag(RegistryPath.Buffer, TAG);
        return status;
    }
    TheDevice->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return status;
}
