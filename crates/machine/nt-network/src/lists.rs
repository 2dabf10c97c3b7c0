//! The `Fwps` routines for `NET_BUFFER_LIST`s and stream data.

use etw_types::NtStatus;
use nt_processor::image::Leaving;
use nt_processor::layout::{FWPS_STREAM_DATA0, MDL, NET_BUFFER_LIST};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, FILTERING, Ignored, NO_RESOURCES, Out, Outcome, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::filtering_platform::AF_INET;

use super::buffers;
use super::packet;
use super::state::{List, Maker, state};
use super::value::address;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsAllocateNetBufferAndNetBufferList0(
        &call,
        _pool: Ignored<GuestPtr<Opaque>>,
        _size: Ignored<u16>,
        _backfill: Ignored<u16>,
        chain: GuestPtr<MDL>,
        offset: u32,
        length: u64,
        place: Out<GuestPtr<NET_BUFFER_LIST>>,
    ) -> Outcome {
        place.set(buffers::create(Maker::Driver, chain, (offset, length), call.from)?)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsFreeNetBufferList0(list: GuestPtr<NET_BUFFER_LIST>) -> Result<(), Fault> {
        buffers::free(list, false)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsAllocateCloneNetBufferList0(
        &call,
        original: GuestPtr<NET_BUFFER_LIST>,
        _lists: Ignored<GuestPtr<Opaque>>,
        _buffers: Ignored<GuestPtr<Opaque>>,
        _flags: Ignored<u32>,
        place: Out<GuestPtr<NET_BUFFER_LIST>>,
    ) -> Outcome {
        place.set(buffers::clone(original, call.from)?)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsFreeCloneNetBufferList0(list: GuestPtr<NET_BUFFER_LIST>, _flags: Ignored<u32>) -> Result<(), Fault> {
        buffers::free(list, true)
    }

    #[irql(DISPATCH), module(FILTERING), keeps]
    fn FwpsReferenceNetBufferList0(&call, list: GuestPtr<NET_BUFFER_LIST>, _modifies: Ignored<bool>) {
        buffers::change(list.address(), |known| {
            known.references += 1;
            known.referenced_from = call.from;
        });
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsDereferenceNetBufferList0(list: GuestPtr<NET_BUFFER_LIST>, _dispatch: Ignored<bool>) {
        let count = state().lists.get(&list.address()).map_or(0, |known| known.references);
        if count == 0 {
            let detail = format_args!("releases a reference to a NET_BUFFER_LIST that it does not hold");
            return verify::find(Rule::WfpMisuse, detail);
        }
        buffers::change(list.address(), |known| known.references -= 1);
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsCopyStreamDataToBuffer0(
        data: GuestPtr<FWPS_STREAM_DATA0>,
        buffer: GuestPtr<u8>,
        count: u64,
        copied: Out<u64>,
    ) -> Result<(), Fault> {
        let bytes = stream_data(data)?;
        let bytes = bytes.get(..count as usize).unwrap_or(&bytes);
        buffer.write_all(bytes)?;
        copied.set(bytes.len() as u64)
    }

    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES)]
    fn FwpsCloneStreamData0(
        &call,
        data: GuestPtr<FWPS_STREAM_DATA0>,
        _lists: Ignored<GuestPtr<Opaque>>,
        _buffers: Ignored<GuestPtr<Opaque>>,
        _flags: Ignored<u32>,
        place: Out<GuestPtr<NET_BUFFER_LIST>>,
    ) -> Outcome {
        place.set(buffers::clone(data.netBufferListChain().read()?, call.from)?)?;
        done(())
    }

    #[irql(DISPATCH), module(FILTERING)]
    fn FwpsDiscardClonedStreamData0(
        list: GuestPtr<NET_BUFFER_LIST>,
        _flags: Ignored<u32>,
        _dispatch: Ignored<bool>,
    ) -> Result<(), Fault> {
        buffers::free(list, true)
    }

    /// Puts an IP header before the transport header of each buffer, or replaces the one that is there.
    #[irql(DISPATCH), module(FILTERING), fails(NO_RESOURCES), keeps_nothing]
    fn FwpsConstructIpHeaderForTransportPacket0(
        list: GuestPtr<NET_BUFFER_LIST>,
        header: u32,
        family: u16,
        source: GuestPtr<u8>,
        remote: GuestPtr<u8>,
        protocol: i32,
        _endpoint: Ignored<u64>,
        _control: Ignored<GuestPtr<Opaque>>,
        _length: Ignored<u32>,
        _flags: Ignored<u32>,
        _reserved: Ignored<GuestPtr<Opaque>>,
        _interface: Ignored<u32>,
        _sub_interface: Ignored<u32>,
    ) -> Outcome {
        let length = if family == AF_INET { 4 } else { 16 };
        let addresses = (address(&source.array(length).read()?), address(&remote.array(length).read()?));
        let (Some(source), Some(remote)) = addresses else { return fail(NtStatus::InvalidParameter) };
        buffers::buffers(list)?.into_iter().try_for_each(|buffer| {
            let data = buffers::data(buffer)?;
            let segment = data.get(header as usize..).ok_or(NtStatus::InvalidParameter)?;
            let mut datagram = packet::wrap(protocol.cast_unsigned() as u8, source, remote, segment);
            datagram.truncate(datagram.len() - segment.len());
            buffers::advance(buffer, header)?;
            buffers::retreat(buffer, datagram.len() as u32, 0)?;
            buffers::store(buffer, 0, &datagram)?;
            done(())
        })
    }

    /// Nothing here is protected by `IPsec`.
    #[irql(DISPATCH), module(FILTERING), fails(NtStatus::NotFound), keeps_nothing]
    fn FwpsGetPacketListSecurityInformation0(
        _list: Ignored<GuestPtr<NET_BUFFER_LIST>>,
        _query: Ignored<u32>,
        _information: Ignored<GuestPtr<Opaque>>,
    ) -> NtStatus {
        NtStatus::NotFound
    }
}

/// Reads the data of a stream.
fn stream_data(data: GuestPtr<FWPS_STREAM_DATA0>) -> Result<Vec<u8>, Fault> {
    let mut bytes = buffers::contents(data.netBufferListChain().read()?)?.concat();
    bytes.truncate(data.dataLength().read()? as usize);
    Ok(bytes)
}

/// Reports the lists that an image did not free, and the references that it did not release.
pub(super) fn report_leaks(leaving: Leaving) {
    let left: Vec<List> = {
        let mut state = state();
        let is_left = |known: &List| {
            let made = known.maker != Maker::Stack && !known.freed && leaving.owns(known.from);
            made || known.references != 0 && leaving.owns(known.referenced_from)
        };
        let left: Vec<u64> =
            state.lists.iter().filter(|(_, known)| is_left(known)).map(|(address, _)| *address).collect();
        left.into_iter().filter_map(|address| state.lists.remove(&address)).collect()
    };
    for known in left {
        if known.references != 0 {
            let detail = format_args!("does not release a reference to a NET_BUFFER_LIST");
            verify::find_at(Rule::ObjectLeak, Some("FwpsReferenceNetBufferList0"), known.referenced_from, detail);
        } else {
            let what = if matches!(known.maker, Maker::Clone(_)) {
                "a clone of a NET_BUFFER_LIST"
            } else {
                "a NET_BUFFER_LIST"
            };
            verify::find_at(Rule::ObjectLeak, None, known.from, format_args!("does not free {what}"));
        }
    }
    if leaving.is_last() {
        state().lists.clear();
    }
}
