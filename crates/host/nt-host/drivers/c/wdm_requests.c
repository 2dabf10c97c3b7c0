/* A WDM driver that completes requests in wrong ways. A control request selects the mistake of the next request; 0 is
   none. The devices pass data in each of the three ways. */

#include "plain.h"

#define SELECT 0x222F00
#define DEVICES 3

enum {
    NONE,
    TOO_MANY_BYTES,
    TOO_MANY_BYTES_WITH_A_WARNING,
    SKIPPED,
    LOCATION_OUT_OF_RANGE,
    WRONG_PLACE,
    NO_LIST,
    GARBAGE_AS_LIST,
    GARBAGE_AS_BUFFER,
    SENT_WITHOUT_LOCATIONS,
    SENT_OUT_OF_RANGE,
};

static ULONG Mistake, Canceled;
static PDEVICE_OBJECT Seen;
static IO_STACK_LOCATION Elsewhere;
static UCHAR Bytes[16];

static VOID NTAPI Cancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    Seen = Device;
    Canceled++;
    IoReleaseCancelSpinLock(Irp->CancelIrql);
}

/* Cancels a packet that was never sent: there is no stack location to read. */
static NTSTATUS CancelUnsent(void)
{
    PIRP irp = IoAllocateIrp(1, FALSE);
    ULONG wrong;

    if (irp == NULL) {
        return STATUS_NO_MEMORY_;
    }
    wrong = IoCancelIrp(irp) || !irp->Cancel;
    SetCancelRoutine(irp, Cancel);
    wrong |= !IoCancelIrp(irp) || Canceled != 1 || Seen != NULL;
    IoFreeIrp(irp);
    return wrong ? STATUS_UNSUCCESSFUL_ : 0;
}

/* Adds a list to the packet, which the I/O manager frees. */
static NTSTATUS AddList(PIRP Irp)
{
    PMDL first = Irp->MdlAddress, list = IoAllocateMdl(Bytes, sizeof Bytes, first != NULL, FALSE, Irp);

    if (list == NULL) {
        return STATUS_NO_MEMORY_;
    }
    MmBuildMdlForNonPagedPool(list);
    return (first == NULL ? Irp->MdlAddress : first->Next) == list ? 0 : STATUS_UNSUCCESSFUL_;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = Current(Irp);
    ULONG mistake = Mistake, length = 0;
    NTSTATUS status = 0;

    if (location->MajorFunction == IRP_MJ_DEVICE_CONTROL) {
        length = location->Parameters.DeviceIoControl.OutputBufferLength;
        if (location->Parameters.DeviceIoControl.IoControlCode == SELECT) {
            Mistake = *(ULONG *)Irp->AssociatedIrp.SystemBuffer;
            return Finish(Irp, CancelUnsent(), 0);
        }
    } else if (location->MajorFunction == IRP_MJ_READ || location->MajorFunction == IRP_MJ_WRITE) {
        length = location->Parameters.Read.Length;
    } else {
        return Finish(Irp, 0, 0);
    }
    switch (mistake) {
    case NONE:
        status = AddList(Irp);
        break;
    case TOO_MANY_BYTES_WITH_A_WARNING:
        status = (NTSTATUS)0x80000005; /* STATUS_BUFFER_OVERFLOW */
        /* fall through */
    case TOO_MANY_BYTES:
        length++;
        break;
    case SKIPPED:
        Skip(Irp);
        break;
    case LOCATION_OUT_OF_RANGE:
        Irp->CurrentLocation = 9;
        break;
    case WRONG_PLACE:
        Irp->Tail.Overlay.CurrentStackLocation = &Elsewhere;
        break;
    case NO_LIST:
        Irp->MdlAddress = NULL;
        break;
    case GARBAGE_AS_LIST:
        Irp->MdlAddress = (PMDL)0x123456780;
        break;
    case GARBAGE_AS_BUFFER:
        Irp->AssociatedIrp.SystemBuffer = Bytes;
        break;
    case SENT_WITHOUT_LOCATIONS:
        return IofCallDriver(Device, Irp); /* sent */
    case SENT_OUT_OF_RANGE:
        Irp->CurrentLocation = 9;
        return IofCallDriver(Device, Irp); /* sent */
    }
    Irp->IoStatus.Status = status;
    Irp->IoStatus.Information = length;
    IofCompleteRequest(Irp, 0); /* completed */
    return status;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    while (Driver->DeviceObject != NULL) {
        IoDeleteDevice(Driver->DeviceObject);
    }
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    static const ULONG Flags[DEVICES] = {DO_BUFFERED_IO, DO_DIRECT_IO, 0};
    static PWSTR Names[DEVICES] = {L"\\Device\\CBuffered", L"\\Device\\CDirect", L"\\Device\\CNeither"};
    PDEVICE_OBJECT device;
    UNICODE_STRING name;
    NTSTATUS status;
    ULONG index;

    (void)Path;
    for (index = 0; index < 0x1B; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    for (index = 0; index < DEVICES; index++) {
        RtlInitUnicodeString(&name, Names[index]);
        status = IoCreateDevice(Driver, 0, &name, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
        if (status < 0) {
            Unload(Driver);
            return status;
        }
        device->Flags |= Flags[index];
        device->Flags &= ~DO_DEVICE_INITIALIZING;
    }
    Driver->DriverUnload = Unload;
    return 0;
}
