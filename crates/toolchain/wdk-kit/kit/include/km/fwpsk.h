/* Callouts of the filter engine.
 *
 * Written from Microsoft's documentation (fwpsk.h, fwpstypes.h); fwpmtypes.h is from Microsoft's metadata. */
#pragma once

#include "ndis.h"
#include "fwpmtypes.h"
#include "fwpvi.h"
#include "nt/fwps_fields.h"

#define FWPS_STREAM_FLAG_RECEIVE 0x00000001
#define FWPS_STREAM_FLAG_RECEIVE_EXPEDITED 0x00000002
#define FWPS_STREAM_FLAG_RECEIVE_DISCONNECT 0x00000004
#define FWPS_STREAM_FLAG_RECEIVE_ABORT 0x00000008
#define FWPS_STREAM_FLAG_RECEIVE_PUSH 0x00000010
#define FWPS_STREAM_FLAG_SEND 0x00010000
#define FWPS_STREAM_FLAG_SEND_EXPEDITED 0x00020000
#define FWPS_STREAM_FLAG_SEND_NODELAY 0x00040000
#define FWPS_STREAM_FLAG_SEND_DISCONNECT 0x00080000
#define FWPS_STREAM_FLAG_SEND_ABORT 0x00100000
#define FWPS_INJECTION_TYPE_STREAM 0x00000001
#define FWPS_INJECTION_TYPE_TRANSPORT 0x00000002
#define FWPS_INJECTION_TYPE_NETWORK 0x00000004
#define FWPS_INJECTION_TYPE_FORWARD 0x00000008
#define FWPS_INJECTION_TYPE_L2 0x00000010
#define FWPS_IS_L2_METADATA_FIELD_PRESENT(Metadata, Field) (((Metadata)->currentL2MetadataValues & (Field)) == (Field))
#define FWPS_IS_METADATA_FIELD_PRESENT(Metadata, Field) (((Metadata)->currentMetadataValues & (Field)) == (Field))

#ifndef WDK_KIT_NO_TYPES
typedef enum FWPS_CALLOUT_NOTIFY_TYPE_ {
    FWPS_CALLOUT_NOTIFY_ADD_FILTER,
    FWPS_CALLOUT_NOTIFY_DELETE_FILTER,
    FWPS_CALLOUT_NOTIFY_ADD_FILTER_POST_COMMIT,
    FWPS_CALLOUT_NOTIFY_TYPE_MAX
} FWPS_CALLOUT_NOTIFY_TYPE;

typedef enum FWPS_PACKET_INJECTION_STATE_ {
    FWPS_PACKET_NOT_INJECTED,
    FWPS_PACKET_INJECTED_BY_SELF,
    FWPS_PACKET_INJECTED_BY_OTHER,
    FWPS_PACKET_PREVIOUSLY_INJECTED_BY_SELF,
    FWPS_PACKET_INJECTION_STATE_MAX
} FWPS_PACKET_INJECTION_STATE;

typedef enum FWPS_CONNECTION_REDIRECT_STATE_ {
    FWPS_CONNECTION_NOT_REDIRECTED,
    FWPS_CONNECTION_REDIRECTED_BY_SELF,
    FWPS_CONNECTION_REDIRECTED_BY_OTHER,
    FWPS_CONNECTION_PREVIOUSLY_REDIRECTED_BY_SELF,
    FWPS_CONNECTION_REDIRECT_STATE_MAX
} FWPS_CONNECTION_REDIRECT_STATE;

typedef enum FWPS_STREAM_ACTION_TYPE_ {
    FWPS_STREAM_ACTION_NONE,
    FWPS_STREAM_ACTION_NEED_MORE_DATA,
    FWPS_STREAM_ACTION_DROP_CONNECTION,
    FWPS_STREAM_ACTION_DEFER,
    FWPS_STREAM_ACTION_ALLOW_CONNECTION,
    FWPS_STREAM_ACTION_TYPE_MAX
} FWPS_STREAM_ACTION_TYPE;

typedef struct FWPS_INCOMING_VALUE0_ {
    FWP_VALUE0 value;
} FWPS_INCOMING_VALUE0;

typedef struct FWPS_INCOMING_VALUES0_ {
    UINT16 layerId;
    UINT32 valueCount;
    FWPS_INCOMING_VALUE0 *incomingValue;
} FWPS_INCOMING_VALUES0;

typedef struct FWPS_ACTION0_ {
    FWP_ACTION_TYPE type;
    UINT32 calloutId;
} FWPS_ACTION0;

typedef struct FWPS_FILTER_CONDITION0_ {
    UINT16 fieldId;
    UINT16 reserved;
    FWP_MATCH_TYPE matchType;
    FWP_CONDITION_VALUE0 conditionValue;
} FWPS_FILTER_CONDITION0;

/* The versions differ in the type of the provider context. */
#define WDK_KIT_FILTER(Version) \
    typedef struct FWPS_FILTER##Version##_ { \
        UINT64 filterId; \
        FWP_VALUE0 weight; \
        UINT16 subLayerWeight; \
        UINT16 flags; \
        UINT32 numFilterConditions; \
        FWPS_FILTER_CONDITION0 *filterCondition; \
        FWPS_ACTION0 action; \
        UINT64 context; \
        FWPM_PROVIDER_CONTEXT##Version *providerContext; \
    } FWPS_FILTER##Version
WDK_KIT_FILTER(0);
WDK_KIT_FILTER(1);
WDK_KIT_FILTER(2);
WDK_KIT_FILTER(3);

typedef struct FWPS_CLASSIFY_OUT0_ {
    FWP_ACTION_TYPE actionType;
    UINT64 outContext;
    UINT64 filterId;
    UINT32 rights;
    UINT32 flags;
    UINT32 reserved;
} FWPS_CLASSIFY_OUT0;

typedef struct FWPS_DISCARD_METADATA0_ {
    UINT32 discardModule;
    UINT32 discardReason;
    UINT64 filterId;
} FWPS_DISCARD_METADATA0;

typedef struct FWPS_INBOUND_FRAGMENT_METADATA0_ {
    UINT32 fragmentIdentification;
    UINT16 fragmentOffset;
    ULONG fragmentLength;
} FWPS_INBOUND_FRAGMENT_METADATA0;

typedef struct FWPS_INCOMING_METADATA_VALUES0_ {
    UINT32 currentMetadataValues;
    UINT32 flags;
    UINT64 reserved;
    FWPS_DISCARD_METADATA0 discardMetadata;
    UINT64 flowHandle;
    UINT32 ipHeaderSize;
    UINT32 transportHeaderSize;
    FWP_BYTE_BLOB *processPath;
    UINT64 token;
    UINT64 processId;
    UINT32 sourceInterfaceIndex;
    UINT32 destinationInterfaceIndex;
    ULONG compartmentId;
    FWPS_INBOUND_FRAGMENT_METADATA0 fragmentMetadata;
    ULONG pathMtu;
    HANDLE completionHandle;
    UINT64 transportEndpointHandle;
    SCOPE_ID remoteScopeId;
    WSACMSGHDR *controlData;
    ULONG controlDataLength;
    FWP_DIRECTION packetDirection;
    PVOID headerIncludeHeader;
    ULONG headerIncludeHeaderLength;
    IP_ADDRESS_PREFIX destinationPrefix;
    UINT16 frameLength;
    UINT64 parentEndpointHandle;
    UINT32 icmpIdAndSequence;
    ULONG localRedirectTargetPID;
    SOCKADDR *originalDestination;
    HANDLE redirectRecords;
    UINT32 currentL2MetadataValues;
    UINT32 l2Flags;
    UINT32 ethernetMacHeaderSize;
    UINT32 wiFiOperationMode;
    UINT32 vSwitchSourcePortId;
    UINT16 vSwitchSourceNicIndex;
    UINT32 vSwitchDestinationPortId;
    UINT32 padding0;
    USHORT padding1;
    UINT32 padding2;
    HANDLE vSwitchPacketContext;
    PVOID subProcessTag;
    UINT64 reserved1;
} FWPS_INCOMING_METADATA_VALUES0;

typedef struct FWPS_STREAM_DATA_OFFSET0_ {
    NET_BUFFER_LIST *netBufferList;
    NET_BUFFER *netBuffer;
    MDL *mdl;
    UINT32 mdlOffset;
    UINT32 netBufferOffset;
    SIZE_T streamDataOffset;
} FWPS_STREAM_DATA_OFFSET0;

typedef struct FWPS_STREAM_DATA0_ {
    UINT32 flags;
    FWPS_STREAM_DATA_OFFSET0 dataOffset;
    SIZE_T dataLength;
    NET_BUFFER_LIST *netBufferListChain;
} FWPS_STREAM_DATA0;

typedef struct FWPS_STREAM_CALLOUT_IO_PACKET0_ {
    FWPS_STREAM_DATA0 *streamData;
    SIZE_T missedBytes;
    UINT32 countBytesRequired;
    SIZE_T countBytesEnforced;
    FWPS_STREAM_ACTION_TYPE streamAction;
} FWPS_STREAM_CALLOUT_IO_PACKET0;

typedef struct FWPS_TRANSPORT_SEND_PARAMS1_ {
    UCHAR *remoteAddress;
    SCOPE_ID remoteScopeId;
    WSACMSGHDR *controlData;
    ULONG controlDataLength;
    UCHAR *headerIncludeHeader;
    ULONG headerIncludeHeaderLength;
} FWPS_TRANSPORT_SEND_PARAMS0, FWPS_TRANSPORT_SEND_PARAMS1;

typedef struct _FWPS_BIND_REQUEST0 {
    SOCKADDR_STORAGE localAddressAndPort;
    UINT64 portReservationToken;
    struct _FWPS_BIND_REQUEST0 *previousVersion;
    UINT64 modifierFilterId;
} FWPS_BIND_REQUEST0;

typedef struct _FWPS_CONNECT_REQUEST0 {
    SOCKADDR_STORAGE localAddressAndPort;
    SOCKADDR_STORAGE remoteAddressAndPort;
    UINT64 portReservationToken;
    ULONG localRedirectTargetPID;
    struct _FWPS_CONNECT_REQUEST0 *previousVersion;
    UINT64 modifierFilterId;
    HANDLE localRedirectHandle;
    VOID *localRedirectContext;
    SIZE_T localRedirectContextSize;
} FWPS_CONNECT_REQUEST0;

typedef struct FWPS_PACKET_LIST_INBOUND_IPSEC_INFORMATION0_ {
    unsigned isSecure : 1;
    unsigned isTransportMode : 1;
    unsigned isTunnelMode : 1;
    unsigned isTransportModeVerified : 1;
    unsigned isTunnelModeVerified : 1;
    unsigned isDeTunneled : 1;
} FWPS_PACKET_LIST_INBOUND_IPSEC_INFORMATION0;

typedef struct FWPS_PACKET_LIST_OUTBOUND_IPSEC_INFORMATION0_ {
    unsigned isIPsecPolicyMatch : 1;
    unsigned isTransportPolicyMatch : 1;
    unsigned isTunnelPolicyMatch : 1;
    unsigned isTunnelIPinIP : 1;
} FWPS_PACKET_LIST_OUTBOUND_IPSEC_INFORMATION0;

typedef struct FWPS_PACKET_LIST_IPSEC_INFORMATION0_ {
    union {
        FWPS_PACKET_LIST_INBOUND_IPSEC_INFORMATION0 inbound;
        FWPS_PACKET_LIST_OUTBOUND_IPSEC_INFORMATION0 outbound;
        UINT32 flags;
    };
} FWPS_PACKET_LIST_IPSEC_INFORMATION0;

typedef struct FWPS_PACKET_LIST_FWP_INFORMATION0_ {
    unsigned isReinjected : 1;
} FWPS_PACKET_LIST_FWP_INFORMATION0;

/* Microsoft's documentation does not have the values of the flags with which a driver says what it queries. */
typedef struct FWPS_PACKET_LIST_INFORMATION0_ {
    FWPS_PACKET_LIST_IPSEC_INFORMATION0 ipsecInformation;
    FWPS_PACKET_LIST_FWP_INFORMATION0 fwpInformation;
} FWPS_PACKET_LIST_INFORMATION0;

/* Since version 1, a classify function gets the context with which it acquires a classify handle. */
typedef VOID NTAPI FWPS_CALLOUT_CLASSIFY_FN0_(const FWPS_INCOMING_VALUES0 *inFixedValues, const FWPS_INCOMING_METADATA_VALUES0 *inMetaValues, VOID *layerData,
                                              const FWPS_FILTER0 *filter, UINT64 flowContext, FWPS_CLASSIFY_OUT0 *classifyOut);
typedef FWPS_CALLOUT_CLASSIFY_FN0_ *FWPS_CALLOUT_CLASSIFY_FN0;
typedef NTSTATUS NTAPI FWPS_CALLOUT_NOTIFY_FN0_(FWPS_CALLOUT_NOTIFY_TYPE notifyType, const GUID *filterKey, const FWPS_FILTER0 *filter);
typedef FWPS_CALLOUT_NOTIFY_FN0_ *FWPS_CALLOUT_NOTIFY_FN0;
#define WDK_KIT_FUNCTIONS(Version) \
    typedef VOID NTAPI FWPS_CALLOUT_CLASSIFY_FN##Version##_(const FWPS_INCOMING_VALUES0 *inFixedValues, const FWPS_INCOMING_METADATA_VALUES0 *inMetaValues, \
                                                            VOID *layerData, const VOID *classifyContext, const FWPS_FILTER##Version *filter, \
                                                            UINT64 flowContext, FWPS_CLASSIFY_OUT0 *classifyOut); \
    typedef FWPS_CALLOUT_CLASSIFY_FN##Version##_ *FWPS_CALLOUT_CLASSIFY_FN##Version; \
    typedef NTSTATUS NTAPI FWPS_CALLOUT_NOTIFY_FN##Version##_(FWPS_CALLOUT_NOTIFY_TYPE notifyType, const GUID *filterKey, FWPS_FILTER##Version *filter); \
    typedef FWPS_CALLOUT_NOTIFY_FN##Version##_ *FWPS_CALLOUT_NOTIFY_FN##Version
WDK_KIT_FUNCTIONS(1);
WDK_KIT_FUNCTIONS(2);
WDK_KIT_FUNCTIONS(3);
typedef VOID NTAPI FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0_(UINT16 layerId, UINT32 calloutId, UINT64 flowContext);
typedef FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0_ *FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0;
typedef VOID NTAPI FWPS_INJECT_COMPLETE0_(VOID *context, NET_BUFFER_LIST *netBufferList, BOOLEAN dispatchLevel);
typedef FWPS_INJECT_COMPLETE0_ *FWPS_INJECT_COMPLETE0;

#define WDK_KIT_CALLOUT(Version) \
    typedef struct FWPS_CALLOUT##Version##_ { \
        GUID calloutKey; \
        UINT32 flags; \
        FWPS_CALLOUT_CLASSIFY_FN##Version classifyFn; \
        FWPS_CALLOUT_NOTIFY_FN##Version notifyFn; \
        FWPS_CALLOUT_FLOW_DELETE_NOTIFY_FN0 flowDeleteFn; \
    } FWPS_CALLOUT##Version
WDK_KIT_CALLOUT(0);
WDK_KIT_CALLOUT(1);
WDK_KIT_CALLOUT(2);
WDK_KIT_CALLOUT(3);

NTSTATUS NTAPI FwpsCalloutRegister0(VOID *deviceObject, const FWPS_CALLOUT0 *callout, UINT32 *calloutId);
NTSTATUS NTAPI FwpsCalloutRegister1(VOID *deviceObject, const FWPS_CALLOUT1 *callout, UINT32 *calloutId);
NTSTATUS NTAPI FwpsCalloutRegister2(VOID *deviceObject, const FWPS_CALLOUT2 *callout, UINT32 *calloutId);
NTSTATUS NTAPI FwpsCalloutRegister3(VOID *deviceObject, const FWPS_CALLOUT3 *callout, UINT32 *calloutId);
NTSTATUS NTAPI FwpsCalloutUnregisterById0(const UINT32 calloutId);
NTSTATUS NTAPI FwpsCalloutUnregisterByKey0(const GUID *calloutKey);
NTSTATUS NTAPI FwpsFlowAssociateContext0(UINT64 flowId, UINT16 layerId, UINT32 calloutId, UINT64 flowContext);
NTSTATUS NTAPI FwpsFlowRemoveContext0(UINT64 flowId, UINT16 layerId, UINT32 calloutId);
NTSTATUS NTAPI FwpsFlowAbort0(UINT64 flowId);
NTSTATUS NTAPI FwpsClassifyOptionSet0(const FWPS_INCOMING_METADATA_VALUES0 *inMetadataValues, const FWP_CLASSIFY_OPTION_TYPE option,
                                      const FWP_VALUE0 *newValue);
NTSTATUS NTAPI FwpsPendOperation0(HANDLE completionHandle, HANDLE *completionContext);
VOID NTAPI FwpsCompleteOperation0(HANDLE completionContext, NET_BUFFER_LIST *netBufferList);
NTSTATUS NTAPI FwpsAcquireClassifyHandle0(VOID *classifyContext, UINT32 flags, UINT64 *classifyHandle);
VOID NTAPI FwpsReleaseClassifyHandle0(UINT64 classifyHandle);
NTSTATUS NTAPI FwpsPendClassify0(UINT64 classifyHandle, UINT64 filterId, UINT32 flags, FWPS_CLASSIFY_OUT0 *classifyOut);
VOID NTAPI FwpsCompleteClassify0(UINT64 classifyHandle, UINT32 flags, FWPS_CLASSIFY_OUT0 *classifyOut);
NTSTATUS NTAPI FwpsAcquireWritableLayerDataPointer0(UINT64 classifyHandle, UINT64 filterId, UINT32 flags, PVOID *writableLayerData,
                                                    FWPS_CLASSIFY_OUT0 *classifyOut);
VOID NTAPI FwpsApplyModifiedLayerData0(UINT64 classifyHandle, PVOID modifiedLayerData, UINT32 flags);
NTSTATUS NTAPI FwpsRedirectHandleCreate0(const GUID *providerGuid, UINT32 flags, HANDLE *redirectHandle);
VOID NTAPI FwpsRedirectHandleDestroy0(HANDLE redirectHandle);
NTSTATUS NTAPI FwpsQueryConnectionSioFormatRedirectRecords0(HANDLE RedirectRecords, PVOID OutputBuffer, SIZE_T OutputBufferLength,
                                                            PSIZE_T BytesTransferred);
FWPS_CONNECTION_REDIRECT_STATE NTAPI FwpsQueryConnectionRedirectState0(HANDLE redirectRecords, HANDLE redirectHandle, VOID **redirectContext);
NTSTATUS NTAPI FwpsAllocateNetBufferAndNetBufferList0(NDIS_HANDLE poolHandle, USHORT contextSize, USHORT contextBackFill, MDL *mdlChain, ULONG dataOffset,
                                                      SIZE_T dataLength, NET_BUFFER_LIST **netBufferList);
VOID NTAPI FwpsFreeNetBufferList0(NET_BUFFER_LIST *netBufferList);
NTSTATUS NTAPI FwpsAllocateCloneNetBufferList0(NET_BUFFER_LIST *originalNetBufferList, NDIS_HANDLE netBufferListPoolHandle, NDIS_HANDLE netBufferPoolHandle,
                                               ULONG allocateCloneFlags, NET_BUFFER_LIST **netBufferList);
VOID NTAPI FwpsFreeCloneNetBufferList0(NET_BUFFER_LIST *netBufferList, ULONG freeCloneFlags);
VOID NTAPI FwpsReferenceNetBufferList0(NET_BUFFER_LIST *netBufferList, BOOLEAN intentToModify);
VOID NTAPI FwpsDereferenceNetBufferList0(NET_BUFFER_LIST *netBufferList, BOOLEAN dispatchLevel);
NTSTATUS NTAPI FwpsConstructIpHeaderForTransportPacket0(NET_BUFFER_LIST *netBufferList, ULONG headerIncludeHeaderLength, ADDRESS_FAMILY addressFamily,
                                                        const UCHAR *sourceAddress, const UCHAR *remoteAddress, IPPROTO nextProtocol, UINT64 endpointHandle,
                                                        const WSACMSGHDR *controlData, ULONG controlDataLength, UINT32 flags, PVOID reserved,
                                                        IF_INDEX interfaceIndex, IF_INDEX subInterfaceIndex);
NTSTATUS NTAPI FwpsGetPacketListSecurityInformation0(NET_BUFFER_LIST *packetList, UINT32 queryFlags, FWPS_PACKET_LIST_INFORMATION0 *packetInformation);
NTSTATUS NTAPI FwpsReassembleForwardFragmentGroup0(ADDRESS_FAMILY addressFamily, NET_BUFFER_LIST *fragmentGroupNblChain,
                                                   NDIS_HANDLE netBufferAndNetBufferListPoolHandle, ULONG dataBackFill, ULONG flags,
                                                   NET_BUFFER_LIST **reassembledNbl);
NTSTATUS NTAPI FwpsInjectionHandleCreate0(ADDRESS_FAMILY addressFamily, UINT32 flags, HANDLE *injectionHandle);
NTSTATUS NTAPI FwpsInjectionHandleDestroy0(HANDLE injectionHandle);
FWPS_PACKET_INJECTION_STATE NTAPI FwpsQueryPacketInjectionState0(HANDLE injectionHandle, const NET_BUFFER_LIST *netBufferList, HANDLE *injectionContext);
NTSTATUS NTAPI FwpsInjectNetworkSendAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, COMPARTMENT_ID compartmentId,
                                           NET_BUFFER_LIST *netBufferList, FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectNetworkReceiveAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, COMPARTMENT_ID compartmentId,
                                              IF_INDEX interfaceIndex, IF_INDEX subInterfaceIndex, NET_BUFFER_LIST *netBufferList,
                                              FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectForwardAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, ADDRESS_FAMILY addressFamily,
                                       COMPARTMENT_ID compartmentId, IF_INDEX interfaceIndex, NET_BUFFER_LIST *netBufferList,
                                       FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectTransportSendAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT64 endpointHandle, UINT32 flags,
                                             FWPS_TRANSPORT_SEND_PARAMS0 *sendArgs, ADDRESS_FAMILY addressFamily, COMPARTMENT_ID compartmentId,
                                             NET_BUFFER_LIST *netBufferList, FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectTransportSendAsync1(HANDLE injectionHandle, HANDLE injectionContext, UINT64 endpointHandle, UINT32 flags,
                                             FWPS_TRANSPORT_SEND_PARAMS1 *sendArgs, ADDRESS_FAMILY addressFamily, COMPARTMENT_ID compartmentId,
                                             NET_BUFFER_LIST *netBufferList, FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectTransportReceiveAsync0(HANDLE injectionHandle, HANDLE injectionContext, PVOID reserved, UINT32 flags, ADDRESS_FAMILY addressFamily,
                                                COMPARTMENT_ID compartmentId, IF_INDEX interfaceIndex, IF_INDEX subInterfaceIndex,
                                                NET_BUFFER_LIST *netBufferList, FWPS_INJECT_COMPLETE0 completionFn, HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectMacReceiveAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, UINT16 layerId, IF_INDEX interfaceIndex,
                                          NDIS_PORT_NUMBER NdisPortNumber, NET_BUFFER_LIST *netBufferLists, FWPS_INJECT_COMPLETE0 completionFn,
                                          HANDLE completionContext);
NTSTATUS NTAPI FwpsInjectMacSendAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, UINT16 layerId, IF_INDEX interfaceIndex,
                                       NDIS_PORT_NUMBER NdisPortNumber, NET_BUFFER_LIST *netBufferLists, FWPS_INJECT_COMPLETE0 completionFn,
                                       HANDLE completionContext);
NTSTATUS NTAPI FwpsStreamContinue0(UINT64 flowId, UINT32 calloutId, UINT16 layerId, UINT32 streamFlags);
NTSTATUS NTAPI FwpsStreamInjectAsync0(HANDLE injectionHandle, HANDLE injectionContext, UINT32 flags, UINT64 flowId, UINT32 calloutId, UINT16 layerId,
                                      UINT32 streamFlags, NET_BUFFER_LIST *netBufferList, SIZE_T dataLength, FWPS_INJECT_COMPLETE0 completionFn,
                                      HANDLE completionContext);
NTSTATUS NTAPI FwpsCloneStreamData0(FWPS_STREAM_DATA0 *calloutStreamData, NDIS_HANDLE netBufferListPoolHandle, NDIS_HANDLE netBufferPoolHandle,
                                    ULONG allocateCloneFlags, NET_BUFFER_LIST **netBufferListChain);
VOID NTAPI FwpsDiscardClonedStreamData0(NET_BUFFER_LIST *netBufferListChain, ULONG allocateCloneFlags, BOOLEAN dispatchLevel);
VOID NTAPI FwpsCopyStreamDataToBuffer0(const FWPS_STREAM_DATA0 *calloutStreamData, PVOID buffer, SIZE_T bytesToCopy, SIZE_T *bytesCopied);
#endif
