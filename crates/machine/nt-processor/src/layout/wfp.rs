//! The Windows Filtering Platform: what the filter engine shares with callout drivers.

use super::layout;
use super::packet::MDL;
use super::support::GUID;
use crate::memory::{Code, GuestPtr};

layout! {
    /// `FWP_VALUE0` and `FWP_CONDITION_VALUE0`: a type and a union, whose longer members are pointers.
    FWP_VALUE0: 16 {
        Type: u32,
        Padding: u32,
        Data: u64,
    }

    FWP_BYTE_BLOB: 16 {
        size: u32,
        Padding: u32,
        data: GuestPtr<u8>,
    }

    FWP_RANGE0: 32 {
        valueLow: FWP_VALUE0,
        valueHigh: FWP_VALUE0,
    }

    FWP_V4_ADDR_AND_MASK: 8 {
        addr: u32,
        mask: u32,
    }

    /// Without the byte of the prefix length, which follows the address.
    FWP_V6_ADDR: 16 {
        addr: [u8; 16],
    }

    FWPM_DISPLAY_DATA0: 16 {
        name: GuestPtr<u16>,
        description: GuestPtr<u16>,
    }

    FWPM_SESSION0: 72 {
        sessionKey: GUID,
        displayData: FWPM_DISPLAY_DATA0,
        flags: u32,
        txnWaitTimeoutInMSec: u32,
        processId: u32,
        Padding1: u32,
        sid: u64,
        username: GuestPtr<u16>,
        kernelMode: u32,
        Padding2: u32,
    }

    FWPM_PROVIDER0: 64 {
        providerKey: GUID,
        displayData: FWPM_DISPLAY_DATA0,
        flags: u32,
        Padding: u32,
        providerData: FWP_BYTE_BLOB,
        serviceName: GuestPtr<u16>,
    }

    FWPM_SUBLAYER0: 72 {
        subLayerKey: GUID,
        displayData: FWPM_DISPLAY_DATA0,
        flags: u32,
        Padding1: u32,
        providerKey: GuestPtr<GUID>,
        providerData: FWP_BYTE_BLOB,
        weight: u16,
        Padding2: [u8; 6],
    }

    FWPM_CALLOUT0: 88 {
        calloutKey: GUID,
        displayData: FWPM_DISPLAY_DATA0,
        flags: u32,
        Padding1: u32,
        providerKey: GuestPtr<GUID>,
        providerData: FWP_BYTE_BLOB,
        applicableLayer: GUID,
        calloutId: u32,
        Padding2: u32,
    }

    FWPM_FILTER_CONDITION0: 40 {
        fieldKey: GUID,
        matchType: u32,
        Padding: u32,
        conditionValue: FWP_VALUE0,
    }

    FWPM_FILTER0: 200 {
        filterKey: GUID,
        displayData: FWPM_DISPLAY_DATA0,
        flags: u32,
        Padding1: u32,
        providerKey: GuestPtr<GUID>,
        providerData: FWP_BYTE_BLOB,
        layerKey: GUID,
        subLayerKey: GUID,
        weight: FWP_VALUE0,
        numFilterConditions: u32,
        Padding2: u32,
        filterCondition: GuestPtr<FWPM_FILTER_CONDITION0>,
        actionType: u32,
        actionKey: GUID,
        Padding3: u32,
        context: [u64; 2],
        reserved: u64,
        filterId: u64,
        effectiveWeight: FWP_VALUE0,
    }

    /// The templates of callouts and sublayers are its beginning.
    FWPM_FILTER_ENUM_TEMPLATE0: 72 {
        providerKey: GuestPtr<GUID>,
        layerKey: GUID,
        enumType: u32,
        flags: u32,
        providerContextTemplate: u64,
        numFilterConditions: u32,
        Padding: u32,
        filterCondition: GuestPtr<FWPM_FILTER_CONDITION0>,
        actionMask: u32,
        Padding2: u32,
        calloutKey: GuestPtr<GUID>,
    }

    /// `FWPS_CALLOUT0` to `FWPS_CALLOUT3`.
    FWPS_CALLOUT: 48 {
        calloutKey: GUID,
        flags: u32,
        Padding: u32,
        classifyFn: GuestPtr<Code>,
        notifyFn: GuestPtr<Code>,
        flowDeleteFn: GuestPtr<Code>,
    }

    FWPS_INCOMING_VALUES0: 16 {
        layerId: u16,
        Padding: u16,
        valueCount: u32,
        incomingValue: GuestPtr<FWP_VALUE0>,
    }

    /// `FWPS_FILTER0` to `FWPS_FILTER3`, which differ in the type of the provider context. Filters for callouts have no
    /// conditions here: the engine has already tested them.
    FWPS_FILTER: 64 {
        filterId: u64,
        weight: FWP_VALUE0,
        subLayerWeight: u16,
        flags: u16,
        numFilterConditions: u32,
        filterCondition: u64,
        actionType: u32,
        calloutId: u32,
        context: u64,
        providerContext: u64,
    }

    FWPS_CLASSIFY_OUT0: 40 {
        actionType: u32,
        Padding1: u32,
        outContext: u64,
        filterId: u64,
        rights: u32,
        flags: u32,
        reserved: u32,
        Padding2: u32,
    }

    /// The members up to those of Windows 7 and then reserved ones, which this host leaves empty.
    FWPS_INCOMING_METADATA_VALUES0: 320 {
        currentMetadataValues: u32,
        flags: u32,
        reserved: u64,
        discardMetadata: [u64; 2],
        flowHandle: u64,
        ipHeaderSize: u32,
        transportHeaderSize: u32,
        processPath: GuestPtr<FWP_BYTE_BLOB>,
        token: u64,
        processId: u64,
        sourceInterfaceIndex: u32,
        destinationInterfaceIndex: u32,
        compartmentId: u32,
        fragmentMetadata: [u32; 3],
        pathMtu: u32,
        Padding1: u32,
        completionHandle: u64,
        transportEndpointHandle: u64,
        remoteScopeId: u32,
        Padding2: u32,
        controlData: u64,
        controlDataLength: u32,
        packetDirection: u32,
        headerIncludeHeader: u64,
        headerIncludeHeaderLength: u32,
        destinationPrefix: [u32; 8],
        frameLength: u16,
        Padding3: u16,
        parentEndpointHandle: u64,
        icmpIdAndSequence: u32,
        localRedirectTargetPID: u32,
        originalDestination: u64,
        redirectRecords: u64,
        Later: [u64; 12],
    }

    FWPS_STREAM_DATA0: 64 {
        flags: u32,
        Padding: u32,
        dataOffsetList: GuestPtr<NET_BUFFER_LIST>,
        dataOffsetBuffer: GuestPtr<NET_BUFFER>,
        dataOffsetMdl: GuestPtr<MDL>,
        dataOffsetMdlOffset: u32,
        dataOffsetBufferOffset: u32,
        dataOffsetStream: u64,
        dataLength: u64,
        netBufferListChain: GuestPtr<NET_BUFFER_LIST>,
    }

    FWPS_STREAM_CALLOUT_IO_PACKET0: 40 {
        streamData: GuestPtr<FWPS_STREAM_DATA0>,
        missedBytes: u64,
        countBytesRequired: u32,
        Padding1: u32,
        countBytesEnforced: u64,
        streamAction: u32,
        Padding2: u32,
    }

    /// `FWPS_CONNECT_REQUEST0`. Both addresses are `SOCKADDR_STORAGE`.
    FWPS_CONNECT_REQUEST0: 312 {
        localAddressAndPort: [u8; 128],
        remoteAddressAndPort: [u8; 128],
        portReservationToken: u64,
        localRedirectTargetPID: u32,
        Padding: u32,
        previousVersion: u64,
        modifierFilterId: u64,
        localRedirectHandle: u64,
        localRedirectContext: u64,
        localRedirectContextSize: u64,
    }

    /// Followed by `NetBufferListInfo` in the array of this many elements.
    NET_BUFFER_LIST: 0x190 {
        Next: GuestPtr<NET_BUFFER_LIST>,
        FirstNetBuffer: GuestPtr<NET_BUFFER>,
        Context: u64,
        ParentNetBufferList: GuestPtr<NET_BUFFER_LIST>,
        NdisPoolHandle: u64,
        Padding: u64,
        NdisReserved: [u64; 2],
        ProtocolReserved: [u64; 4],
        MiniportReserved: [u64; 2],
        Scratch: u64,
        SourceHandle: u64,
        NblFlags: u32,
        ChildRefCount: u32,
        Flags: u32,
        Status: u32,
        NetBufferListInfo: [u64; 32],
    }

    NET_BUFFER: 0xB0 {
        Next: GuestPtr<NET_BUFFER>,
        CurrentMdl: GuestPtr<MDL>,
        CurrentMdlOffset: u32,
        Padding1: u32,
        DataLength: u64,
        MdlChain: GuestPtr<MDL>,
        DataOffset: u32,
        Padding2: u32,
        ChecksumBias: u16,
        Reserved: u16,
        Padding3: u32,
        NdisPoolHandle: u64,
        NdisReserved: [u64; 2],
        ProtocolReserved: [u64; 6],
        MiniportReserved: [u64; 4],
        DataPhysicalAddress: u64,
        SharedMemoryInfo: u64,
    }

    /// The first members of `NET_BUFFER_LIST_POOL_PARAMETERS`.
    NET_BUFFER_LIST_POOL_PARAMETERS: 16 {
        Header: u32,
        ProtocolId: u8,
        fAllocateNetBuffer: u8,
        ContextSize: u16,
        PoolTag: u32,
        DataSize: u32,
    }
}
