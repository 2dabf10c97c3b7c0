/* A WDM driver that completes requests in wrong ways. A control request selects the mistake of the next request; 0 is
   none. The devices pass data in each of the three ways. INCREMENT adds 1 to each byte of the output buffer. */

#include "plain.h"

#define SELECT 0x222F00
#define ASK_ITSELF 0x222F04 /* sends INCREMENT to the third device */
#define INCREMENT 0x222F08  /* with each METHOD_ in its last two bits */
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
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    wrong = IoCancelIrp(irp) || !irp->Cancel;
    IoSetCancelRoutine(irp, Cancel);
    wrong |= !IoCancelIrp(irp) || Canceled != 1 || Seen != NULL;
    IoFreeIrp(irp);
    return wrong ? STATUS_UNSUCCESSFUL : 0;
}

/* Adds a list to the packet, which the I/O manager frees. */
static NTSTATUS AddList(PIRP Irp)
{
    PMDL first = Irp->MdlAddress, list = IoAllocateMdl(Bytes, sizeof Bytes, first != NULL, FALSE, Irp);

    if (list == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    MmBuildMdlForNonPagedPool(list);
    return (first == NULL ? Irp->MdlAddress : first->Next) == list ? 0 : STATUS_UNSUCCESSFUL;
}

static NTSTATUS Increment(PIRP Irp, ULONG Length)
{
    UCHAR *bytes;
    ULONG index;

    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode & 3) {
    case METHOD_BUFFERED:
        bytes = Irp->AssociatedIrp.SystemBuffer;
        break;
    case METHOD_NEITHER:
        bytes = Irp->UserBuffer;
        break;
    default:
        bytes = MmMapLockedPagesSpecifyCache(Irp->MdlAddress, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);
    }
    if (bytes == NULL) {
        return Finish(Irp, STATUS_UNSUCCESSFUL, 0);
    }
    for (index = 0; index < Length; index++) {
        bytes[index]++;
    }
    return Finish(Irp, 0, Length);
}

/* Is itself the client. Its output buffer has data, too. */
static NTSTATUS AskItself(void)
{
    OBJECT_ATTRIBUTES attributes = {0};
    UCHAR data[4] = {7, 8, 9, 10};
    IO_STATUS_BLOCK block;
    UNICODE_STRING name;
    NTSTATUS status;
    HANDLE file;

    RtlInitUnicodeString(&name, L"\\Device\\CNeither");
    attributes.Length = sizeof(attributes);
    attributes.ObjectName = &name;
    attributes.Attributes = OBJ_KERNEL_HANDLE;
    status = ZwOpenFile(&file, GENERIC_READ, &attributes, &block, 0, 0);
    if (status < 0) {
        return status;
    }
    status = ZwDeviceIoControlFile(file, NULL, NULL, NULL, &block, INCREMENT | METHOD_IN_DIRECT, NULL, 0, data, sizeof(data));
    ZwClose(file);
    return status == 0 && data[0] == 8 && data[3] == 11 ? 0 : STATUS_UNSUCCESSFUL;
}

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    ULONG mistake = Mistake, length = 0;
    NTSTATUS status = 0;

    if ((location->MajorFunction == IRP_MJ_DEVICE_CONTROL || location->MajorFunction == IRP_MJ_INTERNAL_DEVICE_CONTROL) &&
        (location->Parameters.DeviceIoControl.IoControlCode & ~3) == INCREMENT) {
        return Increment(Irp, location->Parameters.DeviceIoControl.OutputBufferLength);
    }
    if (location->MajorFunction == IRP_MJ_DEVICE_CONTROL) {
        length = location->Parameters.DeviceIoControl.OutputBufferLength;
        if (location->Parameters.DeviceIoControl.IoControlCode == SELECT) {
            Mistake = *(ULONG *)Irp->AssociatedIrp.SystemBuffer;
            return Finish(Irp, CancelUnsent(), 0);
        }
        if (location->Parameters.DeviceIoControl.IoControlCode == ASK_ITSELF) {
            return Finish(Irp, AskItself(), 0);
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
        status = STATUS_BUFFER_OVERFLOW; /* STATUS_BUFFER_OVERFLOW */
        /* fall through */
    case TOO_MANY_BYTES:
        length++;
        break;
    case SKIPPED:
        IoSkipCurrentIrpStackLocation(Irp);
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
