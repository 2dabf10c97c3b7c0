//! What the engine asks of the system around it: where an event is written, and by whom.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The system around an engine. Every method has an answer that suits an ordinary process; a host that emulates a
/// machine gives its own. All of them are called on the thread that writes, and on the write path: they must not wait.
pub trait Environment: Send + Sync {
    /// The processor that the calling thread runs on. The default spreads threads evenly: safe code cannot ask the
    /// system.
    fn processor(&self) -> u16 {
        let [low, high, ..] = thread_number().to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// The process of the calling thread.
    fn process_id(&self) -> u32 {
        // Asked once: a system call for every event would cost more than the event.
        static ID: OnceLock<u32> = OnceLock::new();
        *ID.get_or_init(std::process::id)
    }

    /// The calling thread. The default is a number of the engine's own.
    fn thread_id(&self) -> u32 {
        thread_number()
    }

    /// Appends the return addresses of the calling thread, the innermost first. The default knows none.
    fn stack(&self, frames: &mut Vec<u64>) {
        let _ = frames;
    }

    /// The SID of the calling user.
    fn sid(&self) -> Option<Vec<u8>> {
        None
    }

    /// The terminal session of the calling process.
    fn terminal_session(&self) -> Option<u32> {
        None
    }

    /// A number of the calling process that is never used again.
    fn process_start_key(&self) -> Option<u64> {
        None
    }
}

/// An ordinary process: the defaults of [`Environment`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisProcess;

impl Environment for ThisProcess {}

/// A number for every thread, counted from zero.
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

/// Who registers a provider: what filters by process look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Whether it is a process in user mode. Filters by process do not apply to the kernel's own registrations.
    pub is_user_mode: bool,
    /// The process; 0 for the kernel.
    pub process_id: u32,
    /// The file name of the process's image, without its folder.
    pub image: String,
    /// The path of the binary that registers, where it is known: what tracking of binaries tells.
    pub path: Option<String>,
    /// The full name of the process's package, where it has one.
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
