/* A KMDF driver that is also a callout driver and a minifilter. Its objects belong to the framework: the context of a flow is a
   WDFMEMORY, a lock is a WDFSPINLOCK, and a WDFWORKITEM completes what the callout pended. A control request sets the port that is
   blocked. With BUG 1, the driver does not remove the contexts of flows when it goes. */

#include <initguid.h>
#include <fltKernel.h>
#include "callouts.h"
#include "framework.h"

#define BLOCK_PORT 0x222000 /* input: the port */
#define COUNT_FLOWS 0x222004 /* output: the number of open flows */
#define SLOW 4000

DEFINE_GUID(KEY, 0x6a7d1f00, 0x0003, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 6);

typedef struct {
    WDFMEMORY Memory;
    UINT64 Handle;
    ULONG Bytes;
} FLOW;

typedef struct {
    HANDLE Completion;
} PENDED;

static const WDF_OBJECT_CONTEXT_TYPE_INFO PendedType = {
    sizeof(WDF_OBJECT_CONTEXT_TYPE_INFO), "PENDED", sizeof(PENDED), &PendedType, NULL,
};

static WDFDEVICE Control;
static WDFSPINLOCK Lock;
static WDFCOLLECTION Flows;
static HANDLE Engine;
static PFLT_FILTER Filter;
static UINT32 Ids[3];
static USHORT Blocked;

#define STREAM_ID Ids[2]

static VOID NTAPI Decide(WDFWORKITEM Item)
{
    PENDED *pended =
        WDF(WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker, (WDFOBJECT)Item, &PendedType);

    LOG("decides\n");
    FwpsCompleteOperation(pended->Completion, NULL);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Item);
}

/* Pends a connect request until a work item has run. */
static NTSTATUS Pend(HANDLE Completion)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDF_WORKITEM_CONFIG config = {sizeof(config)};
    WDFWORKITEM item;
    PENDED *pended;
    NTSTATUS status;

    InitAttributes(&attributes, (WDFOBJECT)Control);
    attributes.ContextTypeInfo = &PendedType;
    config.EvtWorkItemFunc = Decide;
    config.AutomaticSerialization = FALSE;
    status = WDF(WDFWORKITEMCREATE, WdfWorkItemCreate, &config, &attributes, &item);
    if (status < 0) {
        return status;
    }
    pended = WDF(WDFOBJECTGETTYPEDCONTEXTWORKER, WdfObjectGetTypedContextWorker, (WDFOBJECT)item, &PendedType);
    status = FwpsPendOperation(Completion, &pended->Completion);
    if (status < 0) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)item);
        return status;
    }
    WDF(WDFWORKITEMENQUEUE, WdfWorkItemEnqueue, item);
    return status;
}

static VOID NTAPI Connect(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                          const FWPS_FILTER *For, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    USHORT port = Values->incomingValue[FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT].value.uint16;
    ULONG flags = Values->incomingValue[FWPS_FIELD_ALE_AUTH_CONNECT_V4_FLAGS].value.uint32;
    BOOLEAN blocked;

    (void)Data, (void)Context, (void)For, (void)FlowContext;
    WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, Lock);
    blocked = port == Blocked;
    WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, Lock);
    LOG("connect to port %u, irql %u\n", port, Irql());
    Out->actionType = blocked ? FWP_ACTION_BLOCK : FWP_ACTION_PERMIT;
    if (port == SLOW && (flags & FWP_CONDITION_FLAG_IS_REAUTHORIZE) == 0 && Pend(Metadata->completionHandle) >= 0) {
        Out->actionType = FWP_ACTION_BLOCK;
        Out->flags |= FWPS_CLASSIFY_OUT_FLAG_ABSORB;
    }
}

/* Removes the memory of a flow from the collection, and deletes it. */
static void Forget(WDFMEMORY Memory)
{
    WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, Lock);
    WDF(WDFCOLLECTIONREMOVE, WdfCollectionRemove, Flows, (WDFOBJECT)Memory);
    WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, Lock);
    WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)Memory);
}

static VOID NTAPI Established(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                              const FWPS_FILTER *For, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFMEMORY memory;
    FLOW *flow;
    NTSTATUS status;

    (void)Values, (void)Data, (void)Context, (void)For, (void)FlowContext;
    Out->actionType = FWP_ACTION_CONTINUE;
    InitAttributes(&attributes, NULL);
    status = WDF(WDFMEMORYCREATE, WdfMemoryCreate, &attributes, NonPagedPool, 'wolF', sizeof(*flow), &memory, (PVOID *)&flow);
    if (status < 0) {
        return;
    }
    flow->Memory = memory;
    flow->Handle = Metadata->flowHandle;
    flow->Bytes = 0;
    WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, Lock);
    status = WDF(WDFCOLLECTIONADD, WdfCollectionAdd, Flows, (WDFOBJECT)memory);
    WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, Lock);
    if (status < 0) {
        WDF(WDFOBJECTDELETE, WdfObjectDelete, (WDFOBJECT)memory);
        return;
    }
    if (FwpsFlowAssociateContext(flow->Handle, FWPS_LAYER_STREAM_V4, STREAM_ID, (UINT64)flow) < 0) {
        Forget(memory);
    }
}

static VOID NTAPI Stream(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                         const FWPS_FILTER *For, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    FWPS_STREAM_CALLOUT_IO_PACKET *packet = Data;
    FLOW *flow = (FLOW *)FlowContext;

    (void)Values, (void)Metadata, (void)Context, (void)For;
    flow->Bytes += (ULONG)packet->streamData->dataLength;
    LOG("%u bytes, irql %u\n", flow->Bytes, Irql());
    packet->streamAction = FWPS_STREAM_ACTION_NONE;
    Out->actionType = FWP_ACTION_PERMIT;
}

static VOID NTAPI FlowDelete(UINT16 Layer, UINT32 Callout, UINT64 Context)
{
    FLOW *flow = (FLOW *)Context;

    (void)Layer, (void)Callout;
    LOG("flow ends after %u bytes\n", flow->Bytes);
    Forget(flow->Memory);
}

static NTSTATUS NTAPI Notify(FWPS_CALLOUT_NOTIFY_TYPE Type, const GUID *Key, FWPS_FILTER *For)
{
    (void)Type, (void)Key, (void)For;
    return 0;
}

static const struct {
    const GUID *Layer;
    FWPS_CALLOUT_CLASSIFY_FN3 Classify;
    FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0 Delete;
    FWP_ACTION_TYPE Action;
} Callouts[] = {
    {&FWPM_LAYER_ALE_AUTH_CONNECT_V4, Connect, NULL, FWP_ACTION_CALLOUT_TERMINATING},
    {&FWPM_LAYER_ALE_FLOW_ESTABLISHED_V4, Established, NULL, FWP_ACTION_CALLOUT_INSPECTION},
    {&FWPM_LAYER_STREAM_V4, Stream, FlowDelete, FWP_ACTION_CALLOUT_TERMINATING},
};

static NTSTATUS Add(ULONG Index)
{
    FWPS_CALLOUT callout = {0};
    FWPM_FILTER filter;
    NTSTATUS status;

    callout.calloutKey = KEY;
    callout.calloutKey.Data1 += 1 + Index;
    callout.classifyFn = Callouts[Index].Classify;
    callout.notifyFn = Notify;
    callout.flowDeleteFn = Callouts[Index].Delete;
    status = AddCallout(Engine, WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, Control), &callout, Callouts[Index].Layer,
                        &Ids[Index]);
    InitFilter(&filter, Callouts[Index].Layer, KEY, callout.calloutKey, Callouts[Index].Action);
    return status < 0 ? status : FwpmFilterAdd(Engine, &filter, NULL, NULL);
}

static NTSTATUS StartCallouts(void)
{
    NTSTATUS status = OpenSession(&Engine);
    ULONG index;

    if (status >= 0) {
        status = AddSublayer(Engine, KEY, 0x100);
    }
    for (index = 0; status >= 0 && index < sizeof(Callouts) / sizeof(*Callouts); index++) {
        status = Add(index);
    }
    return status;
}

static void StopCallouts(void)
{
    ULONG index;

    if (Engine != NULL) {
        FwpmEngineClose(Engine);
    }
    for (;;) {
        WDFMEMORY memory;
        FLOW *flow;

        memory = (WDFMEMORY)WDF(WDFCOLLECTIONGETFIRSTITEM, WdfCollectionGetFirstItem, Flows);
        if (memory == NULL || BUG == 1) {
            break;
        }
        /* The callback removes the memory from the collection. */
        flow = WDF(WDFMEMORYGETBUFFER, WdfMemoryGetBuffer, memory, NULL);
        FwpsFlowRemoveContext(flow->Handle, FWPS_LAYER_STREAM_V4, STREAM_ID);
    }
    for (index = 0; index < sizeof(Ids) / sizeof(*Ids); index++) {
        if (Ids[index] != 0) {
            FwpsCalloutUnregisterById(Ids[index]);
        }
    }
}

static FLT_PREOP_CALLBACK_STATUS FLTAPI PreCreate(PFLT_CALLBACK_DATA Data, PCFLT_RELATED_OBJECTS Objects, PVOID *Context)
{
    PFLT_FILE_NAME_INFORMATION name;
    UNICODE_STRING secret = RTL_CONSTANT_STRING(L"secret");
    BOOLEAN refused;

    (void)Objects, (void)Context;
    if (FltGetFileNameInformation(Data, FLT_FILE_NAME_OPENED | FLT_FILE_NAME_QUERY_DEFAULT, &name) < 0) {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    FltParseFileNameInformation(name);
    refused = RtlEqualUnicodeString(&name->Extension, &secret, TRUE);
    LOG("create %wZ\n", &name->Name);
    FltReleaseFileNameInformation(name);
    if (!refused) {
        return FLT_PREOP_SUCCESS_NO_CALLBACK;
    }
    Data->IoStatus.Status = STATUS_ACCESS_DENIED;
    Data->IoStatus.Information = 0;
    return FLT_PREOP_COMPLETE;
}

static NTSTATUS FLTAPI FilterUnload(FLT_FILTER_UNLOAD_FLAGS Flags)
{
    (void)Flags;
    LOG("filter unload\n");
    FltUnregisterFilter(Filter);
    return 0;
}

static const FLT_OPERATION_REGISTRATION Operations[] = {{IRP_MJ_CREATE, 0, PreCreate, NULL}, {IRP_MJ_OPERATION_END}};

static const FLT_REGISTRATION Registration = {
    .Size = sizeof(FLT_REGISTRATION),
    .Version = FLT_REGISTRATION_VERSION,
    .OperationRegistration = Operations,
    .FilterUnloadCallback = FilterUnload,
};

static VOID NTAPI ControlRequest(WDFQUEUE Queue, WDFREQUEST Request, size_t Output, size_t Input, ULONG Code)
{
    NTSTATUS status = STATUS_INVALID_DEVICE_REQUEST;
    ULONG_PTR bytes = 0;
    PVOID buffer;

    (void)Queue, (void)Output, (void)Input;
    if (Code == BLOCK_PORT) {
        status = WDF(WDFREQUESTRETRIEVEINPUTBUFFER, WdfRequestRetrieveInputBuffer, Request, sizeof(USHORT), &buffer, NULL);
        if (status >= 0) {
            WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, Lock);
            Blocked = *(USHORT *)buffer;
            WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, Lock);
        }
    } else if (Code == COUNT_FLOWS) {
        status = WDF(WDFREQUESTRETRIEVEOUTPUTBUFFER, WdfRequestRetrieveOutputBuffer, Request, sizeof(ULONG), &buffer, NULL);
        if (status >= 0) {
            WDF(WDFSPINLOCKACQUIRE, WdfSpinLockAcquire, Lock);
            *(ULONG *)buffer = WDF(WDFCOLLECTIONGETCOUNT, WdfCollectionGetCount, Flows);
            WDF(WDFSPINLOCKRELEASE, WdfSpinLockRelease, Lock);
            bytes = sizeof(ULONG);
        }
    }
    Complete(Request, status, bytes);
}

/* The driver's own dispatch routine, in place of the framework's. */
static NTSTATUS NTAPI Read(PDEVICE_OBJECT Device, PIRP Irp)
{
    ULONG length = IoGetCurrentIrpStackLocation(Irp)->Parameters.Read.Length;

    LOG("read of %u bytes, its device %d\n", length, Device == WDF(WDFDEVICEWDMGETDEVICEOBJECT, WdfDeviceWdmGetDeviceObject, Control));
    Irp->IoStatus.Status = length < 3 ? STATUS_BUFFER_TOO_SMALL : 0;
    Irp->IoStatus.Information = length < 3 ? 0 : 3;
    if (length >= 3) {
        __builtin_memcpy(Irp->AssociatedIrp.SystemBuffer, "abc", 3);
    }
    length = Irp->IoStatus.Status;
    IofCompleteRequest(Irp, 0);
    return (NTSTATUS)length;
}

static NTSTATUS CreateControlDevice(WDFDRIVER Driver)
{
    UNICODE_STRING everyone = RTL_CONSTANT_STRING(L"D:P(A;;GA;;;SY)(A;;GA;;;BA)");
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\KmdfFilters");
    PWDFDEVICE_INIT init = WDF(WDFCONTROLDEVICEINITALLOCATE, WdfControlDeviceInitAllocate, Driver, &everyone);
    NTSTATUS status;

    if (init == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    status = WDF(WDFDEVICEINITASSIGNNAME, WdfDeviceInitAssignName, init, &name);
    if (status >= 0) {
        status = WDF(WDFDEVICECREATE, WdfDeviceCreate, &init, NULL, &Control);
    }
    if (status < 0) {
        WDF(WDFDEVICEINITFREE, WdfDeviceInitFree, init);
        return status;
    }
    status = CreateControlQueue(Control, WdfIoQueueDispatchParallel, ControlRequest);
    if (status >= 0) {
        WDF(WDFCONTROLFINISHINITIALIZING, WdfControlFinishInitializing, Control);
    }
    return status;
}

static VOID NTAPI Unload(WDFDRIVER Driver)
{
    (void)Driver;
    LOG("unload\n");
    StopCallouts();
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    WDF_DRIVER_CONFIG config = {sizeof(config)};
    WDF_OBJECT_ATTRIBUTES attributes;
    WDFDRIVER driver;
    NTSTATUS status;

    config.DriverInitFlags = WdfDriverInitNonPnpDriver;
    config.EvtDriverUnload = Unload;
    status = WDF(WDFDRIVERCREATE, WdfDriverCreate, Driver, Path, NULL, &config, &driver);
    InitAttributes(&attributes, NULL);
    if (status >= 0) {
        status = WDF(WDFSPINLOCKCREATE, WdfSpinLockCreate, &attributes, &Lock);
    }
    if (status >= 0) {
        status = WDF(WDFCOLLECTIONCREATE, WdfCollectionCreate, &attributes, &Flows);
    }
    if (status >= 0) {
        status = CreateControlDevice(driver);
    }
    if (status < 0) {
        return status;
    }
    Driver->MajorFunction[IRP_MJ_READ] = Read;
    status = StartCallouts();
    if (status >= 0) {
        status = FltRegisterFilter(Driver, &Registration, &Filter);
    }
    if (status >= 0) {
        status = FltStartFiltering(Filter);
        if (status < 0) {
            FltUnregisterFilter(Filter);
        }
    }
    if (status < 0) {
        StopCallouts();
    }
    return status;
}
