//! An allocator that provides memory in the image for the only allocation of `tracing-core`.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The size of the allocation: two counters and a reference.
const SIZE: usize = 24;

/// A global allocator for drivers. The only allocation of `tracing-core` gets memory in the image; all other
/// allocations are passed to `A`.
///
/// `tracing-core` never frees its allocation. In pool memory, that would be a leak when the driver is unloaded, and
/// Driver Verifier would stop the system. Memory in the image is freed with the image.
///
/// ```no_run
/// use wdk_etw_tracing::{ImageAllocator, NoAllocator};
///
/// // For a driver that does not allocate. With wdk-alloc, use `ImageAllocator<WdkAllocator>` and `new(WdkAllocator)`.
/// #[global_allocator]
/// static ALLOCATOR: ImageAllocator<NoAllocator> = ImageAllocator::new(NoAllocator);
/// # fn main() {}
/// ```
///
/// # IRQL
///
/// The same as for `A`.
#[derive(Debug)]
pub struct ImageAllocator<A> {
    other: A,
}

impl<A> ImageAllocator<A> {
    /// Creates an allocator that passes all other allocations to `other`.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(other: A) -> Self {
        Self { other }
    }
}

/// An allocator that always fails, for drivers that do not allocate.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAllocator;

// SAFETY: `alloc` may always fail by returning null. Nothing is allocated, so `dealloc` is never called.
unsafe impl GlobalAlloc for NoAllocator {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// True while `from_image` runs.
static REGISTERING: AtomicBool = AtomicBool::new(false);

/// 0 if the memory is free, 1 if it is taken.
static TAKEN: AtomicU8 = AtomicU8::new(0);

#[repr(align(16))]
struct Memory(UnsafeCell<MaybeUninit<[u8; SIZE]>>);

// SAFETY: `TAKEN` gives the memory to one owner, and only the owner accesses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new(MaybeUninit::uninit()));

/// Runs `body`. If the driver uses an [`ImageAllocator`], the allocation that `body` makes gets the memory in the
/// image.
///
/// Returns `None` without running `body` if another processor is in `from_image`: the memory is enough for one.
pub(crate) fn from_image<T>(body: impl FnOnce() -> T) -> Option<T> {
    if REGISTERING.swap(true, Ordering::Acquire) {
        return None;
    }
    let result = body();
    REGISTERING.store(false, Ordering::Release);
    Some(result)
}

/// Takes the memory in the image if the allocation has its size, [`from_image`] runs, and the memory is free.
fn take(layout: Layout) -> Option<*mut u8> {
    let fits = layout.size() == SIZE && layout.align() <= align_of::<Memory>();
    if !fits || !REGISTERING.load(Ordering::Acquire) {
        return None;
    }
    TAKEN.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok().then(|| MEMORY.0.get().cast())
}

// SAFETY: memory comes from `A`, which fulfils the same contract, or it is the memory in the image. That memory is
// static and aligned, has the requested size, and has one owner until it is freed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for ImageAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        take(layout).unwrap_or_else(|| unsafe { self.other.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if ptr::eq(memory, MEMORY.0.get().cast()) {
            TAKEN.store(0, Ordering::Release);
        } else {
            // SAFETY: guaranteed by the caller. The memory is not in the image, so it came from `other`.
            unsafe { self.other.dealloc(memory, layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::alloc::{GlobalAlloc, Layout};

    use super::{ImageAllocator, NoAllocator, SIZE, from_image};

    #[test]
    fn the_memory_is_given_once_and_only_inside_from_image() {
        let allocator = ImageAllocator::new(NoAllocator);
        let layout = Layout::from_size_align(SIZE, 8).unwrap();
        // SAFETY: the layout is not empty.
        let alloc = || unsafe { allocator.alloc(layout) };
        assert!(alloc().is_null());
        let first = from_image(|| {
            let first = alloc();
            assert!(!first.is_null(), "the image has room");
            assert_eq!(first.addr() % 8, 0, "the alignment that was asked for");
            assert!(alloc().is_null(), "the memory is taken");
            assert_eq!(from_image(|| ()), None, "another one does not run");
            first
        });
        let first = first.unwrap();
        // SAFETY: from this allocator, with this layout.
        unsafe { allocator.dealloc(first, layout) };
        assert_eq!(from_image(alloc), Some(first));
        // SAFETY: as above.
        unsafe { allocator.dealloc(first, layout) };
        let other = Layout::from_size_align(SIZE + 8, 8).unwrap();
        // SAFETY: the layout is not empty.
        assert!(from_image(|| unsafe { allocator.alloc(other) }).unwrap().is_null());
    }
}
