//! A network interface in the configuration of a machine is a `MIB_IF_ROW2`, as Microsoft's metadata declares it.

use std::mem::offset_of;

use etw_etl::{Clock, Decoded, Decoder, Event, EventData};
use etw_types::{EventDescriptor, Guid, Opcode};
use windows_sys::Win32::NetworkManagement::IpHelper::MIB_IF_ROW2;
use windows_sys::Win32::NetworkManagement::Ndis;
use windows_sys::Win32::System::Diagnostics::Etw;

const SYS_CONFIG: Guid = Guid::from_u128(0x9b79_ee91_b5fd_41c0_a243_4248_e266_e9d0);
const SYSTEM_CONFIG: Guid = Guid::from_u128(0x0185_3a65_418f_4f36_aefc_dc0f_1d2f_d235);
const CLASSIC: u16 = 0x100;

/// Members of `MIB_IF_ROW2` and their offsets.
macro_rules! members {
    ($($member:ident)*) => { [$((stringify!($member), offset_of!(MIB_IF_ROW2, $member))),*] };
}

fn decoded(provider: Guid, opcode: u8, payload: &[u8], is_32_bit: bool) -> Decoded {
    let descriptor = EventDescriptor { opcode: Opcode::from_int(opcode), ..EventDescriptor::default() };
    let data = EventData { provider, descriptor, payload, is_32_bit, flags: CLASSIC, ..EventData::default() };
    let mut record = vec![0; data.encoded_len()];
    data.encode(&mut record).unwrap();
    let event = Event::from_record(&record, 0, &Clock::default()).unwrap();
    Decoder::default().decode(&event.as_ref())
}

fn interface(payload: &[u8]) -> Decoded {
    decoded(SYS_CONFIG, 36, payload, false)
}

fn text(decoded: &Decoded, field: &str) -> String {
    decoded.field(field).unwrap().to_string()
}

#[test]
fn every_member_is_at_its_offset() {
    // Each of these members holds its own offset.
    let numbers = members![
        InterfaceIndex PhysicalAddressLength Mtu Type TunnelType MediaType PhysicalMediumType AccessType DirectionType OperStatus
        AdminStatus MediaConnectState ConnectionType TransmitLinkSpeed ReceiveLinkSpeed InOctets InUcastPkts InNUcastPkts InDiscards
        InErrors InUnknownProtos InUcastOctets InMulticastOctets InBroadcastOctets OutOctets OutUcastPkts OutNUcastPkts OutDiscards
        OutErrors OutUcastOctets OutMulticastOctets OutBroadcastOctets OutQLen
    ];
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let address = |last: u8| format!("02000000{last:02x}{}", "00".repeat(27));
    let [luid, guid, alias, description, physical, permanent, flags, network] = members![
        InterfaceLuid InterfaceGuid Alias Description PhysicalAddress PermanentPhysicalAddress InterfaceAndOperStatusFlags NetworkGuid
    ];
    let others = [
        (luid, 0x0006_0080_0000_0000_u64.to_le_bytes().to_vec(), "0x6008000000000".to_owned()),
        (guid, SYS_CONFIG.to_bytes_le().to_vec(), SYS_CONFIG.to_string()),
        (alias, wide("Ethernet"), "Ethernet".to_owned()),
        (description, wide("Adapter"), "Adapter".to_owned()),
        (physical, vec![2, 0, 0, 0, 7], address(7)),
        (permanent, vec![2, 0, 0, 0, 8], address(8)),
        (flags, vec![0x85], "HardwareInterface|ConnectorPresent|EndPointInterface".to_owned()),
        (network, SYSTEM_CONFIG.to_bytes_le().to_vec(), SYSTEM_CONFIG.to_string()),
    ];
    let numbers = numbers.map(|member| {
        let offset = u32::try_from(member.1).unwrap();
        (member, offset.to_le_bytes().to_vec(), offset.to_string())
    });
    let members: Vec<_> = numbers.into_iter().chain(others).collect();
    let mut payload = vec![0; size_of::<MIB_IF_ROW2>()];
    for ((_, offset), bytes, _) in &members {
        payload[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    for is_32_bit in [false, true] {
        let interface = decoded(SYS_CONFIG, 36, &payload, is_32_bit);
        let name = (interface.provider.as_deref(), interface.event.as_deref());
        assert_eq!(name, (Some("SysConfig"), Some("NetworkInterface")));
        assert_eq!(&interface.raw, &None);
        for ((member, _), _, expected) in &members {
            assert_eq!(text(&interface, member), *expected, "{member}");
        }
        let fields = interface.fields.iter().filter(|field| !field.name.starts_with("Pad")).count();
        assert_eq!(fields, members.len(), "a field is not a member");
    }
}

#[test]
fn values_have_the_names_of_windows() {
    let [tunnel, access, direction, operational, administrative, media, connection] =
        members![TunnelType AccessType DirectionType OperStatus AdminStatus MediaConnectState ConnectionType];
    for ((member, offset), value, name) in [
        (tunnel, Ndis::TUNNEL_TYPE_NONE, "None"),
        (tunnel, Ndis::TUNNEL_TYPE_OTHER, "Other"),
        (tunnel, Ndis::TUNNEL_TYPE_DIRECT, "Direct"),
        (tunnel, Ndis::TUNNEL_TYPE_6TO4, "6to4"),
        (tunnel, Ndis::TUNNEL_TYPE_ISATAP, "ISATAP"),
        (tunnel, Ndis::TUNNEL_TYPE_TEREDO, "Teredo"),
        (tunnel, Ndis::TUNNEL_TYPE_IPHTTPS, "IPHTTPS"),
        (access, Ndis::NET_IF_ACCESS_LOOPBACK, "Loopback"),
        (access, Ndis::NET_IF_ACCESS_BROADCAST, "Broadcast"),
        (access, Ndis::NET_IF_ACCESS_POINT_TO_POINT, "PointToPoint"),
        (access, Ndis::NET_IF_ACCESS_POINT_TO_MULTI_POINT, "PointToMultiPoint"),
        (direction, Ndis::NET_IF_DIRECTION_SENDRECEIVE, "SendReceive"),
        (direction, Ndis::NET_IF_DIRECTION_SENDONLY, "SendOnly"),
        (direction, Ndis::NET_IF_DIRECTION_RECEIVEONLY, "ReceiveOnly"),
        (operational, Ndis::IfOperStatusUp, "Up"),
        (operational, Ndis::IfOperStatusDown, "Down"),
        (operational, Ndis::IfOperStatusTesting, "Testing"),
        (operational, Ndis::IfOperStatusUnknown, "Unknown"),
        (operational, Ndis::IfOperStatusDormant, "Dormant"),
        (operational, Ndis::IfOperStatusNotPresent, "NotPresent"),
        (operational, Ndis::IfOperStatusLowerLayerDown, "LowerLayerDown"),
        (administrative, Ndis::NET_IF_ADMIN_STATUS_UP, "Up"),
        (administrative, Ndis::NET_IF_ADMIN_STATUS_DOWN, "Down"),
        (administrative, Ndis::NET_IF_ADMIN_STATUS_TESTING, "Testing"),
        (media, Ndis::MediaConnectStateUnknown, "Unknown"),
        (media, Ndis::MediaConnectStateConnected, "Connected"),
        (media, Ndis::MediaConnectStateDisconnected, "Disconnected"),
        (connection, Ndis::NET_IF_CONNECTION_DEDICATED, "Dedicated"),
        (connection, Ndis::NET_IF_CONNECTION_PASSIVE, "Passive"),
        (connection, Ndis::NET_IF_CONNECTION_DEMAND, "Demand"),
    ] {
        let mut payload = vec![0; size_of::<MIB_IF_ROW2>()];
        payload[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(text(&interface(&payload), member), name, "{member} {value}");
    }
}

#[test]
fn the_same_type_of_the_kernels_class_is_another_event() {
    let number = u8::try_from(Etw::EVENT_TRACE_TYPE_CONFIG_VIRTUALIZATION).unwrap();
    let virtualization = decoded(SYSTEM_CONFIG, number, &[1, 0, 1, 0], false);
    assert_eq!(virtualization.event.as_deref(), Some("Virtualization"));
    assert_eq!(&virtualization.raw, &None);
    let fields = ["VbsEnabled", "HvciEnabled", "HyperVisorEnabled"].map(|field| text(&virtualization, field));
    assert_eq!(fields, ["true", "false", "true"]);
}
