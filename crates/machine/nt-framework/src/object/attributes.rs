//! `WDF_OBJECT_ATTRIBUTES` and the context types in it.

use etw_types::NtStatus;
use nt_processor::layout::{WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::{Outcome, fail};
use nt_verifier::verify::{self, Rule};

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

/// What the attributes of a kind of object may specify: the flags of `FxValidateObjectAttributes`
/// (`shared/object/fxvalidatefunctions.cpp`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) parent: Parent,
    pub(crate) level: bool,
    pub(crate) scope: bool,
}

/// Whether attributes may or must name a parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Parent {
    #[default]
    Optional,
    Required,
    NotAllowed,
}

impl Options {
    /// The framework chooses the parent.
    pub(crate) const WITHOUT_PARENT: Self = Self { parent: Parent::NotAllowed, level: false, scope: false };
    /// The callbacks of the object have constraints, and the framework chooses the parent.
    pub(crate) const CONSTRAINTS: Self = Self { parent: Parent::NotAllowed, level: true, scope: true };
}

impl ContextType {
    pub(crate) fn read(info: GuestPtr<WDF_OBJECT_CONTEXT_TYPE_INFO>) -> Result<Self, Fault> {
        let unique = info.UniqueType().read()?.non_null().unwrap_or(info);
        Ok(Self { unique, size: info.ContextSize().read()? })
    }
}

/// A reason why the framework refuses attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refusal {
    status: NtStatus,
    what: &'static str,
}

/// Reports attributes that the framework refuses.
fn refuse<T>(refusal: Refusal) -> Outcome<T> {
    verify::find(Rule::BadArgument, format_args!("WDF_OBJECT_ATTRIBUTES: {}", refusal.what));
    fail(refusal.status)
}

/// The context that attributes describe.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    has_type: bool,
    has_name: bool,
    size: u64,
}

/// Returns the first reason to refuse attributes, in the order of `FxValidateObjectAttributes`.
fn refusal(given: &WDF_OBJECT_ATTRIBUTES, context: Context, options: Options) -> Option<Refusal> {
    let has_parent = given.ParentObject != 0;
    let level = given.ExecutionLevel;
    let scope = given.SynchronizationScope;
    let over = given.ContextSizeOverride;
    let invalid = NtStatus::WdfObjectAttributesInvalid;
    let rules = [
        (context.size > 0 && !context.has_name, invalid, "ContextSize is set, but ContextName is NULL"),
        (over > 0 && !context.has_type, invalid, "ContextSizeOverride is set, but ContextTypeInfo is NULL"),
        (over > 0 && over < context.size, invalid, "ContextSizeOverride is below the size of the context type"),
        (
            has_parent && options.parent == Parent::NotAllowed,
            NtStatus::WdfParentAssignmentNotAllowed,
            "ParentObject is set, but the framework chooses the parent of such an object",
        ),
        (!has_parent && options.parent == Parent::Required, NtStatus::WdfParentNotSpecified, "ParentObject is not set"),
        (!(1..=3).contains(&level), invalid, "ExecutionLevel is not a WDF_EXECUTION_LEVEL"),
        (!(1..=4).contains(&scope), invalid, "SynchronizationScope is not a WDF_SYNCHRONIZATION_SCOPE"),
        (
            !options.scope && (2..=3).contains(&scope),
            NtStatus::WdfSynchronizationScopeInvalid,
            "SynchronizationScope is set for an object that has none",
        ),
        (
            !options.level && level != 1,
            NtStatus::WdfExecutionLevelInvalid,
            "ExecutionLevel is set for an object that has none",
        ),
    ];
    rules.into_iter().find(|(is_broken, ..)| *is_broken).map(|(_, status, what)| Refusal { status, what })
}

impl Attributes {
    /// Reads and checks attributes. NULL means default attributes.
    pub(crate) fn read(place: GuestPtr<WDF_OBJECT_ATTRIBUTES>, options: Options) -> Outcome<Self> {
        if place.is_null() {
            let what = "the attributes are NULL, but the object needs a parent";
            return match options.parent {
                Parent::Required => refuse(Refusal { status: NtStatus::WdfParentNotSpecified, what }),
                Parent::Optional | Parent::NotAllowed => Ok(Self::default()),
            };
        }
        structures::OBJECT_ATTRIBUTES.check(place)?;
        let given = place.read()?;
        let info = given.ContextTypeInfo.non_null();
        let described = match info {
            Some(info) => {
                structures::OBJECT_CONTEXT_TYPE_INFO.check(info)?;
                Context {
                    has_type: true,
                    has_name: !info.ContextName().read()?.is_null(),
                    size: info.ContextSize().read()?,
                }
            }
            None => Context::default(),
        };
        if let Some(refusal) = refusal(&given, described, options) {
            return refuse(refusal);
        }
        let context = info.map(ContextType::read).transpose()?;
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
