//! Windows Management Instrumentation: what its library, drivers and the framework share.

use super::layout;
use super::support::GUID;
use crate::memory::{Code, GuestPtr};

layout! {
    WNODE_HEADER: 0x30 {
        BufferSize: u32,
        ProviderId: u32,
        Version: u32,
        Linkage: u32,
        TimeStamp: u64,
        Guid: GUID,
        ClientContext: u32,
        Flags: u32,
    }

    /// Without the data, which follows.
    WNODE_SINGLE_INSTANCE: 0x40 {
        Header: WNODE_HEADER,
        OffsetInstanceName: u32,
        InstanceIndex: u32,
        DataBlockOffset: u32,
        SizeDataBlock: u32,
    }

    /// `WNODE_METHOD_ITEM` and `WNODE_SINGLE_ITEM`, whose members have the same offsets. Without the data, which follows.
    WNODE_ITEM: 0x48 {
        Header: WNODE_HEADER,
        OffsetInstanceName: u32,
        InstanceIndex: u32,
        ItemId: u32,
        DataBlockOffset: u32,
        SizeDataBlock: u32,
        Padding: u32,
    }

    WNODE_TOO_SMALL: 0x38 {
        Header: WNODE_HEADER,
        SizeNeeded: u32,
        Padding: u32,
    }

    /// Followed by an array of [`WMIREGGUID`].
    WMIREGINFO: 0x18 {
        BufferSize: u32,
        NextWmiRegInfo: u32,
        RegistryPath: u32,
        MofResourceName: u32,
        GuidCount: u32,
        Padding: u32,
    }

    WMIREGGUID: 0x20 {
        Guid: GUID,
        Flags: u32,
        InstanceCount: u32,
        Pdo: u64,
    }

    WMIGUIDREGINFO: 0x10 {
        Guid: GuestPtr<GUID>,
        InstanceCount: u32,
        Flags: u32,
    }

    WMILIB_CONTEXT: 0x40 {
        GuidCount: u32,
        Padding: u32,
        GuidList: GuestPtr<WMIGUIDREGINFO>,
        QueryWmiRegInfo: GuestPtr<Code>,
        QueryWmiDataBlock: GuestPtr<Code>,
        SetWmiDataBlock: GuestPtr<Code>,
        SetWmiDataItem: GuestPtr<Code>,
        ExecuteWmiMethod: GuestPtr<Code>,
        WmiFunctionControl: GuestPtr<Code>,
    }

    WDF_WMI_PROVIDER_CONFIG: 40 {
        Size: u32,
        Guid: GUID,
        Flags: u32,
        MinInstanceBufferSize: u32,
        Padding: u32,
        EvtWmiProviderFunctionControl: GuestPtr<Code>,
    }

    WDF_WMI_INSTANCE_CONFIG: 64 {
        Size: u32,
        Padding1: u32,
        Provider: u64,
        ProviderConfig: GuestPtr<WDF_WMI_PROVIDER_CONFIG>,
        UseContextForQuery: u8,
        Register: u8,
        Padding2: [u8; 6],
        EvtWmiInstanceQueryInstance: GuestPtr<Code>,
        EvtWmiInstanceSetInstance: GuestPtr<Code>,
        EvtWmiInstanceSetItem: GuestPtr<Code>,
        EvtWmiInstanceExecuteMethod: GuestPtr<Code>,
    }
}
