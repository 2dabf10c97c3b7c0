//! What the engine needs to know about the system around it: where an event is written, and by whom.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The system around an engine. Every method has a default that suits an ordinary process; a host that emulates a
/// machine overrides them. All of them are called on the writing thread and on the write path, so they must not block.
pub trait Environment: Send + Sync {
    /// Returns the processor that the calling thread runs on. Where the operating system does not tell, the default
    /// distributes threads evenly.
    #[inline]
    fn processor(&self) -> u16 {
        let [low, high, ..] = processor_number().to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// Returns the process id of the calling thread.
    fn process_id(&self) -> u32 {
        // Queried once: a system call per event would cost more than the event.
        static ID: OnceLock<u32> = OnceLock::new();
        *ID.get_or_init(std::process::id)
    }

    /// Returns the id of the calling thread. The default is a number that the engine assigns.
    fn thread_id(&self) -> u32 {
        thread_number()
    }

    /// Appends the return addresses of the calling thread, innermost first. The default appends none.
    fn stack(&self, frames: &mut Vec<u64>) {
        let _ = frames;
    }

    /// Returns the SID of the calling user.
    fn sid(&self) -> Option<Vec<u8>> {
        None
    }

    /// Returns the terminal session of the calling process.
    fn terminal_session(&self) -> Option<u32> {
        None
    }

    /// Returns a number of the calling process that is never reused.
    fn process_start_key(&self) -> Option<u64> {
        None
    }
}

/// An ordinary process, with the defaults of [`Environment`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisProcess;

impl Environment for ThisProcess {}

/// Returns the number of the processor that the calling thread runs on.
///
/// Threads on different processors that share a stream move its cache lines back and forth with every event.
#[cfg(all(target_os = "linux", not(miri)))]
fn processor_number() -> usize {
    rustix::thread::sched_getcpu()
}

/// Returns a number that distributes threads evenly over the processors.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn processor_number() -> u32 {
    thread_number()
}

/// Returns a number that identifies the calling thread. Numbers start at zero.
fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static NUMBER: Cell<Option<u32>> = const { Cell::new(None) };
    }
    let number = NUMBER.try_with(|number| {
        number.get().unwrap_or_else(|| {
            let new = NEXT.fetch_add(1, Ordering::Relaxed);
            number.set(Some(new));
            new
        })
    });
    number.unwrap_or_default()
}

/// Who registers a provider; filters by process compare against it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Whether this is a user-mode process. Filters by process do not apply to registrations of the kernel.
    pub is_user_mode: bool,
    /// The process id; 0 for the kernel.
    pub process_id: u32,
    /// The file name of the process's image, without its folder.
    pub image: String,
    /// The path of the binary that registers, if known. Binary tracking reports it.
    pub path: Option<String>,
    /// The full name of the process's package, if it has one.
    pub package: Option<String>,
    /// The application within the package.
    pub package_app: Option<String>,
}

impl Origin {
    /// A driver or the kernel itself.
    #[must_use]
    pub fn kernel() -> Self {
        Self::default()
    }

    /// A process in user mode.
    #[must_use]
    pub fn user(process_id: u32, image: &str) -> Self {
        Self { is_user_mode: true, process_id, image: image.to_owned(), ..Self::default() }
    }
}
