/* A KMDF driver with WMI providers, and one instance that has callbacks. BUG 1 passes no place for a provider. */

#include "framework.h"

static const GUID Block = {0x11223344, 0x5566, 0x7788, {1, 2, 3, 4, 5, 6, 7, 8}};
static WDFWMIPROVIDER Provider;

typedef struct {
    ULONG Words[3];
} Context;

static const WDF_OBJECT_CONTEXT_TYPE_INFO ContextType = {sizeof(ContextType), "Context", sizeof(Context)};
static const GUID ContextBlock = {0x55667788, 0x1122, 0x3344, {1, 2, 3, 4, 5, 6, 7, 8}};
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

/* An instance whose queries return its context. */
static NTSTATUS CreateContextInstance(WDFDEVICE Device)
{
    WDF_WMI_PROVIDER_CONFIG config = {sizeof(config)};
    WDF_WMI_INSTANCE_CONFIG instance = {sizeof(instance)};
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFWMIINSTANCE handle;
    Context *context;
    NTSTATUS status;

    config.Guid = ContextBlock;
    config.MinInstanceBufferSize = 4;
    instance.ProviderConfig = &config;
    instance.UseContextForQuery = TRUE;
    instance.Register = TRUE;
    LOG("without a context: %x\n", WDF(WDFWMIINSTANCECREATE, WdfWmiInstanceCreate, Device, &instance, NULL, &handle));
    InitAttributes(&attributes, NULL);
    attributes.ContextTypeInfo = &ContextType;
    status = WDF(WDFWMIINSTANCECREATE, WdfWmiInstanceCreate, Device, &instance, &attributes, &handle);
    if (status >= 0) {
        context = WDF(WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker, (WDFOBJECT)handle, &ContextType);
        context->Words[2] = 9;
    }
    return status;
}

static NTSTATUS NTAPI DeviceAdd(WDFDRIVER Driver, PWDFDEVICE_INIT Init)
{
    WDF_WMI_PROVIDER_CONFIG config = {sizeof(config)};
    WDFWMIPROVIDER other;
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
    LOG("without a flag: %x\n", WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, &other));
    config.Flags = WdfWmiProviderExpensive | WdfWmiProviderTracing;
    LOG("with two flags: %x\n", WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, &other));
    config.Flags = WdfWmiProviderExpensive;
    status = WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, &Provider);
    if (status < 0) {
        return status;
    }
#if BUG == 1
    WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, NULL);
#endif
    LOG("the same again: %x\n", WDF(WDFWMIPROVIDERCREATE, WdfWmiProviderCreate, device, &config, NULL, &other));
    status = CreateContextInstance(device);
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
