/* A callout driver of the Windows Filtering Platform: it authorizes, redirects and inspects connections, keeps a context for
   each flow, and passes DNS packets on as clones. Each BUG is a mistake that the filter engine does not forgive. */

#include <initguid.h>
#include "callouts.h"

#define LOG(...) DbgPrint(__VA_ARGS__)
#define TAG 'pfwT'
#define TELNET 23
#define DNS 53
#define WEB 80
#define SLOW 4000
#define SLOW_AND_REFUSED 4001
/* Connections to these hosts are redirected or refused later. */
#define LATER_HOST 0x0a000007
#define LATER_REFUSED_HOST 0x0a000008

enum {
    LEAK_CLONE = 1,
    FREE_TWICE,
    INJECT_ORIGINAL,
    NEVER_COMPLETE,
    STAY_REGISTERED,
    WRONG_IRQL,
    MOVE_DATA,
    KEEP_REFERENCE,
    NOT_APPLIED,
    KEEP_SESSION,
    NEVER_COMPLETE_CLASSIFY,
    KEEP_FLOWS,
    FREE_OF_THE_STACK,
    FREE_CLONE_AS_LIST,
    INJECT_AGAIN,
    NO_RIGHT,
    WRONG_CONDITION,
    COMPLETE_TWICE,
    KEEP_INJECTION,
    KEEP_REDIRECTION,
    KEEP_CLASSIFY,
};

DEFINE_GUID(SUBLAYER, 0x6a7d1f00, 0x0001, 0x4a5b, 0x90, 0x00, 1, 2, 3, 4, 5, 6);

static PDEVICE_OBJECT Device;
static HANDLE Engine, Injection, Redirection;
static UINT32 StreamId;
static KSPIN_LOCK Lock;
static LIST_ENTRY Flows;

typedef struct {
    PIO_WORKITEM Item;
    HANDLE Completion;
} PENDED;

typedef struct {
    PIO_WORKITEM Item;
    UINT64 Handle, FilterId;
    BOOLEAN Refused;
    FWPS_CLASSIFY_OUT Out;
} LATER;

typedef struct {
    LIST_ENTRY Entry;
    UINT64 Handle;
    ULONG Bytes;
} FLOW;

static UINT32 Address(const FWPS_INCOMING_VALUES *Values, UINT32 Field)
{
    return Values->incomingValue[Field].value.uint32;
}

static UINT16 Port(const FWPS_INCOMING_VALUES *Values, UINT32 Field)
{
    return Values->incomingValue[Field].value.uint16;
}

static VOID NTAPI Complete(PDEVICE_OBJECT Object, PVOID Context)
{
    PENDED *pended = Context;

    UNREFERENCED_PARAMETER(Object);
    FwpsCompleteOperation(pended->Completion, NULL);
    if (BUG == COMPLETE_TWICE)
        FwpsCompleteOperation(pended->Completion, NULL);
    IoFreeWorkItem(pended->Item);
    ExFreePoolWithTag(pended, TAG);
}

/* Decides later, in a work item. */
static VOID Pend(const FWPS_INCOMING_METADATA_VALUES *Metadata, FWPS_CLASSIFY_OUT *Out)
{
    PENDED *pended = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *pended, TAG);

    Out->actionType = FWP_ACTION_BLOCK;
    if (pended == NULL)
        return;
    pended->Item = IoAllocateWorkItem(Device);
    if (pended->Item == NULL || !NT_SUCCESS(FwpsPendOperation(Metadata->completionHandle, &pended->Completion))) {
        if (pended->Item != NULL)
            IoFreeWorkItem(pended->Item);
        ExFreePoolWithTag(pended, TAG);
        return;
    }
    Out->flags |= FWPS_CLASSIFY_OUT_FLAG_ABSORB;
    if (BUG == NEVER_COMPLETE) {
        IoFreeWorkItem(pended->Item);
        ExFreePoolWithTag(pended, TAG);
        return;
    }
    IoQueueWorkItem(pended->Item, Complete, DelayedWorkQueue, pended);
}

static VOID NTAPI Connect(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                          const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    UINT32 remote = Address(Values, FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_ADDRESS);
    UINT16 port = Port(Values, FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT);
    BOOLEAN again = (Values->incomingValue[FWPS_FIELD_ALE_AUTH_CONNECT_V4_FLAGS].value.uint32 & FWP_CONDITION_FLAG_IS_REAUTHORIZE) != 0;

    UNREFERENCED_PARAMETER(Data);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(FlowContext);
    LOG("connect to %08x:%u, process %u, context %u%s\n", remote, port, (ULONG)Metadata->processId, (ULONG)Filter->context, again ? ", again" : "");
    if ((Out->rights & FWPS_RIGHT_ACTION_WRITE) == 0) {
        if (BUG == NO_RIGHT)
            Out->actionType = FWP_ACTION_CONTINUE;
        return;
    }
    if (!again && (port == SLOW || port == SLOW_AND_REFUSED)) {
        Pend(Metadata, Out);
        return;
    }
    Out->actionType = port == TELNET || port == SLOW_AND_REFUSED ? FWP_ACTION_BLOCK : FWP_ACTION_PERMIT;
    if (Out->actionType == FWP_ACTION_BLOCK)
        Out->rights &= ~FWPS_RIGHT_ACTION_WRITE;
}

/* Sends a connection to another port of this machine. */
static VOID ToProxy(UINT64 Handle, UINT64 FilterId, FWPS_CLASSIFY_OUT *Out)
{
    FWPS_CONNECT_REQUEST *request;
    SOCKADDR_IN *address;

    if (!NT_SUCCESS(FwpsAcquireWritableLayerDataPointer(Handle, FilterId, 0, (PVOID *)&request, Out)))
        return;
    address = (SOCKADDR_IN *)&request->remoteAddressAndPort;
    address->sin_port = RtlUshortByteSwap(8080);
    address->sin_addr.s_addr = 0x0100007F;
    request->localRedirectHandle = Redirection;
    if (BUG != NOT_APPLIED)
        FwpsApplyModifiedLayerData(Handle, request, 0);
    Out->actionType = FWP_ACTION_PERMIT;
}

static VOID NTAPI Decide(PDEVICE_OBJECT Object, PVOID Context)
{
    LATER *later = Context;

    UNREFERENCED_PARAMETER(Object);
    if (later->Refused)
        later->Out.actionType = FWP_ACTION_BLOCK;
    else
        ToProxy(later->Handle, later->FilterId, &later->Out);
    if (BUG != NEVER_COMPLETE_CLASSIFY)
        FwpsCompleteClassify(later->Handle, 0, &later->Out);
    FwpsReleaseClassifyHandle(later->Handle);
    IoFreeWorkItem(later->Item);
    ExFreePoolWithTag(later, TAG);
}

/* Decides about a classification in a work item, which then owns the handle. */
static BOOLEAN DecideLater(UINT64 Handle, const FWPS_FILTER *Filter, BOOLEAN Refused, FWPS_CLASSIFY_OUT *Out)
{
    LATER *later = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *later, TAG);

    if (later == NULL)
        return FALSE;
    later->Item = IoAllocateWorkItem(Device);
    if (later->Item == NULL || !NT_SUCCESS(FwpsPendClassify(Handle, Filter->filterId, 0, Out))) {
        if (later->Item != NULL)
            IoFreeWorkItem(later->Item);
        ExFreePoolWithTag(later, TAG);
        return FALSE;
    }
    later->Handle = Handle;
    later->FilterId = Filter->filterId;
    later->Refused = Refused;
    later->Out = *Out;
    IoQueueWorkItem(later->Item, Decide, DelayedWorkQueue, later);
    return TRUE;
}

static VOID NTAPI Redirect(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                           const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    UINT32 remote = Address(Values, FWPS_FIELD_ALE_CONNECT_REDIRECT_V4_IP_REMOTE_ADDRESS);
    UINT64 handle;

    UNREFERENCED_PARAMETER(Metadata);
    UNREFERENCED_PARAMETER(Data);
    UNREFERENCED_PARAMETER(FlowContext);
    LOG("redirect %u\n", Port(Values, FWPS_FIELD_ALE_CONNECT_REDIRECT_V4_IP_REMOTE_PORT));
    Out->actionType = FWP_ACTION_PERMIT;
    if (!NT_SUCCESS(FwpsAcquireClassifyHandle((VOID *)Context, 0, &handle)))
        return;
    if (remote == LATER_HOST || remote == LATER_REFUSED_HOST) {
        if (DecideLater(handle, Filter, remote == LATER_REFUSED_HOST, Out))
            return;
    } else {
        ToProxy(handle, Filter->filterId, Out);
    }
    if (BUG != KEEP_CLASSIFY)
        FwpsReleaseClassifyHandle(handle);
}

static VOID Forget(FLOW *Flow)
{
    KIRQL irql;

    KeAcquireSpinLock(&Lock, &irql);
    RemoveEntryList(&Flow->Entry);
    KeReleaseSpinLock(&Lock, irql);
    ExFreePoolWithTag(Flow, TAG);
}

static VOID NTAPI Established(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                              const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    FLOW *flow = ExAllocatePoolWithTag(NonPagedPoolNx, sizeof *flow, TAG);
    KIRQL irql;

    UNREFERENCED_PARAMETER(Data);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Filter);
    UNREFERENCED_PARAMETER(FlowContext);
    LOG("established with port %u\n", Port(Values, FWPS_FIELD_ALE_FLOW_ESTABLISHED_V4_IP_REMOTE_PORT));
    Out->actionType = FWP_ACTION_CONTINUE;
    if (flow == NULL)
        return;
    flow->Handle = Metadata->flowHandle;
    flow->Bytes = 0;
    KeAcquireSpinLock(&Lock, &irql);
    InsertTailList(&Flows, &flow->Entry);
    KeReleaseSpinLock(&Lock, irql);
    if (!NT_SUCCESS(FwpsFlowAssociateContext(flow->Handle, FWPS_LAYER_STREAM_V4, StreamId, (UINT64)flow)))
        Forget(flow);
}

static VOID NTAPI Stream(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                         const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    FWPS_STREAM_CALLOUT_IO_PACKET *packet = Data;
    FLOW *flow = (FLOW *)FlowContext;
    CHAR text[17] = {0};
    SIZE_T copied = 0;

    UNREFERENCED_PARAMETER(Values);
    UNREFERENCED_PARAMETER(Metadata);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Filter);
    FwpsCopyStreamDataToBuffer(packet->streamData, text, sizeof text - 1, &copied);
    flow->Bytes += (ULONG)packet->streamData->dataLength;
    LOG("%s '%s', %u bytes, %u of the flow\n", packet->streamData->flags & FWPS_STREAM_FLAG_RECEIVE ? "receives" : "sends", text,
        (ULONG)copied, flow->Bytes);
    packet->streamAction = FWPS_STREAM_ACTION_NONE;
    Out->actionType = text[0] == '!' ? FWP_ACTION_BLOCK : FWP_ACTION_PERMIT;
}

static VOID NTAPI FlowDelete(UINT16 Layer, UINT32 Callout, UINT64 Context)
{
    FLOW *flow = (FLOW *)Context;

    LOG("flow ends at layer %u of callout %d with %u bytes\n", Layer, Callout == StreamId, flow->Bytes);
    Forget(flow);
}

/* Removes the contexts of the flows that are still open: otherwise, the callout cannot be unregistered. */
static VOID RemoveContexts(void)
{
    for (;;) {
        LIST_ENTRY *entry;
        UINT64 handle = 0;
        KIRQL irql;

        KeAcquireSpinLock(&Lock, &irql);
        entry = Flows.Flink;
        if (entry != &Flows) {
            handle = CONTAINING_RECORD(entry, FLOW, Entry)->Handle;
            RemoveEntryList(entry);
            InitializeListHead(entry);
        }
        KeReleaseSpinLock(&Lock, irql);
        if (entry == &Flows)
            return;
        FwpsFlowRemoveContext(handle, FWPS_LAYER_STREAM_V4, StreamId);
    }
}

static VOID NTAPI Injected(VOID *Context, NET_BUFFER_LIST *List, BOOLEAN Dispatch)
{
    LOG("injected: %x, context %u, %u\n", List->Status, (ULONG)(ULONG_PTR)Context, Dispatch);
    if (BUG == FREE_CLONE_AS_LIST)
        FwpsFreeNetBufferList(List);
    if (BUG != LEAK_CLONE)
        FwpsFreeCloneNetBufferList(List, 0);
    if (BUG == FREE_TWICE)
        FwpsFreeCloneNetBufferList(List, 0);
}

/* Passes DNS queries on as clones, with one byte changed. */
static VOID NTAPI Packet(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                         const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    NET_BUFFER_LIST *list = Data, *clone;
    NET_BUFFER *buffer = NET_BUFFER_LIST_FIRST_NB(list);
    UCHAR storage[28], *bytes;
    HANDLE handle;

    UNREFERENCED_PARAMETER(Values);
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Filter);
    UNREFERENCED_PARAMETER(FlowContext);
    Out->actionType = FWP_ACTION_PERMIT;
    if (BUG != INJECT_AGAIN && FwpsQueryPacketInjectionState(Injection, list, NULL) == FWPS_PACKET_INJECTED_BY_SELF)
        return;
    /* Behind the IP header, and back, which needs no memory. */
    NdisAdvanceNetBufferDataStart(buffer, Metadata->ipHeaderSize, FALSE, NULL);
    NdisRetreatNetBufferDataStart(buffer, Metadata->ipHeaderSize, 0, NULL);
    bytes = NdisGetDataBuffer(buffer, sizeof storage, storage, 1, 0);
    if (bytes == NULL || bytes[9] != IPPROTO_UDP || bytes[22] != 0 || bytes[23] != DNS)
        return;
    LOG("packet of %u bytes, header %u\n", NET_BUFFER_DATA_LENGTH(buffer), Metadata->ipHeaderSize);
    if (BUG == WRONG_IRQL && NT_SUCCESS(FwpsInjectionHandleCreate(AF_INET, FWPS_INJECTION_TYPE_NETWORK, &handle)))
        FwpsInjectionHandleDestroy(handle);
    if (BUG == MOVE_DATA)
        NdisAdvanceNetBufferDataStart(buffer, 20, FALSE, NULL);
    if (BUG == FREE_OF_THE_STACK)
        FwpsFreeCloneNetBufferList(list, 0);
    if (BUG == KEEP_REFERENCE)
        FwpsReferenceNetBufferList(list, TRUE);
    if (BUG == INJECT_ORIGINAL) {
        FwpsInjectNetworkSendAsync(Injection, NULL, 0, DEFAULT_COMPARTMENT_ID, list, Injected, NULL);
        return;
    }
    if (!NT_SUCCESS(FwpsAllocateCloneNetBufferList(list, NULL, NULL, 0, &clone)))
        return;
    bytes = NdisGetDataBuffer(NET_BUFFER_LIST_FIRST_NB(clone), 20, NULL, 1, 0);
    if (bytes != NULL)
        bytes[8]--;
    if (!NT_SUCCESS(FwpsInjectNetworkSendAsync(Injection, NULL, 0, DEFAULT_COMPARTMENT_ID, clone, Injected, (HANDLE)7))) {
        FwpsFreeCloneNetBufferList(clone, 0);
        return;
    }
    Out->actionType = FWP_ACTION_BLOCK;
    Out->rights &= ~FWPS_RIGHT_ACTION_WRITE;
    Out->flags |= FWPS_CLASSIFY_OUT_FLAG_ABSORB;
}

static NTSTATUS NTAPI Notify(FWPS_CALLOUT_NOTIFY_TYPE Type, const GUID *Key, FWPS_FILTER *Filter)
{
    UNREFERENCED_PARAMETER(Key);
    if (Type == FWPS_CALLOUT_NOTIFY_ADD_FILTER)
        Filter->context += 1;
    LOG("filter %s, context %u\n", Type == FWPS_CALLOUT_NOTIFY_ADD_FILTER ? "added" : "deleted", (ULONG)Filter->context);
    return 0;
}

typedef struct {
    const GUID *Layer;
    FWPS_CALLOUT_CLASSIFY_FN3 Classify;
    FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0 Delete;
    UINT16 Port;
    UINT32 Id;
} CALLOUT;

static CALLOUT Callouts[] = {
    {&FWPM_LAYER_ALE_AUTH_CONNECT_V4, Connect, NULL, 0, 0},
    {&FWPM_LAYER_ALE_CONNECT_REDIRECT_V4, Redirect, NULL, WEB, 0},
    {&FWPM_LAYER_ALE_FLOW_ESTABLISHED_V4, Established, NULL, 0, 0},
    {&FWPM_LAYER_STREAM_V4, Stream, FlowDelete, 0, 0},
    {&FWPM_LAYER_OUTBOUND_IPPACKET_V4, Packet, NULL, 0, 0},
};

#define COUNT (sizeof Callouts / sizeof *Callouts)

static NTSTATUS Add(ULONG Index)
{
    CALLOUT *added = &Callouts[Index];
    FWPM_FILTER_CONDITION condition = {0};
    FWPS_CALLOUT callout = {0};
    FWPM_FILTER filter;
    NTSTATUS status;

    callout.calloutKey = SUBLAYER;
    callout.calloutKey.Data1 += 1 + Index;
    callout.classifyFn = added->Classify;
    callout.notifyFn = Notify;
    callout.flowDeleteFn = added->Delete;
    status = AddCallout(Engine, Device, &callout, added->Layer, &added->Id);
    if (!NT_SUCCESS(status))
        return status;
    InitFilter(&filter, added->Layer, SUBLAYER, callout.calloutKey,
               added->Classify == Established ? FWP_ACTION_CALLOUT_INSPECTION : FWP_ACTION_CALLOUT_UNKNOWN);
    filter.rawContext = 10 * Index;
    if (added->Port != 0) {
        condition.fieldKey = FWPM_CONDITION_IP_REMOTE_PORT;
        condition.matchType = FWP_MATCH_EQUAL;
        condition.conditionValue.type = FWP_UINT16;
        condition.conditionValue.uint16 = added->Port;
        filter.numFilterConditions = 1;
        filter.filterCondition = &condition;
        if (BUG == WRONG_CONDITION) {
            filter.layerKey = FWPM_LAYER_OUTBOUND_IPPACKET_V4;
            FwpmFilterAdd(Engine, &filter, NULL, NULL);
            filter.layerKey = *added->Layer;
        }
    }
    return FwpmFilterAdd(Engine, &filter, NULL, NULL);
}

/* Permits all connections in a sublayer of more weight, and takes the callout's right to change that. */
static NTSTATUS PermitFirst(void)
{
    FWPM_FILTER filter;
    GUID first = SUBLAYER;

    first.Data1 -= 1;
    InitFilter(&filter, &FWPM_LAYER_ALE_AUTH_CONNECT_V4, first, first, FWP_ACTION_PERMIT);
    filter.flags = FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT;
    return NT_SUCCESS(AddSublayer(Engine, first, 0x200)) ? FwpmFilterAdd(Engine, &filter, NULL, NULL) : STATUS_UNSUCCESSFUL;
}

static NTSTATUS Start(void)
{
    NTSTATUS status = OpenSession(&Engine);
    ULONG index;

    if (!NT_SUCCESS(status))
        return status;
    status = FwpmTransactionBegin(Engine, 0);
    if (!NT_SUCCESS(status))
        return status;
    status = AddSublayer(Engine, SUBLAYER, 0x100);
    for (index = 0; NT_SUCCESS(status) && index < COUNT; index++)
        status = Add(index);
    if (NT_SUCCESS(status) && BUG == NO_RIGHT)
        status = PermitFirst();
    StreamId = Callouts[3].Id;
    if (NT_SUCCESS(status))
        status = FwpsInjectionHandleCreate(AF_INET, FWPS_INJECTION_TYPE_NETWORK, &Injection);
    if (NT_SUCCESS(status))
        status = FwpsRedirectHandleCreate(&SUBLAYER, 0, &Redirection);
    if (!NT_SUCCESS(status)) {
        FwpmTransactionAbort(Engine);
        return status;
    }
    return FwpmTransactionCommit(Engine);
}

static VOID NTAPI Unload(PDRIVER_OBJECT Driver)
{
    ULONG index;

    UNREFERENCED_PARAMETER(Driver);
    if (Engine != NULL && BUG != KEEP_SESSION)
        FwpmEngineClose(Engine);
    if (BUG != KEEP_FLOWS)
        RemoveContexts();
    for (index = 0; index < COUNT; index++)
        if (Callouts[index].Id != 0 && (BUG != STAY_REGISTERED || index != 1))
            FwpsCalloutUnregisterById(Callouts[index].Id);
    if (Injection != NULL && BUG != KEEP_INJECTION)
        FwpsInjectionHandleDestroy(Injection);
    if (Redirection != NULL && BUG != KEEP_REDIRECTION)
        FwpsRedirectHandleDestroy(Redirection);
    IoDeleteDevice(Device);
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT Driver, PUNICODE_STRING Path)
{
    NTSTATUS status;

    UNREFERENCED_PARAMETER(Path);
    Driver->DriverUnload = Unload;
    KeInitializeSpinLock(&Lock);
    InitializeListHead(&Flows);
    status = IoCreateDevice(Driver, 0, NULL, FILE_DEVICE_NETWORK, 0, FALSE, &Device);
    if (!NT_SUCCESS(status))
        return status;
    Device->Flags &= ~DO_DEVICE_INITIALIZING;
    status = Start();
    if (!NT_SUCCESS(status))
        Unload(Driver);
    return status;
}
