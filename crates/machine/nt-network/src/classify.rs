//! Classification: which filters match at a layer, what their callouts decide, and what follows for the layer.

use std::net::IpAddr;

use nt_kernel::call_back;
use nt_processor::layout::{
    FWP_VALUE0, FWPS_CLASSIFY_OUT0, FWPS_INCOMING_METADATA_VALUES0, FWPS_INCOMING_VALUES0, NET_BUFFER_LIST,
};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::verify::{self, At, Rule};
use windows_constants::filtering_platform::{
    FWP_ACTION_BLOCK, FWP_ACTION_CALLOUT_INSPECTION, FWP_ACTION_CONTINUE, FWP_ACTION_FLAG_CALLOUT, FWP_ACTION_NONE,
    FWP_ACTION_NONE_NO_MATCH, FWP_ACTION_PERMIT, FWP_CALLOUT_FLAG_CONDITIONAL_ON_FLOW, FWP_CONDITION_FLAG_IS_LOOPBACK,
    FWP_CONDITION_FLAG_IS_REAUTHORIZE, FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT,
    FWPM_FILTER_FLAG_PERMIT_IF_CALLOUT_UNREGISTERED, FWPS_CLASSIFY_OUT_FLAG_ABSORB, FWPS_RIGHT_ACTION_WRITE,
    IF_TYPE_ETHERNET_CSMACD, NlatMulticast, NlatUnicast,
};

use super::buffers;
use super::callout;
use super::journey::Journey;
use super::layers::{Layer, METADATA};
use super::scratch::Scratch;
use super::state::{Callout, Classification, Filter, FlowContext, Verdict, state};
use super::value::{Value, all_hold};

/// The numbers of the only network interface, which is Ethernet, and of its compartment.
pub(super) const INTERFACE: u32 = 1;
pub(super) const COMPARTMENT: u32 = 1;

/// What is classified at a layer.
pub(super) struct Indication<'a> {
    pub(super) layer: &'static Layer,
    pub(super) journey: &'a Journey,
    /// The IRQL at which callouts are called.
    pub(super) irql: u8,
    /// The structure that callouts get as layer data; 0 if there is none.
    pub(super) layer_data: u64,
    /// The packet, if there is one.
    pub(super) list: GuestPtr<NET_BUFFER_LIST>,
    /// The context for classify handles: identifies the classification.
    pub(super) id: u64,
}

/// The decision of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    pub(super) callouts: u32,
}

/// The decision of a sublayer: whether it permits, whether another sublayer may override it, whether a block is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ruling {
    permits: bool,
    is_soft: bool,
    absorbs: bool,
    is_veto: bool,
}

/// Returns the value of a data field.
fn field(journey: &Journey, name: &str) -> Value {
    let (local, remote) = journey.ends();
    let has_ports = journey.headers.protocol != 0;
    match name {
        "IP_PROTOCOL" => Value::U8(journey.headers.protocol),
        "IP_LOCAL_ADDRESS" => local.ip().into(),
        "IP_REMOTE_ADDRESS" => remote.ip().into(),
        "IP_LOCAL_PORT" if has_ports => Value::U16(local.port()),
        "IP_REMOTE_PORT" if has_ports => Value::U16(remote.port()),
        "IP_LOCAL_ADDRESS_TYPE" => Value::U8(address_type(local.ip())),
        "IP_DESTINATION_ADDRESS_TYPE" => Value::U8(address_type(journey.headers.destination.ip())),
        "IP_LOCAL_INTERFACE" | "IP_ARRIVAL_INTERFACE" | "IP_NEXTHOP_INTERFACE" => Value::U64(INTERFACE.into()),
        "INTERFACE_INDEX" | "ARRIVAL_INTERFACE_INDEX" | "NEXTHOP_INTERFACE_INDEX" => Value::U32(INTERFACE),
        "SUB_INTERFACE_INDEX" | "NEXTHOP_SUB_INTERFACE_INDEX" | "TUNNEL_TYPE" => Value::U32(0),
        "INTERFACE_TYPE" | "ARRIVAL_INTERFACE_TYPE" | "NEXTHOP_INTERFACE_TYPE" => Value::U32(IF_TYPE_ETHERNET_CSMACD),
        "COMPARTMENT_ID" => Value::U32(COMPARTMENT),
        "DIRECTION" => Value::U32(journey.inbound.into()),
        "FLAGS" => {
            let loopback = if remote.ip().is_loopback() { FWP_CONDITION_FLAG_IS_LOOPBACK } else { 0 };
            Value::U32(loopback | if journey.is_reauthorization { FWP_CONDITION_FLAG_IS_REAUTHORIZE } else { 0 })
        }
        "ALE_APP_ID" | "ALE_ORIGINAL_APP_ID" => Value::Blob(path(journey)),
        _ => Value::Empty,
    }
}

fn address_type(address: IpAddr) -> u8 {
    if address.is_multicast() { NlatMulticast } else { NlatUnicast }
}

/// Returns the path of the application: lower case, UTF-16, terminated, as in Windows.
fn path(journey: &Journey) -> Vec<u8> {
    journey.application.to_lowercase().encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns the filters of a layer that match, by sublayer and then by weight.
fn matching(layer: &Layer, journey: &Journey) -> Vec<Vec<Filter>> {
    let (mut filters, mut sublayers) = {
        let state = state();
        let of_layer = state.policy.filters.iter().filter(|filter| filter.layer == layer.id);
        let filters: Vec<Filter> = of_layer.cloned().collect();
        (filters, state.policy.sublayers.clone())
    };
    filters.retain(|filter| all_hold(&filter.conditions, |name| field(journey, name)));
    filters.sort_by_key(|filter| std::cmp::Reverse(filter.weight));
    sublayers.sort_by_key(|(_, weight, ..)| std::cmp::Reverse(*weight));
    let mut keys: Vec<_> = sublayers.into_iter().map(|(key, ..)| key).collect();
    // The universal sublayer is not in the table.
    keys.extend(filters.iter().map(|filter| filter.sublayer).filter(|key| !keys.contains(key)).collect::<Vec<_>>());
    keys.dedup();
    let of = |key| filters.iter().filter(|filter| filter.sublayer == key).cloned().collect::<Vec<_>>();
    keys.into_iter().map(of).filter(|filters| !filters.is_empty()).collect()
}

/// Returns whether a layer has a filter, so that something must be built for it.
pub(super) fn has_filters(layer: &Layer) -> bool {
    state().policy.filters.iter().any(|filter| filter.layer == layer.id)
}

/// Classifies at a layer: asks each sublayer in turn, and combines their decisions.
pub(super) fn classify(indication: &Indication<'_>) -> Result<Decision, Fault> {
    let mut decision: Option<Ruling> = None;
    let mut callouts = 0;
    for filters in matching(indication.layer, indication.journey) {
        let may_write = decision.is_none_or(|decision| decision.is_soft);
        let ruling = sublayer(indication, &filters, (decision, may_write), &mut callouts)?;
        decision = ruling.map_or(decision, |ruling| Some(combine(decision, ruling)));
    }
    let verdict = match decision {
        Some(Ruling { permits: false, absorbs: true, .. }) => Verdict::Absorb,
        Some(Ruling { permits: false, .. }) => Verdict::Block,
        Some(_) | None => Verdict::Permit,
    };
    Ok(Decision { verdict, callouts })
}

/// Combines the decision so far with that of the next sublayer, as "Filter Arbitration" on Microsoft Learn describes.
fn combine(before: Option<Ruling>, now: Ruling) -> Ruling {
    match before {
        None => now,
        Some(before) if before.permits && before.is_soft => now,
        // Only a callout's veto blocks what another sublayer has permitted for good.
        Some(before) if before.permits => {
            if !now.permits && now.is_veto {
                now
            } else {
                before
            }
        }
        // Only a permission for good overrides a block, and only one that may be overridden.
        Some(before) if before.is_soft && now.permits && !now.is_soft => now,
        Some(before) => before,
    }
}

fn sublayer(
    indication: &Indication<'_>,
    filters: &[Filter],
    so_far: (Option<Ruling>, bool),
    callouts: &mut u32,
) -> Result<Option<Ruling>, Fault> {
    for filter in filters {
        let is_soft = filter.flags & FWPM_FILTER_FLAG_CLEAR_ACTION_RIGHT == 0;
        let plain = |permits| Some(Ruling { permits, is_soft, absorbs: false, is_veto: false });
        let ruling = match filter.action {
            FWP_ACTION_PERMIT => plain(true),
            FWP_ACTION_BLOCK => plain(false),
            action if action & FWP_ACTION_FLAG_CALLOUT != 0 => match callout::registered(filter.callout) {
                Some(callout) => {
                    let Some(context) = flow_context(indication, &callout) else { continue };
                    *callouts += 1;
                    call(indication, filter, &callout, context, so_far)?
                }
                // As the page of FwpsCalloutUnregisterById0 states.
                None if action == FWP_ACTION_CALLOUT_INSPECTION => None,
                None => plain(filter.flags & FWPM_FILTER_FLAG_PERMIT_IF_CALLOUT_UNREGISTERED != 0),
            },
            _ => None,
        };
        if ruling.is_some() {
            return Ok(ruling);
        }
    }
    Ok(None)
}

/// Returns the flow context for a callout. Returns `None` if the callout wants only flows with a context, and this one
/// has none.
fn flow_context(indication: &Indication<'_>, callout: &Callout) -> Option<u64> {
    let mut state = state();
    let flow = indication.journey.flow.and_then(|id| state.flow(id));
    let is_it = |known: &&FlowContext| known.callout == callout.id && known.layer == indication.layer.id;
    let context = flow.and_then(|flow| flow.contexts.iter().find(is_it).map(|known| known.context));
    if callout.flags & FWP_CALLOUT_FLAG_CONDITIONAL_ON_FLOW != 0 { context } else { Some(context.unwrap_or_default()) }
}

/// Calls the classify function of a callout. Returns its decision; `None` if it leaves the decision to other filters.
fn call(
    indication: &Indication<'_>,
    filter: &Filter,
    callout: &Callout,
    context: u64,
    (decision, may_write): (Option<Ruling>, bool),
) -> Result<Option<Ruling>, Fault> {
    let mut scratch = Scratch::default();
    let Indication { layer, journey, irql, layer_data, list, id } = *indication;
    let values = layer.fields.iter().map(|name| scratch.value(&field(journey, name)));
    let values: Vec<FWP_VALUE0> = values.collect::<Result<_, Fault>>()?;
    let incoming = FWPS_INCOMING_VALUES0 {
        layerId: layer.id,
        Padding: 0,
        valueCount: values.len() as u32,
        incomingValue: scratch.array(&values)?,
    };
    let incoming = scratch.place(incoming)?;
    let metadata = metadata(indication, &mut scratch)?;
    let out = scratch.zeroed::<FWPS_CLASSIFY_OUT0>();
    let before = match decision {
        Some(Ruling { permits, .. }) => {
            if permits {
                FWP_ACTION_PERMIT
            } else {
                FWP_ACTION_BLOCK
            }
        }
        None => FWP_ACTION_CONTINUE,
    };
    out.actionType().write(before)?;
    out.filterId().write(filter.id)?;
    out.rights().write(if may_write { FWPS_RIGHT_ACTION_WRITE } else { 0 })?;
    filter.shared.calloutId().write(callout.id)?;
    let start = data_start(list)?;
    let mut arguments = vec![incoming.address(), metadata.address(), layer_data];
    if callout.version > 0 {
        arguments.push(id);
    }
    arguments.extend([filter.shared.address(), context, out.address()]);
    call_back("classifyFn", irql, callout.classify, &arguments);
    if data_start(list)? != start {
        let detail =
            format_args!("returns with a NET_BUFFER whose data start was moved: undo NdisRetreat… and NdisAdvance…");
        verify::find_at(Rule::WfpMisuse, Some("classifyFn"), At::Code(callout.classify.address()), detail);
        restore(list, start)?;
    }
    let FWPS_CLASSIFY_OUT0 { actionType, rights, flags, .. } = out.read()?;
    Ok(judge(callout, (actionType, rights, flags), before, may_write))
}

/// Checks and interprets what a classify function returned.
fn judge(callout: &Callout, (action, rights, flags): (u32, u32, u32), before: u32, may_write: bool) -> Option<Ruling> {
    let wrong = |detail: std::fmt::Arguments<'_>| {
        verify::find_at(Rule::WfpMisuse, Some("classifyFn"), At::Code(callout.classify.address()), detail);
    };
    let is_veto = !may_write && before == FWP_ACTION_PERMIT && action == FWP_ACTION_BLOCK;
    if !may_write && action != before && !is_veto {
        wrong(format_args!("changes the action without FWPS_RIGHT_ACTION_WRITE"));
        return None;
    }
    if !may_write && !is_veto {
        return None;
    }
    if flags & FWPS_CLASSIFY_OUT_FLAG_ABSORB != 0 && action != FWP_ACTION_BLOCK {
        wrong(format_args!("absorbs the data, but its action is not FWP_ACTION_BLOCK"));
    }
    let is_soft = rights & FWPS_RIGHT_ACTION_WRITE != 0;
    match action {
        FWP_ACTION_PERMIT => Some(Ruling { permits: true, is_soft, absorbs: false, is_veto: false }),
        FWP_ACTION_BLOCK => {
            Some(Ruling { permits: false, is_soft, absorbs: flags & FWPS_CLASSIFY_OUT_FLAG_ABSORB != 0, is_veto })
        }
        FWP_ACTION_CONTINUE | FWP_ACTION_NONE | FWP_ACTION_NONE_NO_MATCH => None,
        other => {
            wrong(format_args!("returns the action {other:#x}, which is none that a callout may return"));
            None
        }
    }
}

/// Returns the offsets and lengths of a list's data.
fn data_start(list: GuestPtr<NET_BUFFER_LIST>) -> Result<Vec<(u32, u64)>, Fault> {
    if list.is_null() {
        return Ok(Vec::new());
    }
    buffers::buffers(list)?
        .into_iter()
        .map(|buffer| Ok((buffer.DataOffset().read()?, buffer.DataLength().read()?)))
        .collect()
}

fn restore(list: GuestPtr<NET_BUFFER_LIST>, start: Vec<(u32, u64)>) -> Result<(), Fault> {
    for (buffer, (offset, length)) in buffers::buffers(list)?.into_iter().zip(start) {
        buffer.DataLength().write(length)?;
        buffers::set_offset(buffer, offset)?;
    }
    Ok(())
}

/// Makes the metadata values of a classification.
fn metadata(
    indication: &Indication<'_>,
    scratch: &mut Scratch,
) -> Result<GuestPtr<FWPS_INCOMING_METADATA_VALUES0>, Fault> {
    let Indication { layer, journey, id, .. } = *indication;
    let place = scratch.zeroed::<FWPS_INCOMING_METADATA_VALUES0>();
    let mut present = 0;
    for (name, bit) in METADATA.into_iter().filter(|(_, bit)| layer.metadata & bit != 0) {
        let is_known = match name {
            "FLOW_HANDLE" => {
                let flow = journey.flow.unwrap_or_default();
                place.flowHandle().write(flow)?;
                flow != 0
            }
            "IP_HEADER_SIZE" => {
                place.ipHeaderSize().write(journey.headers.ip)?;
                !journey.datagram.is_empty()
            }
            "TRANSPORT_HEADER_SIZE" => {
                place.transportHeaderSize().write(journey.headers.transport)?;
                !journey.datagram.is_empty()
            }
            "PROCESS_PATH" => {
                place.processPath().write(scratch.blob(&path(journey))?)?;
                true
            }
            "PROCESS_ID" => {
                place.processId().write(journey.process)?;
                true
            }
            "COMPARTMENT_ID" => {
                place.compartmentId().write(COMPARTMENT)?;
                true
            }
            "COMPLETION_HANDLE" => {
                place.completionHandle().write(id)?;
                true
            }
            _ => {
                // The endpoint of a flow has the flow's number.
                place.transportEndpointHandle().write(journey.flow.unwrap_or_default())?;
                journey.flow.is_some()
            }
        };
        present |= if is_known { bit } else { 0 };
    }
    place.currentMetadataValues().write(present)?;
    Ok(place)
}

/// Begins a classification. Returns its number.
pub(super) fn begin(layer: &Layer, journey: &Journey) -> u64 {
    let mut state = state();
    let id = state.number();
    let (local, remote) = journey.ends();
    state.classifications.push(Classification {
        id,
        layer: layer.id,
        is_running: true,
        is_reauthorization: journey.is_reauthorization,
        pended: None,
        completed: None,
        references: 0,
        from: 0,
        writable: 0,
        local,
        remote,
        redirected: None,
    });
    id
}
