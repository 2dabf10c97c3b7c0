//! The one allocation that `tracing-core` makes, in the image.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What `tracing-core` allocates: two counters and a reference.
const SIZE: usize = 24;

/// A driver's allocator that has the memory of `tracing-core`'s one allocation in the image, and takes everything else from `A`.
///
/// That allocation is never freed. In pool it would be a leak when the driver unloads, which Driver Verifier stops the machine
/// for; in the image it goes with it.
///
/// ```no_run
/// use wdk_etw_tracing::{ImageAllocator, NoAllocator};
///
/// // In a driver that does not allocate. With wdk-alloc: `ImageAllocator<WdkAllocator>` and `new(WdkAllocator)`.
/// #[global_allocator]
/// static ALLOCATOR: ImageAllocator<NoAllocator> = ImageAllocator::new(NoAllocator);
/// # fn main() {}
/// ```
///
/// # IRQL
///
/// That of `A`.
#[derive(Debug)]
pub struct ImageAllocator<A> {
    other: A,
}

impl<A> ImageAllocator<A> {
    /// An allocator in front of `other`.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(other: A) -> Self {
        Self { other }
    }
}

/// An allocator that has nothing to give: for drivers that do not allocate.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAllocator;

// SAFETY: null is a failure to allocate, which is always allowed; so nothing is ever freed.
unsafe impl GlobalAlloc for NoAllocator {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

/// Set while `register` is in `tracing-core`.
static REGISTERING: AtomicBool = AtomicBool::new(false);

/// Whether the memory is free (0) or taken.
static TAKEN: AtomicU8 = AtomicU8::new(0);

#[repr(align(16))]
struct Memory(UnsafeCell<MaybeUninit<[u8; SIZE]>>);

// SAFETY: `TAKEN` gives it to one owner, and only the owner accesses it.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new(MaybeUninit::uninit()));

/// Has the allocation that `body` makes come from the image, if an [`ImageAllocator`] is there.
pub(crate) fn from_image<T>(body: impl FnOnce() -> T) -> T {
    REGISTERING.store(true, Ordering::Release);
    let result = body();
    REGISTERING.store(false, Ordering::Release);
    result
}

/// The image's memory, if it is meant for this allocation and free.
fn take(layout: Layout) -> Option<*mut u8> {
    let fits = layout.size() == SIZE && layout.align() <= align_of::<Memory>();
    if !fits || !REGISTERING.load(Ordering::Acquire) {
        return None;
    }
    TAKEN.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok().then(|| MEMORY.0.get().cast())
}

// SAFETY: memory comes from `A`, whose contract this has, or is the image's: static, aligned, of the size that is asked for, and
// given away once until it is freed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for ImageAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the same contract.
        take(layout).unwrap_or_else(|| unsafe { self.other.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if ptr::eq(memory, MEMORY.0.get().cast()) {
            TAKEN.store(0, Ordering::Release);
        } else {
            // SAFETY: the same contract; the memory is not the image's, so it came from there.
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
    fn only_the_registration_is_served_and_once() {
        let allocator = ImageAllocator::new(NoAllocator);
        let layout = Layout::from_size_align(SIZE, 8).unwrap();
        // SAFETY: the layout is not empty.
        let alloc = || unsafe { allocator.alloc(layout) };
        assert!(alloc().is_null());
        let first = from_image(|| {
            let first = alloc();
            assert!(!first.is_null() && first.addr() % 8 == 0);
            assert!(alloc().is_null(), "there is one");
            first
        });
        // SAFETY: from this allocator, with this layout.
        unsafe { allocator.dealloc(first, layout) };
        assert_eq!(from_image(alloc), first);
        // SAFETY: as above.
        unsafe { allocator.dealloc(first, layout) };
        let other = Layout::from_size_align(SIZE + 8, 8).unwrap();
        // SAFETY: the layout is not empty.
        assert!(from_image(|| unsafe { allocator.alloc(other) }).is_null());
    }
}
