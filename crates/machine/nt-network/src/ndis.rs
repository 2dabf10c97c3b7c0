//! The routines of NDIS that callout drivers use for `NET_BUFFER_LIST`s.

use etw_types::NtStatus;
use nt_kernel::{kernel, lock, pool};
use nt_processor::layout::{DRIVER_OBJECT, MDL, NET_BUFFER, NET_BUFFER_LIST, NET_BUFFER_LIST_POOL_PARAMETERS};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{Call, DISPATCH, Failure, Ignored, NDIS, NO_RESOURCES, Out, Outcome, routines};

use super::buffers;
use super::state::Maker;

/// `NDIS_STATUS_SUCCESS` and `NDIS_STATUS_RESOURCES`, which are statuses of the kernel.
const SUCCESS: i32 = NtStatus::Success.as_signed();
const RESOURCES: i32 = NO_RESOURCES.as_signed();

/// The tag of pools and generic objects whose parameters have none.
const TAG: [u8; 4] = *b"Ndis";
/// The size of a pool or generic object, which is opaque.
const SIZE: u64 = 0x40;

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), module(NDIS), fails_with_zero]
    fn NdisAllocateNetBufferListPool(
        &call,
        _handle: Ignored<u64>,
        parameters: GuestPtr<NET_BUFFER_LIST_POOL_PARAMETERS>,
    ) -> Result<Option<GuestPtr<Opaque>>, Fault> {
        Ok(allocate(call, parameters.PoolTag().read()?))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisFreeNetBufferListPool(handle: GuestPtr<Opaque>) {
        pool::free(handle.address(), None);
    }

    /// The parameters begin as those of a pool of lists, up to the tag.
    #[irql(DISPATCH), module(NDIS), fails_with_zero]
    fn NdisAllocateNetBufferPool(
        &call,
        _handle: Ignored<u64>,
        parameters: GuestPtr<u32>,
    ) -> Result<Option<GuestPtr<Opaque>>, Fault> {
        Ok(allocate(call, parameters.at(1).read()?))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisFreeNetBufferPool(handle: GuestPtr<Opaque>) {
        pool::free(handle.address(), None);
    }

    #[irql(DISPATCH), module(NDIS), fails_with_zero]
    fn NdisAllocateGenericObject(
        &call,
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        tag: u32,
        _size: Ignored<u16>,
    ) -> Option<GuestPtr<Opaque>> {
        allocate(call, tag)
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisFreeGenericObject(object: GuestPtr<Opaque>) {
        pool::free(object.address(), None);
    }

    /// Without storage, returns NULL if the data is not contiguous.
    #[irql(DISPATCH), module(NDIS)]
    fn NdisGetDataBuffer(
        buffer: GuestPtr<NET_BUFFER>,
        needed: u32,
        storage: Option<GuestPtr<u8>>,
        multiple: u32,
        offset: u32,
    ) -> Result<Option<GuestPtr<u8>>, Fault> {
        data_buffer(buffer, needed, storage, (multiple, offset))
    }

    #[irql(DISPATCH), module(NDIS), fails(NO_RESOURCES)]
    #[undoes(buffers::has_room(buffer, delta))]
    fn NdisRetreatNetBufferDataStart(
        buffer: GuestPtr<NET_BUFFER>,
        delta: u32,
        backfill: u32,
        _allocate: Ignored<GuestPtr<Code>>,
    ) -> Result<i32, Fault> {
        status(buffers::retreat(buffer, delta, backfill))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisAdvanceNetBufferDataStart(
        buffer: GuestPtr<NET_BUFFER>,
        delta: u32,
        _free: Ignored<bool>,
        _routine: Ignored<GuestPtr<Code>>,
    ) -> Result<(), Fault> {
        buffers::advance(buffer, delta)
    }

    #[irql(DISPATCH), module(NDIS), fails(NO_RESOURCES)]
    #[undoes(buffers::buffers(list).is_ok_and(|all| all.into_iter().all(|buffer| buffers::has_room(buffer, delta))))]
    fn NdisRetreatNetBufferListDataStart(
        list: GuestPtr<NET_BUFFER_LIST>,
        delta: u32,
        backfill: u32,
        _allocate: Ignored<GuestPtr<Code>>,
        _free: Ignored<GuestPtr<Code>>,
    ) -> Result<i32, Fault> {
        let each = |buffer| buffers::retreat(buffer, delta, backfill);
        status(buffers::buffers(list).map_err(Failure::from).and_then(|all| all.into_iter().try_for_each(each)))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisAdvanceNetBufferListDataStart(
        list: GuestPtr<NET_BUFFER_LIST>,
        delta: u32,
        _free: Ignored<bool>,
        _routine: Ignored<GuestPtr<Code>>,
    ) -> Result<(), Fault> {
        buffers::buffers(list)?.into_iter().try_for_each(|buffer| buffers::advance(buffer, delta))
    }

    #[irql(DISPATCH), module(NDIS), fails_with_zero]
    fn NdisAllocateNetBufferAndNetBufferList(
        &call,
        _pool: Ignored<GuestPtr<Opaque>>,
        _size: Ignored<u16>,
        _backfill: Ignored<u16>,
        chain: GuestPtr<MDL>,
        offset: u32,
        length: u64,
    ) -> Result<Option<GuestPtr<NET_BUFFER_LIST>>, Fault> {
        null_without_memory(buffers::create(Maker::Driver, chain, (offset, length), call.from))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisFreeNetBufferList(list: GuestPtr<NET_BUFFER_LIST>) -> Result<(), Fault> {
        buffers::free(list, false)
    }

    #[irql(DISPATCH), module(NDIS), fails_with_zero]
    fn NdisAllocateCloneNetBufferList(
        &call,
        original: GuestPtr<NET_BUFFER_LIST>,
        _lists: Ignored<GuestPtr<Opaque>>,
        _buffers: Ignored<GuestPtr<Opaque>>,
        _flags: Ignored<u32>,
    ) -> Result<Option<GuestPtr<NET_BUFFER_LIST>>, Fault> {
        null_without_memory(buffers::clone(original, call.from))
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisFreeCloneNetBufferList(list: GuestPtr<NET_BUFFER_LIST>, _flags: Ignored<u32>) -> Result<(), Fault> {
        buffers::free(list, true)
    }

    #[irql(DISPATCH), module(NDIS)]
    fn NdisCopyFromNetBufferToNetBuffer(
        target: GuestPtr<NET_BUFFER>,
        target_offset: u32,
        count: u32,
        source: GuestPtr<NET_BUFFER>,
        source_offset: u32,
        copied: Out<u32>,
    ) -> Result<i32, Fault> {
        let data = buffers::data(source)?;
        let data = data.get(source_offset as usize..).unwrap_or_default();
        let data = data.get(..count as usize).unwrap_or(data);
        copied.set(buffers::store(target, target_offset, data)?)?;
        Ok(SUCCESS)
    }
}

fn allocate(call: &Call, tag: u32) -> Option<GuestPtr<Opaque>> {
    let tag = if tag == 0 { TAG } else { tag.to_le_bytes() };
    lock(&kernel().pool).allocate(SIZE, tag, false, call.from).map(GuestPtr::new)
}

/// Returns the status of NDIS for an outcome.
fn status(outcome: Outcome) -> Result<i32, Fault> {
    match outcome {
        Ok(()) => Ok(SUCCESS),
        Err(Failure::Status(_)) => Ok(RESOURCES),
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

/// Returns NULL if there was no memory.
fn null_without_memory(
    outcome: Outcome<GuestPtr<NET_BUFFER_LIST>>,
) -> Result<Option<GuestPtr<NET_BUFFER_LIST>>, Fault> {
    match outcome {
        Ok(list) => Ok(Some(list)),
        Err(Failure::Status(_)) => Ok(None),
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

fn data_buffer(
    buffer: GuestPtr<NET_BUFFER>,
    needed: u32,
    storage: Option<GuestPtr<u8>>,
    (multiple, offset): (u32, u32),
) -> Result<Option<GuestPtr<u8>>, Fault> {
    let pieces = buffers::pieces(buffer)?;
    let Some((first, length)) = pieces.first().copied().filter(|_| needed != 0) else { return Ok(None) };
    let is_aligned = multiple <= 1 || first.address() % u64::from(multiple) == u64::from(offset);
    if length >= needed && is_aligned {
        return Ok(Some(first));
    }
    let data = buffers::data(buffer)?;
    let (Some(storage), Some(data)) = (storage, data.get(..needed as usize)) else { return Ok(None) };
    storage.write_all(data)?;
    Ok(Some(storage))
}
