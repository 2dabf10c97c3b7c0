//! An in-process engine instead of Windows.
//!
//! The engine knows the layouts and makes the decisions; this module only passes bytes. Its sessions live as long as
//! the engine, which for [`local`] is as long as the process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use etw_engine::{Enable, Engine, Filter, QueryError};
use etw_etl::Event;
use etw_types::session::{Properties, TraceInfoClass, Update, enable as property};
use etw_types::{ControlCode, Win32Error};

use crate::poll::{Polled, poll};
use crate::registry::RegistryKey;
use crate::system::{Control, EnableRequest, EventSource, Refusal, System, Target};

/// An engine as a [`System`].
#[derive(Clone, Debug)]
pub struct EngineSystem {
    engine: Engine,
    dir: PathBuf,
}

impl EngineSystem {
    /// Creates a system from an engine.
    #[must_use]
    pub const fn new(engine: Engine) -> Self {
        Self { engine, dir: PathBuf::new() }
    }

    /// Resolves relative file names against this folder, for a caller whose current folder is not that of this process.
    #[must_use]
    pub fn relative_to(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    /// Returns the engine.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Parses a block of properties, and resolves its file name.
    fn properties(&self, name: &str, block: &[u8]) -> Result<Properties, Win32Error> {
        // An empty block corresponds to a null pointer on Windows.
        if block.is_empty() {
            return Err(Win32Error::InvalidParameter);
        }
        let mut properties = Properties::from_block(name, block)?;
        properties.log_file = properties.log_file.map(|file| self.dir.join(file));
        Ok(properties)
    }

    fn session(&self, target: Target<'_>) -> Result<etw_engine::Session, Win32Error> {
        match target {
            Target::Handle(handle) => self.engine.session(handle),
            Target::Name(name) => self.engine.find_session(name),
        }
    }
}

/// The engine of this process.
static LOCAL: OnceLock<Engine> = OnceLock::new();

/// Returns the system of this process: an engine that no other process shares.
#[must_use]
pub fn local() -> Arc<dyn System> {
    Arc::new(EngineSystem::new(local_engine()))
}

/// Returns the engine of [`local`], for providers in this process.
#[must_use]
pub fn local_engine() -> Engine {
    LOCAL.get_or_init(Engine::new).clone()
}

/// Returns whether a terminal shows colours. Always true on these systems.
#[must_use]
pub const fn shows_colours() -> bool {
    true
}

impl System for EngineSystem {
    fn start_trace(&self, name: &str, block: &mut [u8]) -> Result<u64, Win32Error> {
        let session = self.engine.start(&self.properties(name, block)?)?;
        match session.status().status.fill_block(block) {
            // The session is running. Only the full path of its file was too long for the caller's block.
            Ok(()) | Err(Win32Error::MoreData) => Ok(session.handle()),
            Err(error) => Err(error),
        }
    }

    fn control_trace(&self, target: Target<'_>, control: Control, block: &mut [u8]) -> Result<(), Win32Error> {
        let session = self.session(target)?;
        let status = match control {
            Control::Query => session.query()?,
            Control::Stop => session.finish()?,
            Control::Flush => session.flush()?,
            Control::Update => {
                let requested = self.properties(session.name(), block)?;
                session.update(&Update::from_block(&session.query()?.status.properties, requested))?
            }
            Control::IncrementFile => session.increment_file()?,
            Control::ConvertToRealTime => session.convert_to_real_time()?,
        };
        status.status.fill_block(block)
    }

    fn query_all_traces(&self, template: &[u8]) -> Result<Vec<Vec<u8>>, Win32Error> {
        let filled = self.engine.sessions().into_iter().filter_map(|session| {
            let mut block = template.to_vec();
            // Skips a session that was stopped in the meantime.
            Some(session.query().ok()?.status.fill_block(&mut block).map(|()| block))
        });
        filled.collect()
    }

    fn enable_trace(&self, session: u64, request: &EnableRequest<'_>) -> Result<(), Win32Error> {
        if session == 0 {
            return Err(Win32Error::InvalidParameter);
        }
        let session = self.engine.session(session)?;
        let target = if request.property & property::PROVIDER_GROUP == 0 {
            etw_engine::Target::Provider(request.provider)
        } else {
            etw_engine::Target::Group(request.provider)
        };
        let enable = || -> Result<Enable, Win32Error> {
            let decode = |(kind, data): &(u32, Vec<u8>)| Filter::decode(*kind, data);
            let filters = request.filters.iter().map(decode).collect::<Result<_, _>>();
            Ok(Enable {
                level: request.level,
                any: request.any,
                all: request.all,
                property: request.property,
                source: request.source,
                filters: filters.map_err(|_| self.engine.options().answers.bad_filter)?,
                ..Enable::default()
            })
        };
        match request.control {
            ControlCode::EnableProvider => session.enable_trace(target, enable()?),
            ControlCode::DisableProvider => session.disable_trace(target),
            ControlCode::CaptureState => session.capture_trace(target, &enable()?),
            _ => Err(Win32Error::InvalidParameter),
        }
    }

    fn set_information(&self, session: u64, class: TraceInfoClass, data: &[u8]) -> Result<(), Win32Error> {
        self.engine.set_trace_information_bytes(session, class, data)
    }

    fn query_information(&self, session: u64, class: TraceInfoClass, buffer: &mut [u8]) -> Result<usize, Refusal> {
        self.engine.query_trace_information_bytes(session, class, buffer).map_err(refusal)
    }

    fn enumerate(&self, class: TraceInfoClass, input: &[u8], buffer: &mut [u8]) -> Result<usize, Refusal> {
        self.engine.enumerate_trace_guids_bytes(class, input, buffer).map_err(refusal)
    }

    fn consume(&self, name: &str) -> Result<Box<dyn EventSource>, Win32Error> {
        let session = self.engine.find_session(name)?;
        let consumer = session.consume()?;
        let clock = session.clock();
        let engine = self.engine.clone();
        let handle = session.handle();
        Ok(poll(move || {
            // A session leaves the table after its last buffer was delivered, so this must be checked first.
            let has_ended = engine.session(handle).is_err();
            match consumer.try_next_buffer() {
                Some(buffer) => {
                    let event = |record| Event::from_record(record, buffer.processor, &clock);
                    Polled::Buffer(buffer.records().filter_map(event).collect())
                }
                None if has_ended => Polled::End,
                None => Polled::Nothing,
            }
        }))
    }

    fn file_error(&self, session: u64) -> Option<String> {
        self.engine.file_error(session)
    }

    fn enable_profile_privilege(&self) -> Result<(), Win32Error> {
        if self.engine.options().rights.profile { Ok(()) } else { Err(Win32Error::PrivilegeNotHeld) }
    }

    fn description(&self) -> &'static str {
        "an ETW engine in this process"
    }

    fn caveat(&self) -> Option<&'static str> {
        Some("There is no Windows here: sessions begin and end with this process, and no other process can see them.")
    }
}

fn refusal(error: QueryError) -> Refusal {
    Refusal { code: error.code, needed: error.needed }
}

/// There is no registry without Windows.
pub(crate) const fn add_keys(_keys: &[RegistryKey]) -> Result<(), Win32Error> {
    Err(Win32Error::CallNotImplemented)
}

/// There is no registry without Windows.
pub(crate) const fn remove_key(_path: &str) -> Result<(), Win32Error> {
    Err(Win32Error::CallNotImplemented)
}

/// No provider is registered with a manifest without Windows.
pub(crate) const fn registered_providers() -> Option<Vec<u8>> {
    None
}

/// Returns the system's message for an error code. There is none on these systems.
pub(crate) const fn message(_code: u32) -> Option<String> {
    None
}
