/* A WDM driver whose requests have data in the output buffer, for the fuzzer: a table that a client sends with METHOD_IN_DIRECT, and
   a program's memory with METHOD_NEITHER. With BUG, the driver trusts both. */

#include "plain.h"

#define SEND_TABLE CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_IN_DIRECT, 0)
#define SCALE CTL_CODE(FILE_DEVICE_UNKNOWN, 0x801, METHOD_NEITHER, 0)
#define MAGIC 0x4C424154
#define ENTRIES 8

typedef struct {
    ULONG magic;
    ULONG count;
    UCHAR entries[ENTRIES];
} TABLE;

static volatile ULONG Sink;

/* The header is in the output buffer of the request, and so are the entries. */
static NTSTATUS SendTable(PIRP Irp, ULONG Length)
{
    const TABLE *table;
    UCHAR *copy;
    ULONG index;

    if (Length < sizeof(*table)) {
        return STATUS_INVALID_PARAMETER;
    }
    table = MmMapLockedPagesSpecifyCache(Irp->MdlAddress, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);
    if (table == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (table->magic != MAGIC || (!BUG && table->count > ENTRIES)) {
        return STATUS_INVALID_PARAMETER;
    }
    copy = ExAllocatePoolWithTag(NonPagedPoolNx, ENTRIES, TAG);
    if (copy == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    for (index = 0; index < table->count; index++) {
        copy[index] = table->entries[index % ENTRIES];
    }
    Sink = copy[0];
    ExFreePoolWithTag(copy, TAG);
    return 0;
}

static NTSTATUS Scale(const ULONG *Words, ULONG Length)
{
    if (Length < 2 * sizeof(*Words) || Words[0] != 0x53434C45 || (!BUG && Words[1] == 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    Sink = 1000 / Words[1];
    return 0;
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    ULONG length = location->Parameters.DeviceIoControl.OutputBufferLength;

    (void)Device;
    switch (location->Parameters.DeviceIoControl.IoControlCode) {
    case SEND_TABLE:
        return Finish(Irp, SendTable(Irp, length), 0);
    case SCALE:
        return Finish(Irp, Scale(Irp->UserBuffer, length), 0);
    }
    return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    NTSTATUS status;

    (void)Path;
    RtlInitUnicodeString(&name, L"\\Device\\FuzzDirect");
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status < 0) {
        return status;
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return 0;
}
