/* A WDM driver in C: a named device. A control request returns its input in upper case. */

#include <ntddk.h>

#define IOCTL_UPPER CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)

static WCHAR DeviceName[] = L"\\Device\\CUpper";
static WCHAR LinkName[] = L"\\DosDevices\\CUpper";
static KSPIN_LOCK Lock;
static ULONG Requests;
static PVOID Pool;

static ULONG Irql(void)
{
    ULONG64 irql;
    /* KeGetCurrentIrql in the WDK's headers for x64 does the same. */
    __asm__ volatile("mov %%cr8, %0" : "=r"(irql));
    return (ULONG)irql;
}

static PIO_STACK_LOCATION Location(PIRP Irp)
{
    return IoGetCurrentIrpStackLocation(Irp);
}

static NTSTATUS Finish(PIRP Irp, NTSTATUS Status, ULONG_PTR Information)
{
    Irp->IoStatus.Status = Status;
    Irp->IoStatus.Information = Information;
    IofCompleteRequest(Irp, 0);
    return Status;
}

static NTSTATUS NTAPI OpenOrClose(PDEVICE_OBJECT Device, PIRP Irp)
{
    (void)Device;
    return Finish(Irp, 0, 0);
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = Location(Irp);
    ULONG input = location->Parameters.DeviceIoControl.InputBufferLength;
    ULONG output = location->Parameters.DeviceIoControl.OutputBufferLength;
    UCHAR *bytes = Irp->AssociatedIrp.SystemBuffer;
    ULONG index;
    KIRQL old;

    (void)Device;
    if (location->Parameters.DeviceIoControl.IoControlCode != IOCTL_UPPER) {
        return Finish(Irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    }
    if (output < input) {
        return Finish(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    }
    old = KeAcquireSpinLockRaiseToDpc(&Lock);
    Requests += Irql() == 2;
    KeReleaseSpinLock(&Lock, old);
    for (index = 0; index < input; index++) {
        if (bytes[index] >= 'a' && bytes[index] <= 'z') {
            bytes[index] -= 'a' - 'A';
        }
    }
    return Finish(Irp, 0, input);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNICODE_STRING link;

    RtlInitUnicodeString(&link, LinkName);
    IoDeleteSymbolicLink(&link);
    IoDeleteDevice(Driver->DeviceObject);
    ExFreePoolWithTag(Pool, 'tseT');
    DbgPrint("c: %u requests, %ws\n", Requests, L"bye");
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    UNICODE_STRING name, link;
    PDEVICE_OBJECT device;
    NTSTATUS status;

    DbgPrint("c: %wZ at irql %u, %I64x\n", Path, Irql(), 0x123456789ABCDEFull);
    RtlInitUnicodeString(&name, DeviceName);
    RtlInitUnicodeString(&link, LinkName);
    KeInitializeSpinLock(&Lock);
    Pool = ExAllocatePool2(POOL_FLAG_NON_PAGED, 128, 'tseT');
    if (Pool == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    if (status >= 0) {
        status = IoCreateSymbolicLink(&link, &name);
        if (status < 0) {
            IoDeleteDevice(device);
        }
    }
    if (status < 0) {
        ExFreePoolWithTag(Pool, 'tseT');
        return status;
    }
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    Driver->DriverUnload = Unload;
    Driver->MajorFunction[IRP_MJ_CREATE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_CLOSE] = OpenOrClose;
    Driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = Control;
    return status;
}
