/* A driver that imports from library.c. Each control request uses the library in another way. */
#include "library.h"

#define ADD 0x222000
#define LEAK 0x222004
#define SLEEP 0x222008
#define SEND 0x22200C

static ULONG Add(ULONG First)
{
    PVOID memory = LibraryAllocate(First);
    ULONG result = LibraryAdd(First, LibraryVersion) + LibraryHandle(NULL);
    LibraryFree(memory);
    return result;
}

static void SleepTooHigh(void)
{
    KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
    LibrarySleep(); /* mark sleep */
    KeLowerIrql(old);
}

/* Sends a request to the library's device. */
static NTSTATUS Send(void)
{
    UNICODE_STRING name;
    PFILE_OBJECT file;
    PDEVICE_OBJECT device;
    KEVENT event;
    IO_STATUS_BLOCK block;
    RtlInitUnicodeString(&name, L"\\Device\\Library");
    NTSTATUS status = IoGetDeviceObjectPointer(&name, FILE_ALL_ACCESS, &file, &device);
    if (status < 0)
        return status;
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    PIRP irp = IoBuildDeviceIoControlRequest(LIBRARY_WRONG_TAG, device, NULL, 0, NULL, 0, FALSE, &event, &block);
    status = IofCallDriver(device, irp);
    ObfDereferenceObject(file);
    return status;
}

static NTSTATUS Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    ULONG *buffer = Irp->AssociatedIrp.SystemBuffer;
    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case ADD:
        *buffer = Add(*buffer);
        return Finish(Irp, 0, 4);
    case LEAK:
        LibraryAllocate(40); /* mark leak */
        return Finish(Irp, 0, 0);
    case SLEEP:
        SleepTooHigh();
        return Finish(Irp, 0, 0);
    case SEND:
        return Finish(Irp, Send(), 0);
    default:
        return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
}

static NTSTATUS Open(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static void Unload(PDRIVER_OBJECT Driver)
{
    LOG("user: unload\n");
    IoDeleteDevice(Driver->DeviceObject);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    (void)Path;
    PDEVICE_OBJECT device;
    LOG("user: entry, version %u\n", LibraryVersion);
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = Open;
    Driver->MajorFunction[IRP_MJ_CLEANUP] = Open;
    Driver->MajorFunction[IRP_MJ_CLOSE] = Open;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return IoCreateDevice(Driver, 0, NULL, 0x22, 0, FALSE, &device);
}
