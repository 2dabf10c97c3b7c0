//! `WDF_OBJECT_ATTRIBUTES` and the contexts it asks for.

use super::{Handle, status};
use crate::memory::guest;
use crate::verify::{self, Rule};

const SIZE: u32 = 56;

/// What the creator of an object asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    pub(super) cleanup: u64,
    pub(super) destroy: u64,
    pub(super) level: Level,
    pub(super) scope: Scope,
    pub(super) parent: Handle,
    pub(super) context: Option<ContextType>,
}

/// `WDF_EXECUTION_LEVEL`: at which IRQL callbacks run.
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

/// The type of a context: who it is, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContextType {
    pub(super) unique: u64,
    pub(super) size: u64,
}

impl ContextType {
    /// Reads `WDF_OBJECT_CONTEXT_TYPE_INFO`: size at 16, unique type at 24.
    pub(super) fn read(info: u64) -> Self {
        let unique: u64 = guest::read(info + 24);
        Self { unique: if unique == 0 { info } else { unique }, size: guest::read(info + 16) }
    }
}

impl Attributes {
    /// Reads attributes; NULL asks for nothing.
    pub(super) fn read(address: u64) -> Result<Self, u32> {
        if address == 0 {
            return Ok(Self::default());
        }
        let size: u32 = guest::read(address);
        if size != SIZE {
            verify::find(Rule::BadArgument, format_args!("object attributes of {size} bytes"));
            return Err(status::INFO_LENGTH_MISMATCH);
        }
        let info: u64 = guest::read(address + 48);
        let override_size: u64 = guest::read(address + 40);
        let context = (info != 0).then(|| {
            let context = ContextType::read(info);
            ContextType { size: context.size.max(override_size), ..context }
        });
        Ok(Self {
            cleanup: guest::read(address + 8),
            destroy: guest::read(address + 16),
            level: match guest::read::<u32>(address + 24) {
                2 => Level::Passive,
                3 => Level::Dispatch,
                _ => Level::Inherit,
            },
            scope: match guest::read::<u32>(address + 28) {
                2 => Scope::Device,
                3 => Scope::Queue,
                4 => Scope::None,
                _ => Scope::Inherit,
            },
            parent: guest::read(address + 32),
            context,
        })
    }
}
