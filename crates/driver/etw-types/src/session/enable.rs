//! `EVENT_ENABLE_PROPERTY_*`: what a session wants added to a provider's events, and which of them.

/// The SID of the writing user.
pub const SID: u32 = 0x001;
/// The terminal session of the writing process.
pub const TS_ID: u32 = 0x002;
/// The call stack.
pub const STACK_TRACE: u32 = 0x004;
/// The key of the process state manager.
pub const PSM_KEY: u32 = 0x008;
/// Leave out events without a keyword.
pub const IGNORE_KEYWORD_0: u32 = 0x010;
/// The GUID is a provider group's.
pub const PROVIDER_GROUP: u32 = 0x020;
/// Take events without a keyword.
pub const ENABLE_KEYWORD_0: u32 = 0x040;
/// A number of the process that is never used again.
pub const PROCESS_START_KEY: u32 = 0x080;
/// A number of the event.
pub const EVENT_KEY: u32 = 0x100;
/// Leave out events marked as private browsing.
pub const EXCLUDE_INPRIVATE: u32 = 0x200;
/// Take events of silos.
pub const ENABLE_SILOS: u32 = 0x400;
/// The container that an event came from.
pub const SOURCE_CONTAINER_TRACKING: u32 = 0x800;
