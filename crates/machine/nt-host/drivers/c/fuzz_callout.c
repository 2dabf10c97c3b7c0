/* A traced callout driver for the fuzzer. It reads the headers of DNS messages. Without BUG, it also takes messages that are shorter
   than the header. */

#include <initguid.h>
#include "callouts.h"

#define DNS 53
#define HEADER 12

DEFINE_GUID(KEY, 0x6a7d1f00, 0x0002, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 6);

static REGHANDLE Trace;
static PDEVICE_OBJECT Device;
static HANDLE Engine;
static UINT32 Id;
static volatile LONG Questions;

/* The data of a datagram that is sent begins with the transport header. */
static VOID LookAtMessage(NET_BUFFER *Buffer)
{
    UCHAR storage[8 + HEADER], *bytes;

    EtwWriteString(Trace, 4, 0, NULL, L"message");
    bytes = NdisGetDataBuffer(Buffer, sizeof storage, storage, 1, 0);
    if (!BUG && bytes == NULL) {
        return;
    }
    InterlockedAdd(&Questions, bytes[8 + 5]);
}

static VOID NTAPI Classify(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                           const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    NET_BUFFER_LIST *list = Data;

    UNREFERENCED_PARAMETER(Metadata);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Filter);
    UNREFERENCED_PARAMETER(FlowContext);
    Out->actionType = FWP_ACTION_PERMIT;
    if (list != NULL && Values->incomingValue[FWPS_FIELD_OUTBOUND_TRANSPORT_V4_IP_PROTOCOL].value.uint8 == IPPROTO_UDP &&
        Values->incomingValue[FWPS_FIELD_OUTBOUND_TRANSPORT_V4_IP_REMOTE_PORT].value.uint16 == DNS &&
        NET_BUFFER_DATA_LENGTH(NET_BUFFER_LIST_FIRST_NB(list)) > 8) {
        LookAtMessage(NET_BUFFER_LIST_FIRST_NB(list));
    }
}

static NTSTATUS NTAPI Notify(FWPS_CALLOUT_NOTIFY_TYPE Type, const GUID *Key, FWPS_FILTER *Filter)
{
    UNREFERENCED_PARAMETER(Type);
    UNREFERENCED_PARAMETER(Key);
    UNREFERENCED_PARAMETER(Filter);
    return 0;
}

static NTSTATUS Start(void)
{
    FWPS_CALLOUT callout = {0};
    FWPM_FILTER filter;
    NTSTATUS status = OpenSession(&Engine);

    if (NT_SUCCESS(status)) {
        status = AddSublayer(Engine, KEY, 0x100);
    }
    callout.calloutKey = KEY;
    callout.classifyFn = Classify;
    callout.notifyFn = Notify;
    if (NT_SUCCESS(status)) {
        status = AddCallout(Engine, Device, &callout, &FWPM_LAYER_OUTBOUND_TRANSPORT_V4, &Id);
    }
    InitFilter(&filter, &FWPM_LAYER_OUTBOUND_TRANSPORT_V4, KEY, KEY, FWP_ACTION_CALLOUT_UNKNOWN);
    return NT_SUCCESS(status) ? FwpmFilterAdd(Engine, &filter, NULL, NULL) : status;
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    UNREFERENCED_PARAMETER(Driver);
    if (Engine != NULL) {
        FwpmEngineClose(Engine);
    }
    if (Id != 0) {
        FwpsCalloutUnregisterById(Id);
    }
    if (Trace != 0) {
        EtwUnregister(Trace);
    }
    IoDeleteDevice(Device);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Path);
    Driver->DriverUnload = Unload;
    status = IoCreateDevice(Driver, 0, NULL, FILE_DEVICE_NETWORK, 0, FALSE, &Device);
    if (!NT_SUCCESS(status)) {
        return status;
    }
    Device->Flags &= ~DO_DEVICE_INITIALIZING;
    if (!NT_SUCCESS(EtwRegister(&KEY, NULL, NULL, &Trace))) {
        Trace = 0;
    }
    status = Start();
    if (!NT_SUCCESS(status)) {
        Unload(Driver);
    }
    return status;
}
