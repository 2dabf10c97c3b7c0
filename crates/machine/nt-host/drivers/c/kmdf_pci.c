/* A KMDF driver of a PCI device: reads the identifiers of its device through the bus interface. */

#include "framework.h"
#include <initguid.h>
#include <wdmguid.h>

static NTSTATUS NTAPI Prepare(WDFDEVICE Device, WDFCMRESLIST Raw, WDFCMRESLIST Translated)
{
    BUS_INTERFACE_STANDARD bus = {0};
    ULONG id = 0;
    NTSTATUS status = WDF(WDFFDOQUERYFORINTERFACE, WdfFdoQueryForInterface, Device, &GUID_BUS_INTERFACE_STANDARD,
                          (PINTERFACE)&bus, sizeof(bus), 1, NULL);

    (void)Raw, (void)Translated;
    if (status < 0) {
        return status;
    }
    bus.GetBusData(bus.Context, 0, &id, 0, sizeof(id));
    LOG("identifier %08x\n", id);
    bus.InterfaceDereference(bus.Context);
    return 0;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_PNPPOWER_EVENT_CALLBACKS power = {0};
    WDFDEVICE device;

    (void)Driver;
    power.Size = sizeof(power);
    power.EvtDevicePrepareHardware = Prepare;
    WDF(WDFDEVICEINITSETPNPPOWEREVENTCALLBACKS, WdfDeviceInitSetPnpPowerEventCallbacks, Init, &power);
    return WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
