//! `NET_BUFFER_LIST`s: how they are made and freed, and their data.
//!
//! The structures and their MDLs are memory of the host, so a driver cannot free them as pool. The engine remembers every
//! list, including freed ones.

use nt_kernel::io::mdl;
use nt_kernel::{kernel, lock};
use nt_processor::layout::{MDL, NET_BUFFER, NET_BUFFER_LIST};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::Outcome;
use nt_verifier::verify::{self, Rule};

use super::state::{List, Maker, Mark, state};

/// The maximum number of buffers of a list, and of MDLs of a buffer, that are followed.
const MOST: usize = 4096;

/// Makes a list with one buffer for data that the caller describes.
pub(super) fn create(
    maker: Maker,
    chain: GuestPtr<MDL>,
    (offset, length): (u32, u64),
    from: u64,
) -> Outcome<GuestPtr<NET_BUFFER_LIST>> {
    let list = lock(&kernel().pool).try_new_object::<NET_BUFFER_LIST>()?;
    remember(list, maker, from);
    if !chain.is_null() || maker == Maker::Stack {
        let buffer = new_buffer(list, chain, offset, length)?;
        list.FirstNetBuffer().write(buffer)?;
    }
    Ok(list)
}

fn remember(list: GuestPtr<NET_BUFFER_LIST>, maker: Maker, from: u64) {
    let known = List {
        maker,
        from,
        freed: false,
        references: 0,
        referenced_from: 0,
        clones: 0,
        indicated: maker == Maker::Stack,
        in_flight: false,
        marks: Vec::new(),
        memory: vec![list.address()],
    };
    state().lists.insert(list.address(), known);
}

fn new_buffer(
    list: GuestPtr<NET_BUFFER_LIST>,
    chain: GuestPtr<MDL>,
    offset: u32,
    length: u64,
) -> Outcome<GuestPtr<NET_BUFFER>> {
    let buffer = lock(&kernel().pool).try_new_object::<NET_BUFFER>()?;
    keep(list, buffer.address());
    // The list that a retreat adds its memory to.
    buffer.NdisReserved().write([list.address(), 0])?;
    buffer.MdlChain().write(chain)?;
    buffer.DataLength().write(length)?;
    set_offset(buffer, offset)?;
    Ok(buffer)
}

/// Makes memory of the host part of a list.
fn keep(list: GuestPtr<NET_BUFFER_LIST>, memory: u64) {
    if let Some(known) = state().lists.get_mut(&list.address()) {
        known.memory.push(memory);
    }
}

/// Makes a list for a packet that the stack indicates: one MDL for the headers, another for the data.
pub(super) fn indicate(parts: &[&[u8]], marks: &[Mark]) -> Outcome<GuestPtr<NET_BUFFER_LIST>> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() as u64;
    let list = create(Maker::Stack, GuestPtr::NULL, (0, length), 0)?;
    let buffer = list.FirstNetBuffer().read()?;
    let mut place = buffer.MdlChain();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let mdl = new_mdl(list, part.len() as u32)?;
        mdl.MappedSystemVa().read()?.write_all(part)?;
        place.write(mdl)?;
        place = mdl.Next();
    }
    set_offset(buffer, 0)?;
    if let Some(known) = state().lists.get_mut(&list.address()) {
        known.marks = marks.to_vec();
    }
    Ok(list)
}

/// Makes an MDL with memory of its own, which goes with the list.
fn new_mdl(list: GuestPtr<NET_BUFFER_LIST>, length: u32) -> Outcome<GuestPtr<MDL>> {
    let data = lock(&kernel().pool).try_new_objects::<u8>(length.into())?;
    keep(list, data.address());
    let mdl = mdl::new(data, length)?;
    keep(list, mdl.address());
    Ok(mdl)
}

/// Makes a list that describes the same data, from the start of the data of each buffer on.
pub(super) fn clone(original: GuestPtr<NET_BUFFER_LIST>, from: u64) -> Outcome<GuestPtr<NET_BUFFER_LIST>> {
    let list = create(Maker::Clone(original.address()), GuestPtr::NULL, (0, 0), from)?;
    list.ParentNetBufferList().write(original)?;
    original.ChildRefCount().fetch_add(1)?;
    let mut place = list.FirstNetBuffer();
    for buffer in buffers(original)? {
        let mut chain = GuestPtr::NULL;
        let mut end = GuestPtr::<MDL>::NULL;
        for (address, length) in pieces(buffer)? {
            let mdl = mdl::new(address, length)?;
            keep(list, mdl.address());
            if end.is_null() {
                chain = mdl;
            } else {
                end.Next().write(mdl)?;
            }
            end = mdl;
        }
        let copy = new_buffer(list, chain, 0, buffer.DataLength().read()?)?;
        place.write(copy)?;
        place = copy.Next();
    }
    let mut state = state();
    let marks = state.lists.get(&original.address()).map(|known| known.marks.clone()).unwrap_or_default();
    if let Some(known) = state.lists.get_mut(&original.address()) {
        known.clones += 1;
    }
    if let Some(known) = state.lists.get_mut(&list.address()) {
        known.marks = marks;
    }
    Ok(list)
}

/// Returns the buffers of a list.
pub(super) fn buffers(list: GuestPtr<NET_BUFFER_LIST>) -> Result<Vec<GuestPtr<NET_BUFFER>>, Fault> {
    let mut found = Vec::new();
    let mut next = list.FirstNetBuffer().read()?;
    while !next.is_null() && found.len() < MOST {
        found.push(next);
        next = next.Next().read()?;
    }
    Ok(found)
}

/// Returns the addresses and lengths of the data of a buffer.
pub(super) fn pieces(buffer: GuestPtr<NET_BUFFER>) -> Result<Vec<(GuestPtr<u8>, u32)>, Fault> {
    let mut skip = u64::from(buffer.DataOffset().read()?);
    let mut left = buffer.DataLength().read()?;
    let mut found = Vec::new();
    let mut next = buffer.MdlChain().read()?;
    while left != 0 && !next.is_null() && found.len() < MOST {
        let length = u64::from(next.ByteCount().read()?);
        if skip < length {
            let count = (length - skip).min(left);
            found.push((mdl::start(next)?.at(skip), count as u32));
            left -= count;
        }
        skip = skip.saturating_sub(length);
        next = next.Next().read()?;
    }
    Ok(found)
}

/// Reads the data of each buffer of a list.
pub(super) fn contents(list: GuestPtr<NET_BUFFER_LIST>) -> Result<Vec<Vec<u8>>, Fault> {
    buffers(list)?.into_iter().map(data).collect()
}

/// Reads the data of a buffer.
pub(super) fn data(buffer: GuestPtr<NET_BUFFER>) -> Result<Vec<u8>, Fault> {
    let pieces = pieces(buffer)?.into_iter().map(|(address, length)| address.array(length.into()).read());
    Ok(pieces.collect::<Result<Vec<_>, Fault>>()?.concat())
}

/// Sets where the data of a buffer begins, counted from the start of its MDLs.
pub(super) fn set_offset(buffer: GuestPtr<NET_BUFFER>, offset: u32) -> Result<(), Fault> {
    buffer.DataOffset().write(offset)?;
    let mut left = offset;
    let mut current = buffer.MdlChain().read()?;
    for _ in 0..MOST {
        let Some(mdl) = current.non_null() else { break };
        let length = mdl.ByteCount().read()?;
        let next = mdl.Next().read()?;
        if left < length || next.is_null() {
            break;
        }
        left -= length;
        current = next;
    }
    buffer.CurrentMdl().write(current)?;
    buffer.CurrentMdlOffset().write(left)
}

/// Returns whether a retreat needs no memory, as after an advance. It cannot fail then.
pub(super) fn has_room(buffer: GuestPtr<NET_BUFFER>, delta: u32) -> bool {
    buffer.DataOffset().read().is_ok_and(|offset| offset >= delta)
}

/// Moves the start of the data back, into new memory if there is no room before it.
pub(super) fn retreat(buffer: GuestPtr<NET_BUFFER>, delta: u32, backfill: u32) -> Outcome {
    let offset = buffer.DataOffset().read()?;
    let length = buffer.DataLength().read()?;
    let start = if let Some(start) = offset.checked_sub(delta) {
        start
    } else {
        let [list, _] = buffer.NdisReserved().read()?;
        let mdl = new_mdl(GuestPtr::new(list), (delta - offset).saturating_add(backfill))?;
        mdl.Next().write(buffer.MdlChain().read()?)?;
        buffer.MdlChain().write(mdl)?;
        backfill
    };
    buffer.DataLength().write(length + u64::from(delta))?;
    set_offset(buffer, start)?;
    Ok(())
}

/// Moves the start of the data forward.
pub(super) fn advance(buffer: GuestPtr<NET_BUFFER>, delta: u32) -> Result<(), Fault> {
    let length = buffer.DataLength().read()?;
    if u64::from(delta) > length {
        verify::find(
            Rule::BadArgument,
            format_args!("advances the data start by {delta} bytes, but the NET_BUFFER has {length}"),
        );
        return Ok(());
    }
    buffer.DataLength().write(length - u64::from(delta))?;
    set_offset(buffer, buffer.DataOffset().read()?.saturating_add(delta))
}

/// Frees a list that the driver made. `is_clone` says which of the two routines was called.
pub(super) fn free(list: GuestPtr<NET_BUFFER_LIST>, is_clone: bool) -> Result<(), Fault> {
    let known = state().lists.get(&list.address()).cloned();
    let Some(known) = known else {
        verify::find(Rule::BadFree, format_args!("{list:#x} is not a NET_BUFFER_LIST"));
        return Ok(());
    };
    match known.maker {
        _ if known.freed => {
            verify::find(Rule::DoubleFree, format_args!("frees a NET_BUFFER_LIST that is already freed"));
        }
        Maker::Stack => verify::find(Rule::BadFree, format_args!("frees a NET_BUFFER_LIST of the network stack")),
        Maker::Driver if is_clone => {
            verify::find(Rule::BadFree, format_args!("frees a NET_BUFFER_LIST as a clone, which it is not"));
        }
        Maker::Clone(_) if !is_clone => {
            verify::find(Rule::BadFree, format_args!("frees a clone with the routine for other lists"));
        }
        _ if known.in_flight => {
            verify::find(Rule::UseAfterFree, format_args!("frees a NET_BUFFER_LIST that is being injected"));
        }
        _ => {
            if let Maker::Clone(original) = known.maker {
                let exists = state().lists.get(&original).is_some_and(|original| !original.freed);
                if exists {
                    GuestPtr::<NET_BUFFER_LIST>::new(original).ChildRefCount().fetch_sub(1)?;
                }
                change(original, |original| original.clones = original.clones.saturating_sub(1));
            }
            release(list.address());
        }
    }
    Ok(())
}

/// Changes what is known about a list, and frees it if it belongs to the stack and nothing uses it any more.
pub(super) fn change(list: u64, change: impl FnOnce(&mut List)) {
    let unused = {
        let mut state = state();
        let Some(known) = state.lists.get_mut(&list) else { return };
        change(known);
        let is_used = known.indicated || known.references != 0 || known.clones != 0;
        known.maker == Maker::Stack && !is_used && !known.freed
    };
    if unused {
        release(list);
    }
}

/// Frees the memory of a list.
fn release(list: u64) {
    let memory = {
        let mut state = state();
        let Some(known) = state.lists.get_mut(&list) else { return };
        known.freed = true;
        std::mem::take(&mut known.memory)
    };
    let mut pool = lock(&kernel().pool);
    for address in memory {
        pool.free_object(address);
    }
}

/// Writes bytes into the data of a buffer, from an offset on. Returns how many fitted.
pub(super) fn store(buffer: GuestPtr<NET_BUFFER>, offset: u32, mut bytes: &[u8]) -> Result<u32, Fault> {
    let mut skip = offset;
    let mut stored = 0;
    for (address, length) in pieces(buffer)? {
        let room = length.saturating_sub(skip) as usize;
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        address.at(skip.into()).write_all(now)?;
        (bytes, stored, skip) = (later, stored + now.len() as u32, skip.saturating_sub(length));
    }
    Ok(stored)
}
