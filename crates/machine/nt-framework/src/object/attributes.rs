//! `WDF_OBJECT_ATTRIBUTES` and the context types in it.

use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::Outcome;

use crate::{Handle, structures};

/// The attributes of a new object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) cleanup: GuestPtr<Code>,
    pub(crate) destroy: GuestPtr<Code>,
    pub(crate) level: Level,
    pub(crate) scope: Scope,
    pub(crate) parent: Handle,
    pub(crate) context: Option<ContextType>,
}

/// `WDF_EXECUTION_LEVEL`: the maximum IRQL of callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    #[default]
    Inherit,
    Passive,
    Dispatch,
}

/// `WDF_SYNCHRONIZATION_SCOPE`: which callbacks run one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Inherit,
    Device,
    Queue,
    None,
}

/// The type of a context: its identity and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextType {
    pub(crate) unique: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>,
    pub(crate) size: u64,
}

impl ContextType {
    pub(crate) fn read(info: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>) -> Result<Self, Fault> {
        let unique = info.UniqueType().read()?.non_null().unwrap_or(info);
        Ok(Self { unique, size: info.ContextSize().read()? })
    }
}

impl Attributes {
    /// Reads attributes. NULL means default attributes.
    pub(crate) fn read(place: GuestPtr<WDF_OBJECT_ATTRIBUTES>) -> Outcome<Self> {
        if place.is_null() {
            return Ok(Self::default());
        }
        structures::OBJECT_ATTRIBUTES.check(place)?;
        let given = place.read()?;
        let context = given.ContextTypeInfo.non_null().map(ContextType::read).transpose()?;
        Ok(Self {
            cleanup: given.EvtCleanupCallback,
            destroy: given.EvtDestroyCallback,
            level: match given.ExecutionLevel {
                2 => Level::Passive,
                3 => Level::Dispatch,
                _ => Level::Inherit,
            },
            scope: match given.SynchronizationScope {
                2 => Scope::Device,
                3 => Scope::Queue,
                4 => Scope::None,
                _ => Scope::Inherit,
            },
            parent: Handle::new(given.ParentObject),
            context: context
                .map(|context| ContextType { size: context.size.max(given.ContextSizeOverride), ..context }),
        })
    }
}
