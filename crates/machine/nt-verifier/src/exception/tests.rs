//! Tests guest pointers to memory of the test, under Miri and on the processor.

use nt_processor::memory::{Access, Fault, GuestPtr, Plain};
#[cfg(not(miri))]
use nt_processor::memory::{PAGE, Protection, Region};

/// Some guest memory that is followed by inaccessible memory.
struct Arena {
    start: u64,
    size: u64,
    #[cfg(miri)]
    _bytes: Vec<u8>,
}

impl Arena {
    #[cfg(miri)]
    fn new() -> Self {
        let mut bytes = vec![0; 0x80];
        let start = nt_processor::memory::map(&mut bytes);
        Self { start, size: 0x80, _bytes: bytes }
    }

    #[cfg(not(miri))]
    fn new() -> Self {
        super::signals::install().expect("signal handlers");
        let stack = nt_processor::cpu::handler::HandlerStack::new().expect("a stack for them");
        stack.install(0).expect("its use");
        let region = Region::guarded(2 * PAGE, PAGE).expect("pages");
        Self { start: region.base, size: region.size }
    }

    fn at<T>(&self, offset: u64) -> GuestPtr<T> {
        GuestPtr::new(self.start + offset)
    }

    fn end<T>(&self) -> GuestPtr<T> {
        GuestPtr::new(self.start + self.size)
    }
}

fn round_trip<T: Plain + PartialEq + std::fmt::Debug>(arena: &Arena, value: T) {
    for offset in 0..9 {
        let place = arena.at::<T>(offset);
        place.write(value).expect("mapped");
        assert_eq!(place.read(), Ok(value), "{} bytes at offset {offset}", size_of::<T>());
    }
}

#[test]
fn values_of_every_width_are_stored_and_read_at_every_alignment() {
    let arena = Arena::new();
    round_trip(&arena, 0xA5_u8);
    round_trip(&arena, 0xA55A_u16);
    round_trip(&arena, -2_i32);
    round_trip(&arena, u64::MAX - 1);
    round_trip(&arena, u128::MAX - 2);
    round_trip(&arena, [1_u8, 2, 3]);
    round_trip(&arena, [1_u16, 2, 3, 4, 5]);
}

#[test]
fn a_store_leaves_its_neighbours_alone() {
    let arena = Arena::new();
    arena.at::<u8>(0).array(16).fill(0xFF).expect("mapped");
    arena.at::<u32>(5).write(0).expect("mapped");
    let bytes = arena.at::<u8>(0).array(16).read().expect("mapped");
    assert_eq!(bytes, [255, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255]);
}

#[test]
fn null_the_top_of_memory_and_unmapped_addresses_are_faults() {
    let arena = Arena::new();
    for address in [0, 1, 8, u64::MAX, u64::MAX - 7, u64::MAX - 0xFFF, arena.end::<u8>().address()] {
        let place = GuestPtr::<u64>::new(address);
        let read = place.read().expect_err("not mapped");
        assert_eq!(read.access, Access::Read);
        let write = place.write(1).expect_err("not mapped");
        assert_eq!(write.access, Access::Write);
        assert!(place.swap(1).is_err());
        assert!(place.fetch_add(1).is_err());
        assert!(place.compare_exchange(0, 1).is_err());
        assert!(place.cast::<u8>().array(3).read().is_err());
        assert!(place.cast::<u8>().array(3).fill(0).is_err());
        assert!(place.cast::<[u8; 24]>().read().is_err());
    }
}

#[test]
fn an_access_that_runs_over_the_end_faults_at_the_end() {
    let arena = Arena::new();
    let place = GuestPtr::<u64>::new(arena.end::<u8>().address() - 4);
    assert_eq!(place.read(), Err(Fault { address: arena.end::<u8>().address(), access: Access::Read }));
    assert_eq!(place.write(0), Err(Fault { address: arena.end::<u8>().address(), access: Access::Write }));
    let slice = arena.at::<u8>(0).array(arena.size + 1);
    assert_eq!(slice.read(), Err(Fault { address: arena.end::<u8>().address(), access: Access::Read }));
}

#[test]
#[cfg(not(miri))]
fn an_address_that_is_not_canonical_is_reported_with_the_access() {
    let bad = 0x8000_0000_0000_u64;
    let _arena = Arena::new();
    let fault = GuestPtr::<u32>::new(bad).read().expect_err("not canonical");
    assert_eq!(fault.address, bad);
    assert_eq!(fault.access, Access::Read);
    assert!(!fault.is_canonical());
    let fault = GuestPtr::<u32>::new(bad).write(1).expect_err("not canonical");
    assert_eq!(fault.address, bad);
    assert_eq!(fault.access, Access::Write);
}

#[test]
#[cfg(not(miri))]
fn pages_that_may_only_be_read_refuse_a_store() {
    let arena = Arena::new();
    nt_processor::memory::protect(arena.start, PAGE, Protection::Read);
    assert_eq!(arena.at::<u32>(4).read(), Ok(0));
    let fault = arena.at::<u32>(4).write(1).expect_err("read-only");
    assert_eq!(fault, Fault { address: arena.start + 4, access: Access::Write });
}

#[test]
fn a_length_beyond_mapped_memory_is_a_fault_and_not_an_allocation() {
    let arena = Arena::new();
    assert!(arena.at::<u64>(0).array(u64::MAX).read().is_err());
    assert!(arena.at::<u8>(0).until(1, u64::MAX).is_err());
}

#[test]
fn ranges_that_overlap_are_copied_as_if_they_did_not() {
    let arena = Arena::new();
    let bytes: Vec<u8> = (0..32).collect();
    for (to, from) in [(0, 8), (8, 0), (5, 5), (40, 0)] {
        arena.at::<u8>(from).write_all(&bytes).expect("mapped");
        arena.at::<u8>(to).array(32).copy_from(arena.at(from)).expect("mapped");
        assert_eq!(arena.at::<u8>(to).array(32).read().expect("mapped"), bytes, "from {from} to {to}");
    }
}

#[test]
fn atomic_operations_return_what_was_there() {
    let arena = Arena::new();
    let word = arena.at::<u32>(8);
    assert_eq!(word.swap(5), Ok(0));
    assert_eq!(word.fetch_sub(6), Ok(5));
    assert_eq!(word.compare_exchange(u32::MAX, 7), Ok(true));
    assert_eq!(word.compare_exchange(8, 9), Ok(false));
    assert_eq!(word.read(), Ok(7));
}

#[test]
fn elements_and_slices_stay_inside_of_their_arrays() {
    let arena = Arena::new();
    let array = arena.at::<[u32; 3]>(4);
    array.write([1, 2, 3]).expect("mapped");
    assert_eq!(array.element(2).map(GuestPtr::read), Some(Ok(3)));
    assert_eq!(array.element(3), None);
    let slice = array.cast::<u32>().array(2);
    slice.write(&[7, 8, 9]).expect("mapped");
    assert_eq!(array.read(), Ok([7, 8, 3]));
    assert_eq!(array.cast::<u32>().at(2).before(1).read(), Ok(8));
}

#[cfg(not(miri))]
#[test]
fn pages_near_code_are_below_it_if_there_is_no_room_above() {
    let large = Region::new(4 << 30, Protection::None, false).expect("addresses");
    let near = Region::near(large.base, PAGE, PAGE).expect("pages");
    assert!(near.base < large.base);
    assert!(large.base - near.base < 1 << 30);
}
