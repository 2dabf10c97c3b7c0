/* A KMDF driver with a WMI provider and one instance that has callbacks. */

#include "framework.h"

static const GUID Block = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
static WDFWMIPROVIDER Provider;
static ULONG Value = 5;

static NTSTATUS NTAPI Query(WDFWMIINSTANCE Instance, ULONG Size, PVOID Buffer, PULONG Used)
{
    (void)Instance;
    LOG("query, room %u, irql %u\n", Size, Irql());
    *(ULONG *)Buffer = Value;
    *Used = sizeof(Value);
    return 0;
}

static NTSTATUS NTAPI Set(WDFWMIINSTANCE Instance, ULONG Size, PVOID Buffer)
{
    LOG("set %u bytes, same provider %d\n", Size,
        WDF(WDFWMIINSTANCEGETPROVIDER, WdfWmiInstanceGetProvider, Instance) == Provider);
    Value = *(ULONG *)Buffer;
    return 0;
}

static NTSTATUS NTAPI Method(WDFWMIINSTANCE Instance, ULONG Id, ULONG Input, ULONG Output, PVOID Buffer, PULONG Used)
{
    LOG("method %u, %u in, %u out, events %u\n", Id, Input, Output,
        WDF(WDFWMIPROVIDERISENABLED, WdfWmiProviderIsEnabled, Provider, WdfWmiEventControl));
    WDF(WDFWMIINSTANCEFIREEVENT, WdfWmiInstanceFireEvent, Instance, sizeof(Value), &Value);
    *(UCHAR *)Buffer += 1;
    *Used = 1;
    return 0;
}

static NTSTATUS NTAPI Switch(WDFWMIPROVIDER From, WDF_WMI_PROVIDER_CONTROL What, BOOLEAN On)
{
    (void)From;
    LOG("control %u, %u\n", What, On);
    return 0;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_WMI_PROVIDER_CONFIG config = {sizeof(config)};
    WDF_WMI_INSTANCE_CONFIG instance = {sizeof(instance)};
    WDFDEVICE device;
    NTSTATUS status;

    (void)Driver;
    status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &Init, NULL, &device);
    if (status < 0) {
        return status;
    }
    config.Guid = Block;
    config.MinInstanceBufferSize = sizeof(Value);
    config.EvtWmiProviderFunctionControl = Switch;
    status = WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, &Provider);
    LOG("twice: %x\n", WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, NULL));
    if (status < 0) {
        return status;
    }
    instance.Provider = Provider;
    instance.Register = TRUE;
    instance.EvtWmiInstanceQueryInstance = Query;
    instance.EvtWmiInstanceSetInstance = Set;
    instance.EvtWmiInstanceExecuteMethod = Method;
    return WDF(WDFWMIINSTANCECREATE, WdfWmiInstanceCreate, device, &instance, NULL, NULL);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    return CreateDriver(Driver, Path, DeviceAdd);
}
