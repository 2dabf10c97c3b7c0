/* A driver that exports routines and a variable, and has a device. BUG 1 leaks memory on its own, BUG 2 does not start, BUG 3
   is a newer version that no longer exports LibraryHandle, BUG 4 is an export driver, BUG 5 one that does not start. */
#define LIBRARY
#include "library.h"

ULONG LibraryVersion = 7;

ULONG LibraryAdd(ULONG First, ULONG Second)
{
    return First + Second;
}

PVOID LibraryAllocate(SIZE_T Size)
{
    return ExAllocatePoolWithTag(NonPagedPoolNx, Size, 'rbiL'); /* mark allocate */
}

void LibraryFree(PVOID Memory)
{
    ExFreePoolWithTag(Memory, 'rbiL');
}

/* Allowed only at PASSIVE_LEVEL, like the routine that it calls. */
void LibrarySleep(void)
{
    LARGE_INTEGER time = {.QuadPart = MILLISECONDS(1)};
    KeDelayExecutionThread(KernelMode, FALSE, &time); /* mark sleep */
}

#if BUG != 3
static __attribute__((noinline)) ULONG Read(volatile ULONG *Address)
{
    return *Address;
}

/* Reads an address and handles the exception. */
ULONG LibraryHandle(ULONG *Address)
{
    __try {
        return Read(Address);
    } __except (1) {
        return 99;
    }
}
#endif

static NTSTATUS Open(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static NTSTATUS Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    PVOID memory = LibraryAllocate(8);
    ExFreePoolWithTag(memory, 'gnrW'); /* mark tag */
    return Finish(Irp, 0, 0);
}

#if BUG >= 4
/* Windows calls these two in place of DriverEntry and the unload routine, if another image imports from this one. */
__declspec(dllexport) NTSTATUS DllInitialize(PUNICODE_STRING Path)
{
    LOG("library: initialize %wZ\n", Path);
    return BUG == 5 ? STATUS_UNSUCCESSFUL : 0;
}

__declspec(dllexport) NTSTATUS DllUnload(void)
{
    LOG("library: free\n");
    return 0;
}
#endif

static void Unload(PDRIVER_OBJECT Driver)
{
    LOG("library: unload\n");
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    LOG("library: entry %wZ\n", Path);
#if BUG == 2
    return STATUS_UNSUCCESSFUL;
#endif
#if BUG == 1
    LibraryAllocate(24); /* mark own leak */
#endif
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    RtlInitUnicodeString(&name, L"\\Device\\Library");
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = Open;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Open;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Open;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return IoCreateDevice(Driver, 0, &name, 0x22, 0, FALSE, &device);
}
