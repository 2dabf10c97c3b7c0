/* A WDM driver without an unload routine, so Windows never unloads it. If the test hides RtlRandomEx, the driver sets
   AddDevice, and deletes its device before it passes IRP_MN_REMOVE_DEVICE to the device below. */

#include "steps.h"

static PDEVICE_OBJECT Below;
static ULONG Passed;

static NTSTATUS NTAPI Dispatch(PDEVICE_OBJECT Device, PIRP Irp)
{
    PIO_STACK_LOCATION location = IoGetCurrentIrpStackLocation(Irp);
    ULONG *extension = Device->DeviceExtension;
    NTSTATUS status;

    if (location->MajorFunction != IRP_MJ_PNP) {
        return Finish(Irp, 0, 0);
    }
    if (location->MinorFunction == 2) {
        IoDetachDevice(Below);
        IoDeleteDevice(Device);
    }
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(Below, Irp);
    /* The sender of the IRP still has a reference to the device, so the extension is valid. */
    *extension += 1;
    Passed = *extension;
    DbgPrint("passed %u\n", Passed);
    return status;
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(Driver, sizeof(ULONG), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    if (status < 0) {
        return status;
    }
    Below = IoAttachDeviceToDeviceStack(device, Physical);
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    return 0;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    ULONG index;

    (void)Path;
    for (index = 0; index < 0x1C; index++) {
        Driver->MajorFunction[index] = Dispatch;
    }
    if (LookUp(L"RtlRandomEx") == NULL) {
        Driver->DriverExtension->AddDevice = AddDevice;
    }
    /* The driver keeps this memory for as long as it is loaded. */
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, 100, TAG) == NULL ? STATUS_INSUFFICIENT_RESOURCES : 0;
}
