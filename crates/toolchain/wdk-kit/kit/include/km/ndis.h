/* Packets of network drivers: NET_BUFFER_LIST, its parts, and the routines of NDIS.SYS for them. Miniports, filters and protocols are not part
 * of the kit.
 *
 * Written from Microsoft's documentation. */
#pragma once

#include "ntddk.h"
#include "ws2def.h"

#define NDIS_STATUS_SUCCESS ((NDIS_STATUS)0x00000000L)
#define NDIS_STATUS_RESOURCES ((NDIS_STATUS)0xC000009AL)
#define NDIS_OBJECT_TYPE_DEFAULT 0x80
#define NET_BUFFER_LIST_POOL_PARAMETERS_REVISION_1 1
#define NET_BUFFER_POOL_PARAMETERS_REVISION_1 1
#define NDIS_PROTOCOL_ID_DEFAULT 0x00
#define NDIS_SIZEOF_NET_BUFFER_LIST_POOL_PARAMETERS_REVISION_1 (FIELD_OFFSET(NET_BUFFER_LIST_POOL_PARAMETERS, DataSize) + sizeof(ULONG))
#define NDIS_SIZEOF_NET_BUFFER_POOL_PARAMETERS_REVISION_1 sizeof(NET_BUFFER_POOL_PARAMETERS)

#define NET_BUFFER_NEXT_NB(Buffer) ((Buffer)->Next)
#define NET_BUFFER_FIRST_MDL(Buffer) ((Buffer)->MdlChain)
#define NET_BUFFER_DATA_LENGTH(Buffer) ((Buffer)->DataLength)
#define NET_BUFFER_DATA_OFFSET(Buffer) ((Buffer)->DataOffset)
#define NET_BUFFER_CURRENT_MDL(Buffer) ((Buffer)->CurrentMdl)
#define NET_BUFFER_CURRENT_MDL_OFFSET(Buffer) ((Buffer)->CurrentMdlOffset)
#define NET_BUFFER_PROTOCOL_RESERVED(Buffer) ((Buffer)->ProtocolReserved)
#define NET_BUFFER_LIST_NEXT_NBL(List) ((List)->Next)
#define NET_BUFFER_LIST_FIRST_NB(List) ((List)->FirstNetBuffer)
#define NET_BUFFER_LIST_FLAGS(List) ((List)->Flags)
#define NET_BUFFER_LIST_NBL_FLAGS(List) ((List)->NblFlags)
#define NET_BUFFER_LIST_STATUS(List) ((List)->Status)
#define NET_BUFFER_LIST_INFO(List, Id) ((List)->NetBufferListInfo[(Id)])

#ifndef WDK_KIT_NO_TYPES
typedef int NDIS_STATUS, *PNDIS_STATUS;
typedef PVOID NDIS_HANDLE, *PNDIS_HANDLE;
typedef ULONG NDIS_PORT_NUMBER, *PNDIS_PORT_NUMBER;

typedef struct _NDIS_OBJECT_HEADER {
    UCHAR Type;
    UCHAR Revision;
    USHORT Size;
} NDIS_OBJECT_HEADER, *PNDIS_OBJECT_HEADER;

typedef struct _NDIS_GENERIC_OBJECT NDIS_GENERIC_OBJECT, *PNDIS_GENERIC_OBJECT;

typedef enum _NDIS_NET_BUFFER_LIST_INFO {
    TcpIpChecksumNetBufferListInfo = 0,
    TcpOffloadBytesTransferred = TcpIpChecksumNetBufferListInfo,
    IPsecOffloadV1NetBufferListInfo,
    TcpLargeSendNetBufferListInfo,
    ClassificationHandleNetBufferListInfo,
    Ieee8021QNetBufferListInfo,
    NetBufferListCancelId,
    MediaSpecificInformation,
    NetBufferListFrameType,
    NetBufferListHashValue,
    NetBufferListHashInfo,
    MaxNetBufferListInfo = 32
} NDIS_NET_BUFFER_LIST_INFO, *PNDIS_NET_BUFFER_LIST_INFO;

typedef struct _NET_BUFFER {
    struct _NET_BUFFER *Next;
    PMDL CurrentMdl;
    ULONG CurrentMdlOffset;
    union {
        ULONG DataLength;
        SIZE_T stDataLength;
    };
    PMDL MdlChain;
    ULONG DataOffset;
    USHORT DECLSPEC_ALIGN(8) ChecksumBias;
    USHORT Reserved;
    NDIS_HANDLE NdisPoolHandle;
    PVOID DECLSPEC_ALIGN(16) NdisReserved[2];
    PVOID ProtocolReserved[6];
    PVOID MiniportReserved[4];
    PHYSICAL_ADDRESS DataPhysicalAddress;
    PVOID SharedMemoryInfo;
} NET_BUFFER, *PNET_BUFFER;

typedef struct _NET_BUFFER_LIST_CONTEXT NET_BUFFER_LIST_CONTEXT, *PNET_BUFFER_LIST_CONTEXT;

typedef struct _NET_BUFFER_LIST {
    struct _NET_BUFFER_LIST *Next;
    PNET_BUFFER FirstNetBuffer;
    PNET_BUFFER_LIST_CONTEXT Context;
    struct _NET_BUFFER_LIST *ParentNetBufferList;
    NDIS_HANDLE NdisPoolHandle;
    PVOID DECLSPEC_ALIGN(16) NdisReserved[2];
    PVOID ProtocolReserved[4];
    PVOID MiniportReserved[2];
    PVOID Scratch;
    NDIS_HANDLE SourceHandle;
    ULONG NblFlags;
    LONG ChildRefCount;
    ULONG Flags;
    NDIS_STATUS Status;
    PVOID NetBufferListInfo[MaxNetBufferListInfo];
} NET_BUFFER_LIST, *PNET_BUFFER_LIST;

typedef struct _NET_BUFFER_LIST_POOL_PARAMETERS {
    NDIS_OBJECT_HEADER Header;
    UCHAR ProtocolId;
    BOOLEAN fAllocateNetBuffer;
    USHORT ContextSize;
    ULONG PoolTag;
    ULONG DataSize;
    ULONG Flags;
} NET_BUFFER_LIST_POOL_PARAMETERS, *PNET_BUFFER_LIST_POOL_PARAMETERS;

typedef struct _NET_BUFFER_POOL_PARAMETERS {
    NDIS_OBJECT_HEADER Header;
    ULONG PoolTag;
    ULONG DataSize;
} NET_BUFFER_POOL_PARAMETERS, *PNET_BUFFER_POOL_PARAMETERS;

/* The information TcpIpChecksumNetBufferListInfo of a list. */
typedef struct _NDIS_TCP_IP_CHECKSUM_NET_BUFFER_LIST_INFO {
    union {
        struct {
            ULONG IsIPv4 : 1;
            ULONG IsIPv6 : 1;
            ULONG TcpChecksum : 1;
            ULONG UdpChecksum : 1;
            ULONG IpHeaderChecksum : 1;
            ULONG Reserved : 11;
            ULONG TcpHeaderOffset : 10;
        } Transmit;
        struct {
            ULONG TcpChecksumFailed : 1;
            ULONG UdpChecksumFailed : 1;
            ULONG IpChecksumFailed : 1;
            ULONG TcpChecksumSucceeded : 1;
            ULONG UdpChecksumSucceeded : 1;
            ULONG IpChecksumSucceeded : 1;
            ULONG Loopback : 1;
            ULONG TcpChecksumValueInvalid : 1;
            ULONG IpChecksumValueInvalid : 1;
        } Receive;
        PVOID Value;
    };
} NDIS_TCP_IP_CHECKSUM_NET_BUFFER_LIST_INFO, *PNDIS_TCP_IP_CHECKSUM_NET_BUFFER_LIST_INFO;

typedef PMDL NTAPI NET_BUFFER_ALLOCATE_MDL(PULONG BufferSize);
typedef VOID NTAPI NET_BUFFER_FREE_MDL(PMDL Mdl);

NDIS_HANDLE NTAPI NdisAllocateNetBufferListPool(NDIS_HANDLE NdisHandle, PNET_BUFFER_LIST_POOL_PARAMETERS Parameters);
VOID NTAPI NdisFreeNetBufferListPool(NDIS_HANDLE PoolHandle);
NDIS_HANDLE NTAPI NdisAllocateNetBufferPool(NDIS_HANDLE NdisHandle, PNET_BUFFER_POOL_PARAMETERS Parameters);
VOID NTAPI NdisFreeNetBufferPool(NDIS_HANDLE PoolHandle);
PNDIS_GENERIC_OBJECT NTAPI NdisAllocateGenericObject(PDRIVER_OBJECT DriverObject, ULONG Tag, USHORT Size);
VOID NTAPI NdisFreeGenericObject(PNDIS_GENERIC_OBJECT NdisObject);
PVOID NTAPI NdisGetDataBuffer(PNET_BUFFER NetBuffer, ULONG BytesNeeded, PVOID Storage, ULONG AlignMultiple, ULONG AlignOffset);
NDIS_STATUS NTAPI NdisRetreatNetBufferDataStart(PNET_BUFFER NetBuffer, ULONG DataOffsetDelta, ULONG DataBackFill, NET_BUFFER_ALLOCATE_MDL *AllocateMdl);
VOID NTAPI NdisAdvanceNetBufferDataStart(PNET_BUFFER NetBuffer, ULONG DataOffsetDelta, BOOLEAN FreeMdl, NET_BUFFER_FREE_MDL *FreeMdlHandler);
NDIS_STATUS NTAPI NdisRetreatNetBufferListDataStart(PNET_BUFFER_LIST NetBufferList, ULONG DataOffsetDelta, ULONG DataBackFill,
                                                    NET_BUFFER_ALLOCATE_MDL *AllocateMdl, NET_BUFFER_FREE_MDL *FreeMdl);
VOID NTAPI NdisAdvanceNetBufferListDataStart(PNET_BUFFER_LIST NetBufferList, ULONG DataOffsetDelta, BOOLEAN FreeMdl, NET_BUFFER_FREE_MDL *FreeMdlHandler);
PNET_BUFFER_LIST NTAPI NdisAllocateNetBufferAndNetBufferList(NDIS_HANDLE PoolHandle, USHORT ContextSize, USHORT ContextBackFill, PMDL MdlChain,
                                                             ULONG DataOffset, SIZE_T DataLength);
VOID NTAPI NdisFreeNetBufferList(PNET_BUFFER_LIST NetBufferList);
PNET_BUFFER_LIST NTAPI NdisAllocateCloneNetBufferList(PNET_BUFFER_LIST Original, NDIS_HANDLE ListPool, NDIS_HANDLE BufferPool, ULONG Flags);
VOID NTAPI NdisCopySendNetBufferListInfo(PNET_BUFFER_LIST Destination, PNET_BUFFER_LIST Source);
VOID NTAPI NdisCopyReceiveNetBufferListInfo(PNET_BUFFER_LIST Destination, PNET_BUFFER_LIST Source);
VOID NTAPI NdisFreeCloneNetBufferList(PNET_BUFFER_LIST Clone, ULONG Flags);
NDIS_STATUS NTAPI NdisCopyFromNetBufferToNetBuffer(PNET_BUFFER Destination, ULONG DestinationOffset, ULONG BytesToCopy, PNET_BUFFER Source,
                                                   ULONG SourceOffset, PULONG BytesCopied);
#endif
