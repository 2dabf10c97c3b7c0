//! A demonstration provider in this process: a driver's day in a second.

use std::thread::{self, JoinHandle};
use std::time::Duration;

use etw_engine::{Block, Engine, EventWrite};
use etw_session::platform::local_engine;
use etw_types::tracelogging::EventBuilder;
use etw_types::{Channel, DataKind, EventDescriptor, EventInfoClass, Guid, Keyword, Level, Opcode};

/// The provider's traits: a size and its name.
const TRAITS: &[u8] = b"\x0e\x00Etwctl-Demo\x00";
const READ: Keyword = Keyword::from_bits(0x1);
const CONTROL: Keyword = Keyword::from_bits(0x2);
/// Requests that it handles, and the time between two.
const REQUESTS: u32 = 12;
const PAUSE: Duration = Duration::from_millis(40);

/// A provider that writes on a thread of its own.
#[derive(Debug)]
pub(crate) struct Demo(JoinHandle<()>);

impl Demo {
    /// The provider's id.
    pub(crate) const ID: Guid = Guid::from_name("Etwctl-Demo");

    /// Whether there is one.
    pub(crate) const IS_HERE: bool = true;

    /// Registers the provider and begins to write.
    pub(crate) fn start() -> Result<Self, String> {
        let engine = local_engine();
        let handle = engine.register(Self::ID, None, |_| {}).map_err(|status| status.to_string())?;
        engine.set_information(handle, EventInfoClass::SetTraits, TRAITS);
        Ok(Self(thread::spawn(move || {
            write_all(&engine, handle);
            engine.unregister(handle);
        })))
    }

    /// Whether it has written everything.
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

fn write_all(engine: &Engine, handle: u64) {
    let write = |name: &str, level: Level, keyword: Keyword, opcode: Opcode, request: u32, length: u32| {
        let (mut metadata, mut payload) = ([0; 128], [0; 128]);
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
        // A session that has no room counts what it lost.
        engine.write(&EventWrite::new(handle, descriptor), blocks.as_slice());
    };
    write("DriverEntry", Level::Informational, CONTROL, Opcode::Info, 0, 0);
    for request in 1..=REQUESTS {
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
