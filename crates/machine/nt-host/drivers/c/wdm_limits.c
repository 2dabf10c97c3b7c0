/* A WDM driver that uses too much of a resource or does something forbidden. The control code selects the action. */

#include "plain.h"

#define CODE(function) (0x222000 + (function) * 4)

static PDEVICE_OBJECT TheDevice;
static KDPC Dpc;
static KTIMER Timer;
static KEVENT Never;
static volatile BOOLEAN SpinsInUnload;
static struct {
    ULONG Value;
} *Global;
static UCHAR Space[64] __attribute__((aligned(64)));

/* Many allocations at the same time, each with different contents. */
static NTSTATUS Many(ULONG Count)
{
    ULONG **all = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, Count * sizeof *all, TAG);
    ULONG index, wrong = 0;

    if (all == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (index = 0; index < Count; index++) {
        all[index] = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 4 + index % 60, TAG);
        if (all[index] == NULL) {
            wrong++;
            break;
        }
        *all[index] = index;
    }
    while (index-- != 0) {
        wrong += *all[index] != index;
        ExFreePoolWithTag(all[index], TAG);
    }
    ExFreePoolWithTag(all, TAG);
    return wrong == 0 ? 0 : STATUS_UNSUCCESSFUL;
}

/* Allocates 1 MiB at a time until no memory is left. Returns the number of allocations. */
static ULONG Exhaust(void)
{
    PVOID *last = NULL;
    ULONG count = 0;

    for (;;) {
        PVOID *next = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 1 << 20, TAG);

        if (next == NULL) {
            break;
        }
        *next = last;
        last = next;
        count++;
    }
    while (last != NULL) {
        PVOID *next = *last;

        ExFreePoolWithTag(last, TAG);
        last = next;
    }
    return count;
}

/* Reads a string value while no memory is left for it. */
static NTSTATUS QueryWithoutMemory(void)
{
    RTL_QUERY_REGISTRY_TABLE table[2] = {{0}};
    UNICODE_STRING path = {0};
    PVOID *last = NULL, *next;
    NTSTATUS status;

    while ((next = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 0x1000, TAG)) != NULL) {
        *next = last;
        last = next;
    }
    table[0].Flags = 0x20; /* RTL_QUERY_REGISTRY_DIRECT */
    table[0].Name = L"CurrentBuild";
    table[0].EntryContext = &path;
    table[0].DefaultType = 1; /* REG_SZ */
    table[0].DefaultData = L"default";
    status = RtlQueryRegistryValues(3, L"", table, NULL, NULL);
    for (; last != NULL; last = next) {
        next = *last;
        ExFreePoolWithTag(last, TAG);
    }
    return status;
}

/* Takes the memory that the system has for objects. Returns the last part of it. */
static PVOID *TakeMemory(void)
{
    PHYSICAL_ADDRESS anywhere = {0};
    PVOID *last = NULL, *next;
    SIZE_T size;

    for (size = 1 << 20; size >= 1 << 12; size >>= 8) {
        while ((next = MmMapIoSpace(anywhere, size, 0)) != NULL) {
            next[0] = last;
            next[1] = (PVOID)size;
            last = next;
        }
    }
    return last;
}

static void GiveMemory(PVOID *Last)
{
    PVOID *next;

    for (; Last != NULL; Last = next) {
        next = Last[0];
        MmUnmapIoSpace(Last, (ULONG_PTR)Last[1]);
    }
}

/* Builds IRPs while the system has no memory for their buffers. Sets a bit for each IRP that was built. */
static ULONG BuildWithoutMemory(void)
{
    LARGE_INTEGER offset = {0};
    PVOID *memory = TakeMemory();
    IO_STATUS_BLOCK block;
    ULONG built = 0;

    built |= (IoBuildDeviceIoControlRequest(CODE(12), TheDevice, Space, 8, Space, 8, FALSE, &Never, &block) != NULL) << 0;
    /* METHOD_OUT_DIRECT: the output has an MDL. */
    built |= (IoBuildDeviceIoControlRequest(CODE(12) | 2, TheDevice, NULL, 0, Space, 8, FALSE, &Never, &block) != NULL) << 1;
    built |= (IoBuildSynchronousFsdRequest(IRP_MJ_READ, TheDevice, Space, 8, &offset, &Never, &block) != NULL) << 2;
    built |= (IoBuildAsynchronousFsdRequest(IRP_MJ_WRITE, TheDevice, Space, 8, &offset, &block) != NULL) << 3;
    GiveMemory(memory);
    return built;
}

static VOID NTAPI Thread(PVOID Context)
{
    (void)Context;
}

static VOID NTAPI Tick(PDEVICE_OBJECT Device, PVOID Context)
{
    (void)Device;
    (void)Context;
}

/* Creates objects while the system has no memory for them. Sets a bit for each routine that does not report this. */
static ULONG CreateWithoutMemory(void)
{
    UNICODE_STRING name;
    OBJECT_ATTRIBUTES attributes = {sizeof attributes, NULL, &name};
    NTSTATUS expected = STATUS_INSUFFICIENT_RESOURCES;
    PVOID *memory;
    PDEVICE_OBJECT device;
    PCALLBACK_OBJECT callback;
    HANDLE handle;
    ULONG wrong = 0;

    RtlInitUnicodeString(&name, L"\\Callback\\Limits");
    memory = TakeMemory();
    wrong |= (IoCreateDevice(TheDevice->DriverObject, 8, NULL, 0x22, 0, FALSE, &device) != expected) << 0;
    wrong |= (ZwCreateEvent(&handle, 0, NULL, 0, FALSE) != expected) << 1;
    wrong |= (IoCreateNotificationEvent(&name, &handle) != NULL) << 2;
    wrong |= (PsCreateSystemThread(&handle, 0, NULL, NULL, NULL, Thread, NULL) != expected) << 3;
    wrong |= (ExCreateCallback(&callback, &attributes, TRUE, TRUE) != expected) << 4;
    wrong |= (IoInitializeTimer(TheDevice, Tick, NULL) != expected) << 5;
    GiveMemory(memory);
    return wrong;
}

/* Creates devices until there are no resources for one more, and deletes them. Returns the number. */
static ULONG Devices(NTSTATUS *Last)
{
    PDEVICE_OBJECT device;
    ULONG count = 0, index;

    while ((*Last = IoCreateDevice(TheDevice->DriverObject, 0x1000, NULL, 0x22, 0, FALSE, &device)) >= 0) {
        count++;
    }
    for (index = 0; index < count; index++) {
        IoDeleteDevice(TheDevice->DriverObject->DeviceObject);
    }
    return count;
}

static VOID NTAPI Nothing(PDEVICE_OBJECT Device, PVOID Context)
{
    (void)Device;
    (void)Context;
}

/* Allocates until no allocation gets its own pages. Returns the distance between the last two allocations; the host
   allocates an object after the first of them. */
static ULONG Distance(void)
{
    static UCHAR *all[17000];
    ULONG index, count = sizeof all / sizeof *all, distance = 0;

    for (index = 0; index < count; index++) {
        all[index] = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 8, TAG);
        if (index == count - 2) {
            IoInitializeTimer(TheDevice, Nothing, NULL);
        }
    }
    if (all[count - 1] != NULL && all[count - 2] != NULL) {
        distance = (ULONG)(all[count - 1] - all[count - 2]);
    }
    while (index-- != 0) {
        if (all[index] != NULL) {
            ExFreePoolWithTag(all[index], TAG);
        }
    }
    return distance;
}

/* Frees work items immediately after they are queued. A worker thread on another processor may take a few of them before
   that, but not all. */
static void FreeQueued(void)
{
    ULONG index;

    for (index = 0; index < 100; index++) {
        PIO_WORKITEM item = IoAllocateWorkItem(TheDevice);

        if (item != NULL) {
            IoQueueWorkItem(item, Nothing, DelayedWorkQueue, NULL);
            IoFreeWorkItem(item);
        }
    }
}

/* Allocates and frees 1 GiB in total, 64 MiB at a time. */
static void Churn(void)
{
    ULONG index;

    for (index = 0; index < 16; index++) {
        UCHAR *memory = ExAllocatePool2(POOL_FLAG_NON_PAGED | POOL_FLAG_UNINITIALIZED, 64 << 20, TAG);

        if (memory != NULL) {
            memory[0] = 1;
            ExFreePoolWithTag(memory, TAG);
        }
    }
}

static VOID NTAPI Spin(PKDPC Unused, PVOID Context, PVOID One, PVOID Two)
{
    (void)Unused;
    (void)Context;
    (void)One;
    (void)Two;
    for (;;) { /* spin */
        __asm__ volatile("pause");
    }
}

static VOID NTAPI Again(PKDPC This, PVOID Context, PVOID One, PVOID Two)
{
    LARGE_INTEGER now = {0};

    (void)Context;
    (void)Two;
    if (One == NULL) {
        KeInsertQueueDpc(This, NULL, NULL); /* again 0 */
    } else {
        KeSetTimer(&Timer, now, &Dpc); /* again 1 */
    }
}

static VOID NTAPI WorkAgain(PDEVICE_OBJECT Device, PVOID Context)
{
    (void)Device;
    IoQueueWorkItem(Context, WorkAgain, DelayedWorkQueue, Context); /* again 2 */
}

/* Queues something that queues itself again and again. */
static void Endless(ULONG Kind)
{
    PIO_WORKITEM item;

    KeInitializeDpc(&Dpc, Again, NULL);
    if (Kind < 2) {
        KeInsertQueueDpc(&Dpc, (PVOID)(ULONG_PTR)Kind, NULL);
    } else if ((item = IoAllocateWorkItem(TheDevice)) != NULL) {
        IoQueueWorkItem(item, WorkAgain, DelayedWorkQueue, item);
    }
}

static VOID NTAPI Poll(PDEVICE_OBJECT Device, PVOID Context)
{
    LARGE_INTEGER pause = {.QuadPart = -100000};
    volatile BOOLEAN ready = FALSE;

    (void)Device;
    (void)Context;
    while (!ready) {
        KeDelayExecutionThread(0, FALSE, &pause); /* poll */
    }
}

/* Queues a work item that waits for something that never comes. */
static void PollForever(void)
{
    PIO_WORKITEM item = IoAllocateWorkItem(TheDevice);

    if (item != NULL) {
        IoQueueWorkItem(item, Poll, DelayedWorkQueue, NULL);
    }
}

/* Has a routine write to the thread data of the host, which a wrong address may point to. */
static void Overwrite(void)
{
    UNICODE_STRING name;
    NTSTATUS status;
    PACCESS_MASK place;
    BOOLEAN (*check)(PVOID, PVOID, ULONG64, ULONG64, ULONG64, PVOID, PVOID, ULONG64, PACCESS_MASK, NTSTATUS *);

    RtlInitUnicodeString(&name, L"SeAccessCheck");
    check = (PVOID)MmGetSystemRoutineAddress(&name);
    __asm__ volatile("mov %%fs:0, %0" : "=r"(place));
    check(NULL, NULL, 0, 0, 0, NULL, NULL, 0, place, &status); /* overwrite */
}

/* Overwrites what the host keeps for this thread. */
static void Smash(void)
{
    UCHAR *block;
    ULONG index;

    __asm__ volatile("mov %%fs:0, %0" : "=r"(block));
    for (index = 1; index <= 1024; index++) {
        *(volatile UCHAR *)(block - index) = 0xA5;
    }
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    LARGE_INTEGER due;
    ULONG64 number = 39;

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case CODE(0):
        return Finish(Irp, Many(*(ULONG *)Irp->AssociatedIrp.SystemBuffer), 0);
    case CODE(1):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = Exhaust();
        return Finish(Irp, 0, 4);
    case CODE(2):
        __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory"); /* syscall */
        break;
    case CODE(3):
        __asm__ volatile("int $0x80" : "+a"(number) : : "memory"); /* interrupt */
        break;
    case CODE(4):
        due.QuadPart = MILLISECONDS(1);
        KeSetTimer(&Timer, due, &Dpc);
        KeWaitForSingleObject(&Never, 0, 0, FALSE, NULL);
        break;
    case CODE(5):
        Global->Value = 1; /* global */
        break;
    case CODE(6):
        Churn();
        break;
    case CODE(7):
        return Finish(Irp, QueryWithoutMemory(), 0);
    case CODE(8):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = Distance();
        return Finish(Irp, 0, 4);
    case CODE(9):
        __asm__ volatile("movaps 8(%0,%1,2), %%xmm0" : : "r"(Space), "r"((ULONG64)16) : "xmm0"); /* misaligned */
        break;
    case CODE(10):
        number = 0x123456789ABCDEF0;
        __asm__ volatile("mov (%0), %0" : "+r"(number)); /* canonical */
        break;
    case CODE(11):
        FreeQueued();
        break;
    case CODE(12):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = BuildWithoutMemory();
        return Finish(Irp, 0, 4);
    case CODE(13):
        Overwrite();
        break;
    case CODE(14):
    case CODE(15):
    case CODE(16):
        Endless((location->Parameters.DeviceIoControl.IoControlCode - CODE(14)) / 4);
        break;
    case CODE(17):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = CreateWithoutMemory();
        return Finish(Irp, 0, 4);
    case CODE(18):
        *(ULONG *)Irp->AssociatedIrp.SystemBuffer = Devices((NTSTATUS *)Irp->AssociatedIrp.SystemBuffer + 1);
        return Finish(Irp, 0, 8);
    case CODE(19):
        Smash();
        *(volatile ULONG *)8 = 0;
        break;
    case CODE(20):
        Smash();
        Spin(&Dpc, NULL, NULL, NULL);
        break;
    case CODE(21):
        SpinsInUnload = TRUE;
        break;
    case CODE(22):
        PollForever();
        break;
    }
    return Finish(Irp, 0, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
    while (SpinsInUnload) { /* spin in unload */
    }
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name;
    NTSTATUS status;
    ULONG index;

    (void)Path;
    RtlInitUnicodeString(&name, L"\\Device\\CLimits");
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &TheDevice);
    if (status < 0) {
        return status;
    }
    KeInitializeTimer(&Timer);
    KeInitializeDpc(&Dpc, Spin, NULL);
    KeInitializeEvent(&Never, 0, FALSE);
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    TheDevice->Flags |= DO_BUFFERED_IO;
    TheDevice->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    return 0;
}
