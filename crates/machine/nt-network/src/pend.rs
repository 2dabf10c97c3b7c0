//! Operations that callouts pend and complete, classify handles, and writable layer data.

use std::net::SocketAddr;

use etw_types::NtStatus;
use nt_kernel::ex::handle::KernelHandle;
use nt_kernel::ex::object;
use nt_kernel::sync::worker::submit;
use nt_kernel::{kernel, lock};
use nt_processor::image::Leaving;
use nt_processor::layout::{FWPS_CLASSIFY_OUT0, FWPS_CONNECT_REQUEST0, GUID, NET_BUFFER_LIST};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, FILTERING, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::{AF_INET, AF_INET6, FWP_ACTION_BLOCK, FWP_ACTION_PERMIT};

use super::layers;
use super::stack;
use super::state::{Classification, Pended, Verdict, state};
use super::value::{address, octets};

/// The layers whose classifications can be pended with `FwpsPendClassify0`, and those with writable data.
const ASYNCHRONOUS: [&str; 4] =
    ["ALE_CONNECT_REDIRECT", "ALE_BIND_REDIRECT", "ALE_ENDPOINT_CLOSURE", "ALE_RESOURCE_RELEASE"];
const WRITABLE: &str = "ALE_CONNECT_REDIRECT";

routines! { pub(super) ROUTINES;
    /// The completion handle identifies the classification.
    #[irql(DISPATCH), module(FILTERING), fails(NtStatus::FwpCannotPend)]
    fn FwpsPendOperation0(&call, handle: KernelHandle, place: Out<u64>) -> Outcome {
        let id = handle.as_int();
        {
            let mut state = state();
            let known = state.classification(id).filter(|known| known.is_running).ok_or(NtStatus::FwpNullPointer)?;
            if known.is_reauthorization || known.pended.is_some() || !completes(known) {
                return fail(NtStatus::FwpCannotPend);
            }
            known.pended = Some((false, call.from));
        }
        place.set(id)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsCompleteOperation0(context: KernelHandle, _list: Ignored<GuestPtr<NET_BUFFER_LIST>>) {
        complete(context.as_int(), false, Verdict::Absorb);
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsAcquireClassifyHandle0(&call, context: GuestPtr<Opaque>, _flags: Ignored<u32>, place: Out<u64>) -> Outcome {
        let id = context.address();
        {
            let mut state = state();
            let known = state.classification(id).ok_or(NtStatus::InvalidParameter)?;
            known.references += 1;
            known.from = call.from;
        }
        place.set(id)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsReleaseClassifyHandle0(handle: u64) {
        let mut state = state();
        if let Some(known) = state.classification(handle).filter(|known| known.references != 0) {
            known.references -= 1;
            state.forget_unused();
        } else {
            drop(state);
            verify::find(Rule::WfpMisuse, format_args!("releases a classify handle that it does not hold"));
        }
    }

    #[irql(DISPATCH), module(FILTERING), fails(NtStatus::FwpCannotPend)]
    fn FwpsPendClassify0(
        &call,
        handle: u64,
        _filter: Ignored<u64>,
        _flags: Ignored<u32>,
        _out: Ignored<GuestPtr<FWPS_CLASSIFY_OUT0>>,
    ) -> Outcome {
        let mut state = state();
        let known = state.classification(handle).filter(|known| known.is_running).ok_or(NtStatus::InvalidParameter)?;
        if known.pended.is_some() || !is_one_of(known, &ASYNCHRONOUS) {
            return fail(NtStatus::FwpCannotPend);
        }
        known.pended = Some((true, call.from));
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsCompleteClassify0(
        handle: u64,
        _flags: Ignored<u32>,
        out: GuestPtr<FWPS_CLASSIFY_OUT0>,
    ) -> Result<(), Fault> {
        let permits = out.actionType().read()? == FWP_ACTION_PERMIT;
        complete(handle, true, if permits { Verdict::Permit } else { Verdict::Block });
        Ok(())
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsAcquireWritableLayerDataPointer0(
        &call,
        handle: u64,
        filter: u64,
        _flags: Ignored<u32>,
        place: Out<GuestPtr<FWPS_CONNECT_REQUEST0>>,
        out: GuestPtr<FWPS_CLASSIFY_OUT0>,
    ) -> Outcome {
        let known = state().classification(handle).cloned().ok_or(NtStatus::InvalidParameter)?;
        if !is_one_of(&known, &[WRITABLE]) || known.writable != 0 {
            return fail(NtStatus::InvalidParameter);
        }
        let request = lock(&kernel().pool).try_new_object::<FWPS_CONNECT_REQUEST0>()?;
        request.localAddressAndPort().write(socket_address(known.local))?;
        request.remoteAddressAndPort().write(socket_address(known.redirected.unwrap_or(known.remote)))?;
        request.modifierFilterId().write(filter)?;
        if let Some(known) = state().classification(handle) {
            known.writable = request.address();
            known.from = call.from;
        }
        // As the page of the routine states.
        out.actionType().write(FWP_ACTION_BLOCK)?;
        out.rights().write(0)?;
        place.set(request)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsApplyModifiedLayerData0(
        handle: u64,
        data: GuestPtr<FWPS_CONNECT_REQUEST0>,
        _flags: Ignored<u32>,
    ) -> Result<(), Fault> {
        let is_it = |known: &mut Classification| known.writable == data.address() && !data.is_null();
        if !state().classification(handle).is_some_and(is_it) {
            verify::find(Rule::WfpMisuse, format_args!("applies layer data that it did not acquire"));
            return Ok(());
        }
        let remote = from_socket_address(&data.remoteAddressAndPort().read()?);
        if let Some(known) = state().classification(handle) {
            known.writable = 0;
            known.redirected = remote.filter(|remote| *remote != known.remote).or(known.redirected);
        }
        lock(&kernel().pool).free_object(data.address());
        Ok(())
    }

    #[irql(PASSIVE), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsRedirectHandleCreate0(
        &call,
        _provider: Ignored<GuestPtr<GUID>>,
        _flags: Ignored<u32>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        place.set(object::open("redirect handle", 0, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE), module(FILTERING)]
    fn FwpsRedirectHandleDestroy0(handle: KernelHandle) {
        object::close(handle);
    }

    /// No connection here has redirect records of a proxy.
    #[irql(DISPATCH), module(FILTERING), fixed]
    fn FwpsQueryConnectionRedirectState0(
        _records: Ignored<u64>,
        _handle: Ignored<u64>,
        _context: Ignored<GuestPtr<u64>>,
    ) -> i32 {
        0
    }
}

/// Returns whether classifications at a layer have a completion handle.
fn completes(known: &Classification) -> bool {
    layers::by_id(known.layer).is_some_and(|layer| layer.has_metadata("COMPLETION_HANDLE"))
}

fn is_one_of(known: &Classification, names: &[&str]) -> bool {
    let name = layers::by_id(known.layer).map(|layer| layer.name.trim_end_matches(['4', '6']).trim_end_matches("_V"));
    name.is_some_and(|name| names.contains(&name))
}

/// Completes a pended operation: it continues on another thread.
fn complete(id: u64, is_classify: bool, verdict: Verdict) {
    let (pended, redirected) = {
        let mut state = state();
        let is_it = |pended: &Pended| pended.id == id && pended.is_classify == is_classify;
        let pended = state.pended.iter().position(is_it).map(|position| state.pended.remove(position));
        let known = state.classification(id);
        let redirected = known.as_ref().and_then(|known| known.redirected);
        if pended.is_none()
            && let Some(known) = known.filter(|known| known.pended.is_some() && known.completed.is_none())
        {
            // The classify function has not returned yet.
            known.completed = Some(verdict);
            return;
        }
        state.forget_unused();
        (pended, redirected)
    };
    match pended {
        Some(pended) => submit(id, move || stack::resume(pended, verdict, redirected)),
        None => verify::find(Rule::RequestTwice, format_args!("completes an operation that is not pended")),
    }
}

/// Returns a `SOCKADDR_STORAGE`.
fn socket_address(of: SocketAddr) -> [u8; 128] {
    let family = if of.is_ipv4() { AF_INET } else { AF_INET6 };
    let mut bytes = family.to_le_bytes().to_vec();
    bytes.extend(of.port().to_be_bytes());
    if of.is_ipv6() {
        // The flow information.
        bytes.extend([0; 4]);
    }
    bytes.extend(octets(of.ip()));
    bytes.resize(128, 0);
    bytes.try_into().unwrap_or([0; 128])
}

/// Reads a `SOCKADDR_STORAGE`.
fn from_socket_address(bytes: &[u8; 128]) -> Option<SocketAddr> {
    let [family_low, family_high, port_high, port_low, rest @ ..] = bytes;
    let ip = match u16::from_le_bytes([*family_low, *family_high]) {
        AF_INET => address(rest.get(..4)?)?,
        AF_INET6 => address(rest.get(4..20)?)?,
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes([*port_high, *port_low])))
}

/// Reports the operations that an image never completed, and the classify handles that it did not release.
pub(super) fn report_leaks(leaving: Leaving) {
    let (pended, handles) = {
        let mut state = state();
        let pended: Vec<Pended> = state.pended.extract_if(.., |pended| leaving.owns(pended.from)).collect();
        let is_left = |known: &mut Classification| known.references != 0 && leaving.owns(known.from);
        (pended, state.classifications.extract_if(.., is_left).collect::<Vec<_>>())
    };
    for Pended { is_classify, from, .. } in pended {
        let (routine, with) = if is_classify {
            ("FwpsPendClassify0", "FwpsCompleteClassify0")
        } else {
            ("FwpsPendOperation0", "FwpsCompleteOperation0")
        };
        let detail = format_args!("never completes a classify that it pended: call {with}");
        verify::find_at(Rule::RequestNever, Some(routine), from, detail);
    }
    for known in handles {
        let routine = Some("FwpsAcquireClassifyHandle0");
        verify::find_at(Rule::ObjectLeak, routine, known.from, format_args!("does not release a classify handle"));
    }
}

#[cfg(test)]
mod tests {
    use super::{from_socket_address, socket_address};

    #[test]
    fn socket_addresses_have_the_layout_of_winsock() {
        let v4 = socket_address("10.1.2.3:443".parse().expect("an address"));
        assert_eq!(v4[..8], [2, 0, 1, 0xBB, 10, 1, 2, 3]);
        let v6 = "[fe80::7]:80".parse().expect("an address");
        assert_eq!(socket_address(v6)[..9], [23, 0, 0, 80, 0, 0, 0, 0, 0xFE]);
        assert_eq!(from_socket_address(&socket_address(v6)), Some(v6));
        assert_eq!(from_socket_address(&[0; 128]), None);
    }
}
