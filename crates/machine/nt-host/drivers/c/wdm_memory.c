/* A WDM driver whose requests contain the address of memory of the client, which it increments: guarded by an exception handler, through
   an MDL, or without either. */

#include "steps.h"

#define GUARDED CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, 0)
#define MAPPED CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_BUFFERED, 0)
#define TRUSTED CTL_CODE(FILE_DEVICE_UNKNOWN, 0x802, METHOD_BUFFERED, 0)

typedef struct {
    PUCHAR address;
    ULONG length;
} MEMORY;

/* In a function of its own, because clang's __try guards calls. */
static __attribute__((noinline)) void Increment(volatile UCHAR *Bytes, ULONG Length)
{
    while (Length-- > 0) {
        ++*Bytes++; /* mark */
    }
}

static __attribute__((noinline)) NTSTATUS IncrementGuarded(const MEMORY *Memory)
{
    __try {
        ProbeForWrite(Memory->address, Memory->length, 1);
        Increment(Memory->address, Memory->length);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static __attribute__((noinline)) NTSTATUS Lock(PMDL Mdl)
{
    __try {
        MmProbeAndLockPages(Mdl, UserMode, IoModifyAccess);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return GetExceptionCode();
    }
    return 0;
}

static NTSTATUS IncrementMapped(const MEMORY *Memory)
{
    PMDL mdl = IoAllocateMdl(Memory->address, Memory->length, FALSE, FALSE, NULL);
    PUCHAR bytes;
    NTSTATUS status;

    if (mdl == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = Lock(mdl);
    if (status >= 0) {
        bytes = MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);
        if (bytes != NULL) {
            Increment(bytes, Memory->length);
        } else {
            status = STATUS_INSUFFICIENT_RESOURCES;
        }
        MmUnlockPages(mdl);
    }
    IoFreeMdl(mdl);
    return status;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    const MEMORY *memory = Irp->AssociatedIrp.SystemBuffer;

    (void)Device;
    if (location->MajorFunction != IRP_MJ_DEVICE_CONTROL) {
        return Finish(Irp, 0, 0);
    }
    if (location->Parameters.DeviceIoControl.InputBufferLength < sizeof(*memory)) {
        return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case GUARDED:
        return Finish(Irp, IncrementGuarded(memory), 0);
    case MAPPED:
        return Finish(Irp, IncrementMapped(memory), 0);
    case TRUSTED:
        Increment(memory->address, memory->length);
        return Finish(Irp, 0, 0);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;

    (void)Path;
    return CreateDevice(Driver, L"\\Device\\Memory", Dispatch, &device);
}
