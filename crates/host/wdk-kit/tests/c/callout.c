/* A callout that looks at packets and passes them on as clones, with the headers of the filtering platform and of NDIS. The layouts are those of
 * public headers and code for 64-bit Windows; no Windows has confirmed them. */

#include <initguid.h>
#include <fwpsk.h>
#include <fwpmu.h>
#include <ws2ipdef.h>
#include <in6addr.h>
#include <ip2string.h>

C_ASSERT(sizeof(NET_BUFFER) == 0xB0 && FIELD_OFFSET(NET_BUFFER, DataOffset) == 0x28 && FIELD_OFFSET(NET_BUFFER, NdisPoolHandle) == 0x38);
C_ASSERT(FIELD_OFFSET(NET_BUFFER_LIST, NdisReserved) == 0x30 && FIELD_OFFSET(NET_BUFFER_LIST, NetBufferListInfo) == 0x90);
C_ASSERT(sizeof(FWPS_FILTER0) == 64 && sizeof(FWPS_CLASSIFY_OUT0) == 40 && sizeof(FWPS_CALLOUT0) == 48);
C_ASSERT(FIELD_OFFSET(FWPS_INCOMING_METADATA_VALUES0, completionHandle) == 104 && sizeof(FWPM_FILTER0) == 200);
C_ASSERT(RPC_C_AUTHN_WINNT == 10 && FWPS_LAYER_ALE_AUTH_CONNECT_V4 == 48 && FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT == 7);

static HANDLE Injection;

static VOID NTAPI Done(VOID *Context, NET_BUFFER_LIST *List, BOOLEAN Dispatch)
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Dispatch);
    FwpsFreeCloneNetBufferList(List, 0);
}

static VOID NTAPI Classify(const FWPS_INCOMING_VALUES *Values, const FWPS_INCOMING_METADATA_VALUES *Metadata, VOID *Data, const VOID *Context,
                           const FWPS_FILTER *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT *Out)
{
    NET_BUFFER_LIST *clone;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Filter);
    UNREFERENCED_PARAMETER(FlowContext);
    if (Values->layerId != FWPS_LAYER_INBOUND_TRANSPORT_V4 || !FWPS_IS_METADATA_FIELD_PRESENT(Metadata, FWPS_METADATA_FIELD_IP_HEADER_SIZE))
        return;
    if (!NT_SUCCESS(FwpsAllocateCloneNetBufferList(Data, NULL, NULL, 0, &clone)))
        return;
    if (NdisRetreatNetBufferDataStart(NET_BUFFER_LIST_FIRST_NB(clone), Metadata->ipHeaderSize, 0, NULL) != NDIS_STATUS_SUCCESS ||
        !NT_SUCCESS(FwpsInjectTransportReceiveAsync(Injection, NULL, NULL, 0, AF_INET, DEFAULT_COMPARTMENT_ID, 1, 0, clone, Done, NULL)))
        FwpsFreeCloneNetBufferList(clone, 0);
    Out->actionType = FWP_ACTION_BLOCK;
    Out->flags |= FWPS_CLASSIFY_OUT_FLAG_ABSORB;
}

NTSTATUS Add(HANDLE Engine, FWPS_CALLOUT *Callout)
{
    FWPM_FILTER_CONDITION condition = {0};
    FWPM_FILTER filter = {0};

    Callout->classifyFn = Classify;
    condition.fieldKey = FWPM_CONDITION_IP_PROTOCOL;
    condition.conditionValue.type = FWP_UINT8;
    condition.conditionValue.uint8 = IPPROTO_TCP;
    filter.layerKey = FWPM_LAYER_INBOUND_TRANSPORT_V4;
    filter.action.type = FWP_ACTION_CALLOUT_TERMINATING;
    filter.action.calloutKey = Callout->calloutKey;
    filter.filterCondition = &condition;
    filter.numFilterConditions = 1;
    return FwpmFilterAdd(Engine, &filter, NULL, NULL);
}
