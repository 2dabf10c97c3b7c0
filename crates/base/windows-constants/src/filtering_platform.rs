//! The Windows Filtering Platform and what it needs of the network.

constants! {
    "Actions of a filter: `FWP_ACTION_TYPE`, fwptypes.h."
    u32 {
        FWP_ACTION_FLAG_CALLOUT = 0x4000,
        FWP_ACTION_BLOCK = 0x1001,
        FWP_ACTION_PERMIT = 0x1002,
        FWP_ACTION_CALLOUT_INSPECTION = 0x6004,
        FWP_ACTION_CONTINUE = 0x2006,
        FWP_ACTION_NONE = 0x7,
        FWP_ACTION_NONE_NO_MATCH = 0x8,
    }

    "Types of values: `FWP_DATA_TYPE`, fwptypes.h."
    u32 {
        FWP_EMPTY = 0,
        FWP_UINT8 = 1,
        FWP_UINT16 = 2,
        FWP_UINT32 = 3,
        FWP_UINT64 = 4,
        FWP_INT64 = 8,
        FWP_FLOAT = 9,
        FWP_DOUBLE = 10,
        FWP_BYTE_ARRAY16_TYPE = 11,
        FWP_BYTE_BLOB_TYPE = 12,
        FWP_SID = 13,
        FWP_SECURITY_DESCRIPTOR_TYPE = 14,
        FWP_TOKEN_ACCESS_INFORMATION_TYPE = 16,
        FWP_UNICODE_STRING_TYPE = 17,
        FWP_BYTE_ARRAY6_TYPE = 18,
        FWP_V4_ADDR_MASK = 256,
        FWP_V6_ADDR_MASK = 257,
        FWP_RANGE_TYPE = 258,
    }

    "Flags that callouts get and set, fwptypes.h and fwpstypes.h."
    u32 {
        FWP_CALLOUT_FLAG_CONDITIONAL_ON_FLOW = 0x1,
        FWP_CONDITION_FLAG_IS_LOOPBACK = 0x1,
        FWP_CONDITION_FLAG_IS_REAUTHORIZE = 0x4,
        FWPS_RIGHT_ACTION_WRITE = 0x1,
        FWPS_CLASSIFY_OUT_FLAG_ABSORB = 0x1,
    }

    "Metadata fields of a layer, fwpstypes.h."
    u32 {
        FWPS_METADATA_FIELD_FLOW_HANDLE = 0x2,
        FWPS_METADATA_FIELD_IP_HEADER_SIZE = 0x4,
        FWPS_METADATA_FIELD_PROCESS_PATH = 0x8,
        FWPS_METADATA_FIELD_PROCESS_ID = 0x20,
        FWPS_METADATA_FIELD_TRANSPORT_HEADER_SIZE = 0x400,
        FWPS_METADATA_FIELD_COMPARTMENT_ID = 0x800,
        FWPS_METADATA_FIELD_COMPLETION_HANDLE = 0x4000,
        FWPS_METADATA_FIELD_TRANSPORT_ENDPOINT_HANDLE = 0x8000,
    }

    "Flags of filters and sessions, fwpmtypes.h."
    u32 {
        FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT = 0x8,
        FWPM_FILTER_FLAG_PERMIT_IF_CALLOUT_UNREGISTERED = 0x10,
        FWPM_SESSION_FLAG_DYNAMIC = 0x1,
    }

    "`FWPM_SERVICE_STATE`, fwpmtypes.h."
    i32 {
        FWPM_SERVICE_RUNNING = 3,
    }

    "The key of the sublayer that every system has, fwpmu.h."
    u128 {
        FWPM_SUBLAYER_UNIVERSAL = 0xEEBE_CC03_CED4_4380_819A_2734_397B_2B74,
    }

    "`FWPS_CALLOUT_NOTIFY_TYPE`, fwpsk.h."
    u64 {
        FWPS_CALLOUT_NOTIFY_ADD_FILTER = 0,
        FWPS_CALLOUT_NOTIFY_DELETE_FILTER = 1,
    }

    "`FWPS_PACKET_INJECTION_STATE`, fwpsk.h."
    i32 {
        FWPS_PACKET_NOT_INJECTED = 0,
        FWPS_PACKET_INJECTED_BY_SELF = 1,
        FWPS_PACKET_INJECTED_BY_OTHER = 2,
        FWPS_PACKET_PREVIOUSLY_INJECTED_BY_SELF = 3,
    }

    "Flags of `FWPS_STREAM_DATA0`, fwpsk.h."
    u32 {
        FWPS_STREAM_FLAG_RECEIVE = 0x1,
        FWPS_STREAM_FLAG_SEND = 0x1_0000,
    }

    "`FWPS_STREAM_ACTION_TYPE`, fwpsk.h."
    u32 {
        FWPS_STREAM_ACTION_DROP_CONNECTION = 2,
    }

    "Address families, ws2def.h."
    u16 {
        AF_INET = 2,
        AF_INET6 = 23,
    }

    "Protocols, ws2def.h."
    u8 {
        IPPROTO_ICMP = 1,
        IPPROTO_TCP = 6,
        IPPROTO_UDP = 17,
        IPPROTO_ICMPV6 = 58,
    }

    "Types of interfaces, ipifcons.h."
    u32 {
        IF_TYPE_ETHERNET_CSMACD = 6,
    }

    "`NL_ADDRESS_TYPE`, nldef.h."
    u8 {
        NlatUnicast = 1,
        NlatMulticast = 3,
    }
}
