//! The events of the facades, written with `tracelogging_dynamic`: the part of `tracing-etw` that can be built for a
//! driver.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::pin::Pin;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use support as _;
use tracelogging_dynamic::{EventBuilder, Level, Opcode, OutType, Provider};

/// Memory for the provider and the builder. They keep what they allocate, so an event allocates nothing.
struct Allocator {
    memory: UnsafeCell<[u64; 1024]>,
    used: AtomicUsize,
}

// SAFETY: each allocation is a separate part of the memory.
unsafe impl Sync for Allocator {}

// SAFETY: the parts do not overlap, start at multiples of 16 bytes, and are never freed.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size().next_multiple_of(16);
        let start = self.used.fetch_add(size, Ordering::Relaxed);
        if layout.align() > 8 || start + size > size_of_val(&self.memory) {
            return ptr::null_mut();
        }
        self.memory.get().cast::<u8>().wrapping_add(start)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { memory: UnsafeCell::new([0; 1024]), used: AtomicUsize::new(0) };

/// The values that are created when the image starts. Only one thread calls this image.
struct State(UnsafeCell<Option<(Provider, EventBuilder)>>);

// SAFETY: as above.
unsafe impl Sync for State {}

static STATE: State = State(UnsafeCell::new(None));

/// Registers the provider. The callback of the registration enables it.
///
/// # Safety
///
/// No requirements: the image is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn start() {
    // SAFETY: nothing else runs.
    let state = unsafe { &mut *STATE.0.get() };
    let (provider, _) = state.insert((Provider::new("WdkEtw.Bench", &Provider::options()), EventBuilder::new()));
    // SAFETY: the provider is in a static that is not changed again.
    let provider = unsafe { Pin::new_unchecked(&*provider) };
    // SAFETY: the image is never unloaded.
    let _ = unsafe { provider.register() };
}

/// Writes an event like those of `tracing-etw`: the time is its first field.
fn write(name: &str, fields: impl FnOnce(&mut EventBuilder)) {
    // SAFETY: nothing else runs.
    let state = unsafe { &mut *STATE.0.get() };
    if let Some((provider, builder)) = state
        && provider.enabled(Level::Informational, 1)
    {
        builder.reset(name, Level::Informational, 1, 0).opcode(Opcode::Info);
        builder.add_systemtime("time", &[2026, 11, 0, 15, 12, 0, 0, 0], OutType::DateTimeUtc, 0);
        fields(builder);
        builder.write(provider, None, None);
    }
}

/// Writes a message.
#[unsafe(no_mangle)]
pub extern "system" fn message() {
    write("Log", |builder| {
        builder.add_str8("message", "a message", OutType::Utf8, 0);
    });
}

/// Writes a number and text of 16 letters.
///
/// # Safety
///
/// `text` must have `length` bytes of UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn values(id: u32, text: *const u8, length: usize) {
    // SAFETY: guaranteed by the caller.
    let text = unsafe { core::slice::from_raw_parts(text, length) };
    write("Read", |builder| {
        builder.add_u32("id", id, OutType::Default, 0);
        builder.add_str8("text", text, OutType::Utf8, 0);
    });
}

/// # Safety
///
/// Only the kernel may call it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DriverEntry(_driver: *mut (), _path: *const ()) -> u32 {
    0
}
