/* A HID minidriver for a device that exists only in memory. What a client writes comes back as an input report.
   Report 1: two bytes in, two bytes out. Report 2: a feature of four bytes. */
#include "plain.h"
#include <hidport.h>


static const UCHAR ReportDescriptor[] = {
    0x06, 0x00, 0xFF, 0x09, 0x01, 0xA1, 0x01,                               /* a collection of the vendor */
    0x85, 0x01, 0x75, 0x08, 0x95, 0x02, 0x09, 0x01, 0x81, 0x02,             /* report 1: input */
    0x09, 0x01, 0x91, 0x02,                                                 /* report 1: output */
    0x85, 0x02, 0x95, 0x04, 0x09, 0x01, 0xB1, 0x02,                         /* report 2: feature */
#if BUG != 3
    0xC0,
#endif
};

typedef struct {
    KSPIN_LOCK Lock;
    PIRP Read; /* the request that waits for a report */
    BOOLEAN IsNew;
    UCHAR Report[3], Feature[5];
} EXTENSION;

static EXTENSION *Extension(PDEVICE_OBJECT Device)
{
    return ((PHID_DEVICE_EXTENSION)Device->DeviceExtension)->MiniDeviceExtension;
}

static PDEVICE_OBJECT Lower(PDEVICE_OBJECT Device)
{
    return ((PHID_DEVICE_EXTENSION)Device->DeviceExtension)->NextDeviceObject;
}

static NTSTATUS Return(PIRP Irp, const VOID *Data, ULONG Length)
{
    ULONG room = IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.OutputBufferLength;

    if (room < Length)
        return Finish(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    RtlCopyMemory(Irp->UserBuffer, Data, Length);
    return Finish(Irp, 0, Length);
}

static NTSTATUS ReturnReport(PIRP Irp, EXTENSION *Device)
{
    RtlCopyMemory(Irp->UserBuffer, Device->Report, 3);
#if BUG == 1
    return Finish(Irp, 0, 2);
#elif BUG == 2
    *(UCHAR *)Irp->UserBuffer = 9;
    return Finish(Irp, 0, 3);
#else
    return Finish(Irp, 0, 3);
#endif
}

static VOID NTAPI Cancel(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Extension(Device);
    KIRQL irql;

    IoReleaseCancelSpinLock(Irp->CancelIrql);
    irql = KeAcquireSpinLockRaiseToDpc(&extension->Lock);
    if (extension->Read == Irp)
        extension->Read = NULL;
    KeReleaseSpinLock(&extension->Lock, irql);
#if BUG != 5
    Finish(Irp, STATUS_CANCELLED, 0);
#endif
}

static NTSTATUS Read(EXTENSION *Device, PIRP Irp)
{
    BOOLEAN is_new;
    KIRQL irql = KeAcquireSpinLockRaiseToDpc(&Device->Lock);

    is_new = Device->IsNew;
    Device->IsNew = FALSE;
    if (!is_new) {
        IoMarkIrpPending(Irp);
        Device->Read = Irp;
        IoSetCancelRoutine(Irp, Cancel);
        if (Irp->Cancel && IoSetCancelRoutine(Irp, NULL) != NULL) {
            Device->Read = NULL;
            KeReleaseSpinLock(&Device->Lock, irql);
            Finish(Irp, STATUS_CANCELLED, 0);
            return STATUS_PENDING;
        }
    }
    KeReleaseSpinLock(&Device->Lock, irql);
    return is_new ? ReturnReport(Irp, Device) : STATUS_PENDING;
}

static NTSTATUS Write(EXTENSION *Device, PIRP Irp)
{
    PHID_XFER_PACKET packet = Irp->UserBuffer;
    PIRP read;
    KIRQL irql;

    if (packet->reportId != 1 || packet->reportBufferLen != 3)
        return Finish(Irp, STATUS_INVALID_PARAMETER, 0);
    irql = KeAcquireSpinLockRaiseToDpc(&Device->Lock);
    RtlCopyMemory(Device->Report, packet->reportBuffer, 3);
    read = Device->Read;
    if (read != NULL && IoSetCancelRoutine(read, NULL) == NULL)
        read = NULL;
    if (read != NULL)
        Device->Read = NULL;
    else
        Device->IsNew = TRUE;
    KeReleaseSpinLock(&Device->Lock, irql);
    if (read != NULL)
        ReturnReport(read, Device);
    return Finish(Irp, 0, 3);
}

static NTSTATUS Feature(EXTENSION *Device, PIRP Irp, BOOLEAN Set)
{
    PHID_XFER_PACKET packet = Irp->UserBuffer;

    if (packet->reportId != 2 || packet->reportBufferLen < 5)
        return Finish(Irp, STATUS_INVALID_PARAMETER, 0);
    if (Set)
        RtlCopyMemory(Device->Feature, packet->reportBuffer, 5);
    else
        RtlCopyMemory(packet->reportBuffer, Device->Feature, 5);
    if (BUG == 9)
        ((volatile UCHAR *)packet->reportBuffer)[packet->reportBufferLen] = 0;
    return Finish(Irp, 0, BUG == 4 && !Set ? 500 : 5);
}

static NTSTATUS String(PIRP Irp)
{
    static const WCHAR maker[] = L"Maker", product[] = L"Product";
    ULONG argument = (ULONG)(ULONG_PTR)IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.Type3InputBuffer;

    LOG("string %u in language %x\n", argument & 0xFFFF, argument >> 16);
    switch (argument & 0xFFFF) {
    case HID_STRING_ID_IMANUFACTURER:
        return Return(Irp, maker, sizeof(maker));
    case HID_STRING_ID_IPRODUCT:
        return Return(Irp, product, sizeof(product));
    default:
        return Finish(Irp, STATUS_INVALID_PARAMETER, 0);
    }
}

static NTSTATUS IndexedString(PIRP Irp)
{
    ULONG argument = (ULONG)(ULONG_PTR)IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.Type3InputBuffer;
    WCHAR *text = MmMapLockedPagesSpecifyCache(Irp->MdlAddress, KernelMode, MmCached, NULL, FALSE, NormalPagePriority);

    if (text == NULL || IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.OutputBufferLength < 4)
        return Finish(Irp, STATUS_BUFFER_TOO_SMALL, 0);
    text[0] = L'0' + (WCHAR)(argument & 0xFFFF);
    text[1] = 0;
    return Finish(Irp, 0, 4);
}

static NTSTATUS NTAPI Control(PDEVICE_OBJECT Device, PIRP Irp)
{
    EXTENSION *extension = Extension(Device);
    HID_DESCRIPTOR descriptor = {sizeof(HID_DESCRIPTOR), HID_HID_DESCRIPTOR_TYPE, 0x111, 0, 1};
    HID_DEVICE_ATTRIBUTES attributes = {sizeof(attributes), 0x1234, 0x5678, 0x100};

    switch (IoGetCurrentIrpStackLocation(Irp)->Parameters.DeviceIoControl.IoControlCode) {
    case IOCTL_HID_GET_DEVICE_DESCRIPTOR:
        descriptor.DescriptorList[0].bReportType = BUG == 6 ? 0 : HID_REPORT_DESCRIPTOR_TYPE;
        descriptor.DescriptorList[0].wReportLength = sizeof(ReportDescriptor);
        return Return(Irp, &descriptor, sizeof(descriptor));
    case IOCTL_HID_GET_DEVICE_ATTRIBUTES:
        return Return(Irp, &attributes, sizeof(attributes));
    case IOCTL_HID_GET_REPORT_DESCRIPTOR:
        return Return(Irp, ReportDescriptor, sizeof(ReportDescriptor));
    case IOCTL_HID_READ_REPORT:
        return Read(extension, Irp);
    case IOCTL_HID_WRITE_REPORT:
        return Write(extension, Irp);
    case IOCTL_HID_SET_FEATURE:
        return Feature(extension, Irp, TRUE);
    case IOCTL_HID_GET_FEATURE:
        return Feature(extension, Irp, FALSE);
    case IOCTL_HID_GET_STRING:
        return String(Irp);
    case IOCTL_HID_GET_INDEXED_STRING:
        return IndexedString(Irp);
    default:
        return Finish(Irp, STATUS_NOT_SUPPORTED, 0);
    }
}

static NTSTATUS NTAPI Pass(PDEVICE_OBJECT Device, PIRP Irp)
{
    IoSkipCurrentIrpStackLocation(Irp);
    return IofCallDriver(Lower(Device), Irp);
}

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;

    if (minor == IRP_MN_START_DEVICE || minor == IRP_MN_REMOVE_DEVICE) {
        LOG("%s\n", minor == IRP_MN_START_DEVICE ? "start" : "remove");
        Irp->IoStatus.Status = 0;
    }
    return Pass(Device, Irp);
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Device)
{
    KeInitializeSpinLock(&Extension(Device)->Lock);
    Extension(Device)->Feature[0] = 2;
    return BUG == 7 ? STATUS_INSUFFICIENT_RESOURCES : 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    HID_MINIDRIVER_REGISTRATION registration = {0};

    Driver->DriverUnload = Unload;
    Driver->DriverExtension->AddDevice = AddDevice;
    Driver->MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = Control;
    Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    Driver->MajorFunction[IRP_MJ_POWER] = Pass;
    registration.Revision = BUG == 8 ? HID_REVISION + 1 : HID_REVISION;
    registration.DriverObject = Driver;
    registration.RegistryPath = Path;
    registration.DeviceExtensionSize = sizeof(EXTENSION);
    return HidRegisterMinidriver(&registration);
}
