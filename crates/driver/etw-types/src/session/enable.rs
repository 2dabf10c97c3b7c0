//! `EVENT_ENABLE_PROPERTY_*`: the extra data that a session requests with a provider's events, and options that select
//! events.

/// The SID of the user who writes the event.
pub const SID: u32 = 0x001;
/// The terminal session id of the process that writes the event.
pub const TS_ID: u32 = 0x002;
/// The call stack.
pub const STACK_TRACE: u32 = 0x004;
/// The key of the process state manager.
pub const PSM_KEY: u32 = 0x008;
/// Excludes events whose keyword is 0.
pub const IGNORE_KEYWORD_0: u32 = 0x010;
/// The GUID is that of a provider group.
pub const PROVIDER_GROUP: u32 = 0x020;
/// Includes events whose keyword is 0.
pub const ENABLE_KEYWORD_0: u32 = 0x040;
/// A key of the process that is never reused.
pub const PROCESS_START_KEY: u32 = 0x080;
/// A unique key of the event.
pub const EVENT_KEY: u32 = 0x100;
/// Excludes events that are marked as private browsing.
pub const EXCLUDE_INPRIVATE: u32 = 0x200;
/// Includes events of silos.
pub const ENABLE_SILOS: u32 = 0x400;
/// The container in which the event was written.
pub const SOURCE_CONTAINER_TRACKING: u32 = 0x800;
