/* A callout that looks at packets and passes them on as clones, with the headers of the filtering platform and of NDIS. The layouts are those of
 * public headers and code for 64-bit Windows; no Windows has confirmed them. */

#include <initguid.h>
#include <fwpsk.h>
#include <fwpmu.h>
#include <ws2ipdef.h>
#include <in6addr.h>
#include <ip2string.h>
#include <mstcpip.h>
#include <inaddr.h>
#include <ndis/nbl.h>
#include <ndis/nblchecksum.h>
#include <winerror.h>
#include <intsafe.h>

C_ASSERT(sizeof(NET_BUFFER) == 0xB0 && FIELD_OFFSET(NET_BUFFER, DataOffset) == 0x28 && FIELD_OFFSET(NET_BUFFER, NdisPoolHandle) == 0x38);
C_ASSERT(FIELD_OFFSET(NET_BUFFER_LIST, NdisReserved) == 0x30 && FIELD_OFFSET(NET_BUFFER_LIST, NetBufferListInfo) == 0x90);
C_ASSERT(sizeof(FWPS_FILTER0) == 64 && sizeof(FWPS_CLASSIFY_OUT0) == 40 && sizeof(FWPS_CALLOUT0) == 48);
C_ASSERT(FIELD_OFFSET(FWPS_INCOMING_METADATA_VALUES0, completionHandle) == 104 && sizeof(FWPM_FILTER0) == 200);
C_ASSERT(RPC_C_AUTHN_WINNT == 10 && FWPS_LAYER_ALE_AUTH_CONNECT_V4 == 48 && FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT == 7);

C_ASSERT(FWPS_LAYER_OUTBOUND_MAC_FRAME_ETHERNET == 57 && FWPS_LAYER_NAME_RESOLUTION_CACHE_V6 == 61 && FWPS_LAYER_EGRESS_VSWITCH_TRANSPORT_V6 == 77);
C_ASSERT(FWPS_FIELD_INBOUND_MAC_FRAME_ETHERNET_ETHER_TYPE == 5 && FWPS_FIELD_EGRESS_VSWITCH_ETHERNET_VSWITCH_ID == 7);
C_ASSERT(FWPS_FIELD_NAME_RESOLUTION_CACHE_V4_PEER_NAME == 3 && sizeof(FWPS_BIND_REQUEST) == 152 && sizeof(FWPS_PACKET_LIST_INFORMATION) == 8);
C_ASSERT(INET_ADDRSTRLEN == 22 && INET6_ADDRSTRLEN == 65 && ERROR_SUCCESS == 0 && ERROR_ACCESS_DENIED == 5);
C_ASSERT(FWP_E_CALLOUT_NOT_FOUND == (HRESULT)0x80320001L && S_OK == 0 && E_FAIL == (HRESULT)0x80004005L);

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

/* Whether the network adapter has checked a packet. */
BOOLEAN IsVerified(NET_BUFFER_LIST *List)
{
    NDIS_TCP_IP_CHECKSUM_NET_BUFFER_LIST_INFO checksum;

    checksum.Value = NET_BUFFER_LIST_INFO(List, TcpIpChecksumNetBufferListInfo);
    return checksum.Receive.TcpChecksumSucceeded && !checksum.Receive.IpChecksumFailed;
}

/* The names without versions are those of one version. */
static NTSTATUS NTAPI Notify(FWPS_CALLOUT_NOTIFY_TYPE Type, const GUID *Key, FWPS_FILTER *Filter)
{
    UNREFERENCED_PARAMETER(Type);
    UNREFERENCED_PARAMETER(Key);
    return Filter->providerContext != NULL && Filter->providerContext->dataBuffer->size != sizeof(ULONG) ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
}

NTSTATUS Register(PDEVICE_OBJECT Device, UINT32 *Id)
{
    FWPS_CALLOUT_CLASSIFY_FN classify = Classify;
    FWPS_CALLOUT_NOTIFY_FN notify = Notify;
    FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN flowDelete = NULL;
    FWPS_CALLOUT callout = {0};

    callout.classifyFn = classify;
    callout.notifyFn = notify;
    callout.flowDeleteFn = flowDelete;
    return FwpsCalloutRegister(Device, &callout, Id);
}

/* Each version of a callout has its own type of filter. */
static VOID NTAPI Classify2(const FWPS_INCOMING_VALUES0 *Values, const FWPS_INCOMING_METADATA_VALUES0 *Metadata, VOID *Data, const VOID *Context,
                            const FWPS_FILTER2 *Filter, UINT64 FlowContext, FWPS_CLASSIFY_OUT0 *Out)
{
    FWP_VALUE0 lifetime = {0};
    UINT64 sum;

    UNREFERENCED_PARAMETER(Values);
    UNREFERENCED_PARAMETER(Data);
    UNREFERENCED_PARAMETER(Context);
    lifetime.type = FWP_UINT32;
    lifetime.uint32 = 60;
    FwpsClassifyOptionSet(Metadata, FWP_CLASSIFY_OPTION_UNICAST_LIFETIME, &lifetime);
    if (FAILED(ULongLongAdd(Filter->context, FlowContext, &sum)) || sum == ULONGLONG_MAX)
        Out->actionType = FWP_ACTION_BLOCK;
}

NTSTATUS Register2(PDEVICE_OBJECT Device, UINT32 *Id)
{
    FWPS_CALLOUT2 callout = {0};

    callout.classifyFn = Classify2;
    return FwpsCalloutRegister2(Device, &callout, Id);
}

/* What IPsec did to a packet; without flags, the query is for nothing. */
BOOLEAN IsSecure(NET_BUFFER_LIST *List)
{
    FWPS_PACKET_LIST_INFORMATION information = {0};

    return NT_SUCCESS(FwpsGetPacketListSecurityInformation(List, 0, &information)) && information.ipsecInformation.inbound.isSecure;
}

NTSTATUS Send(NET_BUFFER_LIST *Frame, const FWPS_INCOMING_METADATA_VALUES *Metadata, IF_INDEX Interface, NDIS_PORT_NUMBER Port)
{
    if (FWPS_IS_L2_METADATA_FIELD_PRESENT(Metadata, 1))
        return STATUS_NOT_SUPPORTED;
    return FwpsInjectMacSendAsync(Injection, NULL, 0, FWPS_LAYER_OUTBOUND_MAC_FRAME_ETHERNET, Interface, Port, Frame, Done, NULL);
}

/* A connection to the machine itself, or to a private network. */
BOOLEAN IsLocal(SOCKADDR *Address, WCHAR Text[INET6_ADDRSTRLEN])
{
    const IN_ADDR *four = (const IN_ADDR *)INETADDR_ADDRESS(Address);
    const IN6_ADDR *six = (const IN6_ADDR *)INETADDR_ADDRESS(Address);

    if (INETADDR_ISANY(Address)) {
        INETADDR_SETLOOPBACK(Address);
        INETADDR_SET_PORT(Address, RtlUshortByteSwap(8080));
    }
    if (Address->sa_family == AF_INET6) {
        RtlIpv6AddressToStringW(six, Text);
        return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_LINKLOCAL(six) || IN6_IS_ADDR_V4MAPPED(six) || IN6_IS_ADDR_MC_LINKLOCAL(six) || six->s6_addr[0] == 0xfd;
    }
    RtlIpv4AddressToStringW(four, Text);
    return IN4_IS_ADDR_LOOPBACK(four) || IN4_IS_ADDR_LINKLOCAL(four) || IN4_IS_ADDR_RFC1918(four) || IN4_IS_ADDR_MULTICAST(four);
}

/* Lists the filters of the engine, and reads one. */
NTSTATUS List(HANDLE Engine, UINT64 Id)
{
    FWPM_FILTER_ENUM_TEMPLATE0 template = {0};
    FWPM_FILTER **filters;
    FWPM_FILTER *one;
    HANDLE enumeration;
    UINT32 count;
    NTSTATUS status = FwpmFilterGetById(Engine, Id, &one);

    if (!NT_SUCCESS(status))
        return status;
    FwpmFreeMemory((VOID **)&one);
    template.layerKey = FWPM_LAYER_INBOUND_TRANSPORT_V4;
    status = FwpmFilterCreateEnumHandle(Engine, &template, &enumeration);
    if (!NT_SUCCESS(status))
        return status;
    status = FwpmFilterEnum(Engine, enumeration, 16, &filters, &count);
    if (NT_SUCCESS(status))
        FwpmFreeMemory((VOID **)&filters);
    FwpmFilterDestroyEnumHandle(Engine, enumeration);
    return status;
}
