//! The table of filtering layers and of filter conditions.

use std::sync::LazyLock;

use etw_types::Guid;
use windows_constants::filtering_platform::{
    FWPS_METADATA_FIELD_COMPARTMENT_ID, FWPS_METADATA_FIELD_COMPLETION_HANDLE, FWPS_METADATA_FIELD_FLOW_HANDLE,
    FWPS_METADATA_FIELD_IP_HEADER_SIZE, FWPS_METADATA_FIELD_PROCESS_ID, FWPS_METADATA_FIELD_PROCESS_PATH,
    FWPS_METADATA_FIELD_TRANSPORT_ENDPOINT_HANDLE, FWPS_METADATA_FIELD_TRANSPORT_HEADER_SIZE,
};

/// A filtering layer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// `FWPS_LAYER_…`: the number for callouts.
    pub(super) id: u16,
    /// The name without `FWPS_LAYER_`.
    pub(super) name: &'static str,
    /// `FWPM_LAYER_…`: the key for filters.
    pub(super) key: Guid,
    /// The bits of the metadata fields that this host supplies.
    pub(super) metadata: u32,
    /// The data fields, in the order of their numbers.
    pub(super) fields: Vec<&'static str>,
}

/// The bits of metadata fields that `layers.txt` names, `FWPS_METADATA_FIELD_…`.
pub(super) const METADATA: [(&str, u32); 8] = [
    ("FLOW_HANDLE", FWPS_METADATA_FIELD_FLOW_HANDLE),
    ("IP_HEADER_SIZE", FWPS_METADATA_FIELD_IP_HEADER_SIZE),
    ("PROCESS_PATH", FWPS_METADATA_FIELD_PROCESS_PATH),
    ("PROCESS_ID", FWPS_METADATA_FIELD_PROCESS_ID),
    ("TRANSPORT_HEADER_SIZE", FWPS_METADATA_FIELD_TRANSPORT_HEADER_SIZE),
    ("COMPARTMENT_ID", FWPS_METADATA_FIELD_COMPARTMENT_ID),
    ("COMPLETION_HANDLE", FWPS_METADATA_FIELD_COMPLETION_HANDLE),
    ("TRANSPORT_ENDPOINT_HANDLE", FWPS_METADATA_FIELD_TRANSPORT_ENDPOINT_HANDLE),
];

impl Layer {
    /// Returns whether callouts get a metadata field at this layer.
    pub(super) fn has_metadata(&self, field: &str) -> bool {
        METADATA.iter().any(|(name, bit)| *name == field && self.metadata & bit != 0)
    }
}

/// Returns all layers.
pub(super) fn all() -> &'static [Layer] {
    static LAYERS: LazyLock<Vec<Layer>> = LazyLock::new(|| parse(include_str!("layers.txt")));
    &LAYERS
}

/// Returns the layer with a key.
pub(super) fn by_key(key: Guid) -> Option<&'static Layer> {
    all().iter().find(|layer| layer.key == key)
}

/// Returns the layer with a number.
pub(super) fn by_id(id: u16) -> Option<&'static Layer> {
    all().iter().find(|layer| layer.id == id)
}

/// Returns the layer with a name, for IPv4 or IPv6.
pub(super) fn find(name: &str, is_v6: bool) -> Option<&'static Layer> {
    let suffix = if is_v6 { "_V6" } else { "_V4" };
    all().iter().find(|layer| layer.name.strip_suffix(suffix) == Some(name))
}

/// Returns the data field that a condition with this key tests.
pub(super) fn condition(key: Guid) -> Option<&'static str> {
    static CONDITIONS: LazyLock<Vec<(Guid, &str)>> = LazyLock::new(|| {
        let lines = include_str!("conditions.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(key, name)| Some((Guid::try_parse(key)?, name)))
            .collect()
    });
    CONDITIONS.iter().find(|(known, _)| *known == key).map(|(_, name)| *name)
}

fn parse(text: &'static str) -> Vec<Layer> {
    let mut layers = Vec::<Layer>::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            let head = (words.next(), words.next(), words.next());
            let (Some(id), Some(name), Some(key)) = head else { continue };
            let (Ok(id), Some(key)) = (id.parse(), Guid::try_parse(key)) else { continue };
            // A layer for discarded data has the fields of the layer before.
            let before = layers.last().filter(|_| name.ends_with("_DISCARD"));
            let (metadata, fields) = before.map(|layer| (layer.metadata, layer.fields.clone())).unwrap_or_default();
            layers.push(Layer { id, name, key, metadata, fields });
        } else if let Some(layer) = layers.last_mut() {
            match line.trim_start().strip_prefix("with ") {
                Some(names) => {
                    let bit =
                        |wanted: &str| METADATA.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, bit)| *bit);
                    layer.metadata = names.split(' ').map(bit).sum();
                }
                None => layer.fields.extend(words),
            }
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use etw_types::Guid;
    use windows_sys::Win32::NetworkManagement::WindowsFilteringPlatform as wfp;

    use super::{METADATA, all, by_id, condition, find};

    fn guid(theirs: windows_sys::core::GUID) -> Guid {
        Guid::from_fields(theirs.data1, theirs.data2, theirs.data3, theirs.data4)
    }

    #[test]
    fn every_line_of_the_tables_is_read() {
        let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with(['#', ' '])).count();
        assert_eq!(all().len(), lines(include_str!("layers.txt")));
        assert!(all().iter().all(|layer| !layer.fields.is_empty()));
        let keys = include_str!("conditions.txt").lines().filter_map(|line| Guid::try_parse(line.split(' ').next()?));
        assert_eq!(keys.clone().count(), lines(include_str!("conditions.txt")));
        assert!(keys.into_iter().all(|key| condition(key).is_some()));
    }

    #[test]
    fn keys_are_those_of_microsofts_metadata() {
        macro_rules! layers {
            ($($name:ident = $key:ident;)*) => {
                $(
                    let layer = all().iter().find(|layer| layer.name == stringify!($name)).expect(stringify!($name));
                    assert_eq!(layer.key, guid(wfp::$key), stringify!($name));
                )*
            };
        }
        layers! {
            INBOUND_IPPACKET_V4 = FWPM_LAYER_INBOUND_IPPACKET_V4;
            OUTBOUND_IPPACKET_V6 = FWPM_LAYER_OUTBOUND_IPPACKET_V6;
            INBOUND_TRANSPORT_V4 = FWPM_LAYER_INBOUND_TRANSPORT_V4;
            OUTBOUND_TRANSPORT_V4 = FWPM_LAYER_OUTBOUND_TRANSPORT_V4;
            STREAM_V4 = FWPM_LAYER_STREAM_V4;
            DATAGRAM_DATA_V6 = FWPM_LAYER_DATAGRAM_DATA_V6;
            ALE_AUTH_CONNECT_V4 = FWPM_LAYER_ALE_AUTH_CONNECT_V4;
            ALE_AUTH_RECV_ACCEPT_V6 = FWPM_LAYER_ALE_AUTH_RECV_ACCEPT_V6;
            ALE_FLOW_ESTABLISHED_V4 = FWPM_LAYER_ALE_FLOW_ESTABLISHED_V4;
            ALE_CONNECT_REDIRECT_V4 = FWPM_LAYER_ALE_CONNECT_REDIRECT_V4;
        }
        assert_eq!(condition(guid(wfp::FWPM_CONDITION_IP_REMOTE_PORT)), Some("IP_REMOTE_PORT"));
        assert_eq!(condition(guid(wfp::FWPM_CONDITION_ALE_APP_ID)), Some("ALE_APP_ID"));
        assert_eq!(condition(Guid::ZERO), None);
    }

    /// Drivers in C are compiled with the numbers in the kit's header.
    #[test]
    fn fields_and_layers_have_the_order_of_the_kits_header() {
        let header = include_str!("../../../toolchain/wdk-kit/kit/include/km/nt/fwps_fields.h");
        let names = |start: &str, prefix: &str| -> Vec<String> {
            let body = header.split_once(start).expect("an enumeration").1.split('}').next().unwrap_or_default();
            let names = body.split([',', '{']).map(str::trim).filter(|name| !name.is_empty());
            names.map(|name| name.trim_start_matches(prefix).to_owned()).collect()
        };
        let numbered = all().iter().map(|layer| format!("{} = {}", layer.name, layer.id));
        let mut layers = names("enum FWPS_BUILTIN_LAYERS_", "FWPS_LAYER_");
        // No document has the fields of these.
        layers.retain(|layer| !layer.contains("_NATIVE_FAST"));
        assert_eq!(layers, numbered.collect::<Vec<_>>());
        for layer in all().iter().filter(|layer| !layer.name.ends_with("_DISCARD")) {
            let fields = names(&format!("enum FWPS_FIELDS_{}_ ", layer.name), &format!("FWPS_FIELD_{}_", layer.name));
            assert_eq!(fields[..fields.len() - 1], layer.fields, "{}", layer.name);
        }
    }

    /// The numbers follow the order of the layers on Microsoft's page about run-time filtering layer identifiers.
    #[test]
    fn numbers_are_those_of_windows() {
        let name = |id| by_id(id).expect("a layer").name;
        assert_eq!(name(13), "INBOUND_TRANSPORT_V4_DISCARD");
        assert_eq!(name(44), "ALE_AUTH_RECV_ACCEPT_V4");
        assert_eq!(name(48), "ALE_AUTH_CONNECT_V4");
        assert_eq!(name(50), "ALE_AUTH_CONNECT_V6");
    }

    #[test]
    fn metadata_bits_are_those_of_microsofts_metadata() {
        let theirs = [
            wfp::FWPS_METADATA_FIELD_FLOW_HANDLE,
            wfp::FWPS_METADATA_FIELD_IP_HEADER_SIZE,
            wfp::FWPS_METADATA_FIELD_PROCESS_PATH,
            wfp::FWPS_METADATA_FIELD_PROCESS_ID,
            wfp::FWPS_METADATA_FIELD_TRANSPORT_HEADER_SIZE,
            wfp::FWPS_METADATA_FIELD_COMPARTMENT_ID,
            wfp::FWPS_METADATA_FIELD_COMPLETION_HANDLE,
            wfp::FWPS_METADATA_FIELD_TRANSPORT_ENDPOINT_HANDLE,
        ];
        assert_eq!(METADATA.map(|(_, bit)| bit), theirs);
        let connect = find("ALE_AUTH_CONNECT", false).expect("a layer");
        assert!(connect.has_metadata("COMPLETION_HANDLE"));
        assert!(!connect.has_metadata("IP_HEADER_SIZE"));
    }
}
