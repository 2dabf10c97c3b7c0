/* A miniport: it uses the framework for its objects, and has its own AddDevice, dispatch routines and unload routine. */

#include "framework.h"

static PDEVICE_OBJECT Lower;
static WDFDRIVER Handle;

static NTSTATUS NTAPI Pnp(PDEVICE_OBJECT Device, PIRP Irp)
{
    UCHAR minor = IoGetCurrentIrpStackLocation(Irp)->MinorFunction;
    NTSTATUS status;

    LOG("pnp %x\n", minor);
    Irp->IoStatus.Status = 0;
    IoSkipCurrentIrpStackLocation(Irp);
    status = IofCallDriver(Lower, Irp);
    if (minor == IRP_MN_REMOVE_DEVICE) {
        IoDetachDevice(Lower);
        IoDeleteDevice(Device);
    }
    return status;
}

static NTSTATUS NTAPI AddDevice(PDRIVER_OBJECT Driver, PDEVICE_OBJECT Physical)
{
    PDEVICE_OBJECT device;
    NTSTATUS status = IoCreateDevice(Driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);

    if (status < 0) {
        return status;
    }
    Lower = IoAttachDeviceToDeviceStack(device, Physical);
    device->Flags &= ~DO_DEVICE_INITIALIZING;
    LOG("added\n");
    return 0;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    (void)Driver;
    WDF(WDFDRIVERMINIPORTUNLOAD, WdfDriverMiniportUnload, Handle);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {sizeof(config)};
    NTSTATUS status;

    config.DriverInitFlags = 3; /* WdfDriverInitNonPnpDriver, WdfDriverInitNoDispatchOverride */
    status = WDF(WDFDRIVERCREATE, WdfDriverCreate, Driver, Path, NULL, &config, &Handle);
    if (status >= 0) {
        Driver->DriverUnload = Unload;
        Driver->DriverExtension->AddDevice = AddDevice;
        Driver->MajorFunction[IRP_MJ_PNP] = Pnp;
    }
    return status;
}
