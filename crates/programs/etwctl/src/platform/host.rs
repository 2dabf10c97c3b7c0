//! A demonstration provider in this process, and interrupts as signals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use etw_engine::{Block, Engine, EventWrite};
use etw_session::platform::local_engine;
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level, Opcode};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// The provider's traits: their size and the provider's name.
const TRAITS: &[u8] = b"\x0e\x00Etwctl-Demo\x00";
const READ: Keyword = Keyword::from_bits(0x1);
const CONTROL: Keyword = Keyword::from_bits(0x2);
/// The number of requests that the provider simulates, and the pause after each.
const REQUESTS: u32 = 12;
const PAUSE: Duration = Duration::from_millis(40);

/// Whether there was an interrupt since the first call of this function. After that call, the first interrupt no longer ends
/// the process, so that it can stop its session and close its file. The second interrupt ends it.
pub(crate) fn interrupted() -> bool {
    static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = INTERRUPTED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        command_line::handles_interrupts();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the shutdown handler runs before the flag is set, so only the second signal ends the process. If
            // registering fails, every signal ends it.
            let _ = register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag));
            let _ = register(signal, Arc::clone(&flag));
        }
        flag
    });
    flag.load(Ordering::Relaxed)
}

/// A provider that writes events on a separate thread, until it has written all of them or this value is dropped.
#[derive(Debug)]
pub(crate) struct Demo {
    thread: JoinHandle<()>,
    ends: Arc<AtomicBool>,
}

impl Demo {
    /// The provider's id.
    pub(crate) const ID: Guid = Guid::from_name("Etwctl-Demo");

    /// Whether this system has a demonstration provider.
    pub(crate) const IS_HERE: bool = true;

    /// Registers the provider and starts to write its events, once or repeatedly.
    pub(crate) fn start(repeats: bool) -> Result<Self, String> {
        let engine = local_engine();
        let handle = engine.register(Self::ID, None, |_| {}).map_err(|status| status.to_string())?;
        engine.set_information(handle, EventInfoClass::SetTraits, TRAITS);
        let ends = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            write_all(&engine, handle, &stops);
            while repeats && !stops.load(Ordering::Relaxed) {
                write_all(&engine, handle, &stops);
            }
            engine.unregister(handle);
        });
        Ok(Self { thread, ends })
    }

    /// Whether the provider has written all its events.
    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

fn write_all(engine: &Engine, handle: u64, ends: &AtomicBool) {
    let write = |name: &str, level: Level, keyword: Keyword, opcode: Opcode, request: u32, length: u32| {
        let mut metadata = [0; 128];
        let mut payload = [0; 128];
        let event = EventBuilder::new(&mut metadata, &mut payload, name, 0)
            .u32("Request", request)
            .u32("Length", length)
            .str8("File", if request.is_multiple_of(2) { "C:\\demo\\even.dat" } else { "C:\\demo\\odd.dat" });
        let Ok((metadata, payload)) = event.finish() else { return };
        let descriptor = EventDescriptor::new(level, keyword).with_channel(Channel::TraceLogging).with_opcode(opcode);
        let blocks = [
            Block::with_kind(TRAITS, DataKind::ProviderMetadata),
            Block::with_kind(metadata, DataKind::EventMetadata),
            Block::data(payload),
        ];
        // The status is ignored: a session without room counts the event as lost.
        engine.write(&EventWrite::new(handle, descriptor), blocks.as_slice());
    };
    write("DriverEntry", Level::Informational, CONTROL, Opcode::Info, 0, 0);
    for request in (1..=REQUESTS).take_while(|_| !ends.load(Ordering::Relaxed)) {
        let length = request * 512;
        write("Read", Level::Informational, READ, Opcode::Start, request, length);
        write("Transfer", Level::Verbose, READ, Opcode::Info, request, length / 2);
        if request.is_multiple_of(5) {
            write("ReadFailed", Level::Error, READ, Opcode::Info, request, length);
        } else if request.is_multiple_of(4) {
            write("ReadSlow", Level::Warning, READ, Opcode::Info, request, length);
        }
        write("Read", Level::Informational, READ, Opcode::Stop, request, length);
        thread::sleep(PAUSE);
    }
    write("Unload", Level::Informational, CONTROL, Opcode::Info, 0, 0);
}
