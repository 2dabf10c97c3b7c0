/* A WDM driver that copies code into memory and executes it. The control code selects the memory. */

#include "plain.h"

#define CODE(function) (0x222000 + (function) * 4)

typedef ULONG (*FUNCTION)(void);

/* mov eax, 42; ret */
static const UCHAR Function[] = {0xB8, 42, 0, 0, 0, 0xC3};
/* mov rax, cr8; add eax, 42; ret */
static const UCHAR Irql8[] = {0x44, 0x0F, 0x20, 0xC0, 0x83, 0xC0, 42, 0xC3};
/* mov eax, 39; syscall; ret */
static const UCHAR SystemCall[] = {0xB8, 39, 0, 0, 0, 0x0F, 0x05, 0xC3};
static UCHAR Data[16];

static ULONG ExecuteCode(UCHAR *Memory, const UCHAR *Code, ULONG Size)
{
    ULONG index;

    for (index = 0; index < Size; index++) {
        ((volatile UCHAR *)Memory)[index] = Code[index];
    }
    return ((FUNCTION)Memory)(); /* executed */
}

static ULONG Execute(UCHAR *Memory)
{
    return ExecuteCode(Memory, Function, sizeof Function);
}

static ULONG ExecuteInPool(const UCHAR *Code, ULONG Size)
{
    UCHAR *memory = ExAllocatePoolWithTag(NonPagedPool, Size, TAG);
    ULONG value = 0;

    if (memory != NULL) {
        value = ExecuteCode(memory, Code, Size);
        ExFreePoolWithTag(memory, TAG);
    }
    return value;
}

static ULONG ExecutePool(UCHAR *Memory)
{
    ULONG value;

    if (Memory == NULL) {
        return 0;
    }
    value = Execute(Memory);
    ExFreePoolWithTag(Memory, TAG);
    return value;
}

/* Executes memory of a device, which is mapped with this protection. */
static ULONG ExecuteDevice(ULONG Protection)
{
    PHYSICAL_ADDRESS address = {0};
    UCHAR *memory = Protection == 0 ? MmMapIoSpace(address, 0x1000, 0) : MmMapIoSpaceEx(address, 0x1000, Protection);
    ULONG value;

    if (memory == NULL) {
        return 0;
    }
    value = Execute(memory);
    MmUnmapIoSpace(memory, 0x1000);
    return value;
}

/* Executes no-execute pool through a mapping of its pages. */
static ULONG ExecuteMapping(ULONG Priority)
{
    UCHAR *memory = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    PMDL list = memory == NULL ? NULL : IoAllocateMdl(memory, 64, FALSE, FALSE, NULL);
    ULONG value = 0;

    if (list != NULL) {
        MmProbeAndLockPages(list, 0, 1);
        value = Execute(MmMapLockedPagesSpecifyCache(list, 0, 1, NULL, FALSE, Priority));
        MmUnlockPages(list);
        IoFreeMdl(list);
    }
    if (memory != NULL) {
        ExFreePoolWithTag(memory, TAG);
    }
    return value;
}

/* Thousands of allocations share pages: small ones of both kinds must not share the same. */
static ULONG ExecuteAmongMany(void)
{
    static UCHAR *all[17000];
    ULONG index, count = sizeof all / sizeof *all, value = 0;

    for (index = 0; index < count; index++) {
        all[index] = ExAllocatePoolWithTag(index % 2 == 0 ? NonPagedPool : NonPagedPoolNx, 16, TAG);
    }
    if (all[count - 2] != NULL) {
        value = Execute(all[count - 2]);
    }
    while (index-- != 0) {
        if (all[index] != NULL) {
            ExFreePoolWithTag(all[index], TAG);
        }
    }
    return value;
}

static ULONG Run(ULONG Function)
{
    UCHAR local[64];

    switch (Function) {
    case 0:
        return ExecutePool(ExAllocatePoolWithTag(NonPagedPool, 64, TAG));
    case 1:
        return ExecutePool(ExAllocatePool2(POOL_FLAG_NON_PAGED_EXECUTE, 64, TAG));
    case 2:
        return ExecuteDevice(0);
    case 3:
        return ExecuteDevice(0x40); /* PAGE_EXECUTE_READWRITE */
    case 4:
        return ExecuteMapping(16); /* NormalPagePriority */
    case 5:
        return ExecuteAmongMany();
    case 6:
        return ExecutePool(ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG));
    case 7:
        return ExecutePool(ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TAG));
    case 8:
        return ExecutePool(ExAllocatePoolWithTag(PagedPool, 64, TAG));
    case 9:
        return ExecuteDevice(4); /* PAGE_READWRITE */
    case 10:
        return ExecuteMapping(16 | 0x40000000); /* MdlMappingNoExecute */
    case 11:
        return Execute(local);
    case 12:
        return Execute(Data);
    case 13:
        return ExecuteInPool(Irql8, sizeof Irql8);
    case 14:
        return ExecuteInPool(SystemCall, sizeof SystemCall);
    }
    return 0;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    *(ULONG *)Irp->AssociatedIrp.SystemBuffer = Run((location->Parameters.DeviceIoControl.IoControlCode - CODE(0)) / 4);
    return Finish(Irp, 0, 4);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;
    ULONG index;

    (void)Path;
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    Driver->DriverUnload = Unload;
    return IoCreateDevice(Driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
}
