//! `WDF_OBJECT_ATTRIBUTES` and the context types in it.

use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::Outcome;

use super::{Handle, structures};

/// The attributes of a new object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    pub(super) cleanup: GuestPtr<Code>,
    pub(super) destroy: GuestPtr<Code>,
    pub(super) level: Level,
    pub(super) scope: Scope,
    pub(super) parent: Handle,
    pub(super) context: Option<ContextType>,
}

/// `WDF_EXECUTION_LEVEL`: the maximum IRQL of callbacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Level {
    #[default]
    Inherit,
    Passive,
    Dispatch,
}

/// `WDF_SYNCHRONIZATION_SCOPE`: which callbacks run one at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    #[default]
    Inherit,
    Device,
    Queue,
    None,
}

/// The type of a context: its identity and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContextType {
    pub(super) unique: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>,
    pub(super) size: u64,
}

impl ContextType {
    pub(super) fn read(info: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>) -> Result<Self, Fault> {
        let unique = info.UniqueType().read()?.non_null().unwrap_or(info);
        Ok(Self { unique, size: info.ContextSize().read()? })
    }
}

impl Attributes {
    /// Reads attributes. NULL means default attributes.
    pub(super) fn read(place: GuestPtr<WDF_OBJECT_ATTRIBUTES>) -> Outcome<Self> {
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
