//! Event Tracing for Windows (ETW) for kernel drivers written in Rust.
//!
//! A driver defines a [`Provider`], registers it, and writes TraceLogging or manifest events. Every call returns a status;
//! nothing panics, allocates or locks; a disabled event costs a load, a compare and a branch and evaluates no field.
//!
//! ```
//! use wdk_etw::{define_provider, write_event};
//! # use etw_symbols as _;
//!
//! define_provider!(PROVIDER, "MyCompany.MyDriver");
//!
//! // In DriverEntry. Sound, because the unload routine unregisters when nothing writes any more.
//! let status = unsafe { PROVIDER.register() };
//! assert!(status.is_success());
//!
//! let code = 0x22_2004_u32;
//! let length = 512_u64;
//! write_event!(PROVIDER, "Ioctl", level(Informational), keyword(0x1), u32_hex("Code", &code), u64("Length", &length));
//!
//! // In the unload routine.
//! PROVIDER.unregister();
//! ```
//!
//! # Where to begin
//!
//! | to | use |
//! |---|---|
//! | define a provider; register it | [`define_provider!`]; [`Provider::register`], [`Provider::register_scoped`] |
//! | register it without `unsafe` | [`Protected`], [`Provider::register_protected`] |
//! | write an event | [`write_event!`] |
//! | skip work that only an event needs | [`Provider::enabled`] |
//! | relate the events of a request | [`start_activity!`], [`stop_activity!`], [`ActivityScope`] |
//! | join them with the client's activity | [`IrpActivity`], [`thread_activity_id`] |
//! | be told when sessions come and go, or ask for state | [`Provider::register_with_callback`], [`EnableRequest`] |
//! | write events of a manifest | the crate `etw-manifest`, or [`Provider::write`] with an [`EventDescriptor`] |
//! | write events that are known only at run time | [`tracelogging::EventBuilder`], [`Provider::write_built`] |
//! | name a provider at run time | [`ProviderBuffer`] |
//! | format text without memory of its own | [`FixedText`] |
//! | trace with `log` or `tracing` | the crates `wdk-etw-log` and `wdk-etw-tracing` |
//! | move over from `tracelogging` | [`compat`] |
//!
//! # Kernel and user mode
//!
//! [`Provider<Kernel>`](Kernel), the default, calls `Etw*` and returns [`NtStatus`]; [`Provider<User>`](User) calls
//! `Event*` and returns [`HResult`]. The mode is a type, not a Cargo feature: both can live in one build, and an image
//! imports what it calls and nothing else.
//!
//! # Names
//!
//! The macros find this crate under any name: renamed (`etw = { package = "wdk-etw", … }`), re-exported by a crate of
//! yours (`pub use wdk_etw as etw;`), and inside your own macros (`$crate::etw::write_event!(…)`).
//!
//! # Old and new Windows
//!
//! `EtwSetInformation`, which carries a provider's traits, does not exist on every Windows. A provider's
//! [`SetInformationMode`] decides whether it is imported, looked up or left alone; by default it is looked up, so the
//! driver loads everywhere. See [`Provider::set_information`].
//!
//! # Features
//!
//! - `wdk-sys`: `unicode_string` and `ansi_string` fields take that crate's `UNICODE_STRING` and `ANSI_STRING`.
#![no_std]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod activity;
mod backend;
pub mod compat;
mod event;
mod format;
mod macros;
mod provider;
mod system_activity;
#[cfg(feature = "wdk-sys")]
mod wdk_types;

pub use activity::{ActivityResult, ActivityScope};
pub use backend::kernel::Kernel;
pub use backend::protected::Protected;
pub use backend::user::User;
pub use backend::{Mode, Status};
pub use etw_types::{
    AnsiString, Channel, ControlCode, DataKind, EventDataDescriptor, EventDescriptor, EventInfoClass, Guid,
    GuidParseError, HResult, InType, Keyword, Level, NtStatus, Opcode, OutType, UnicodeString, Win32Error,
};
pub use event::manifest::WriteFlags;
pub use event::native_string::{RawAnsiString, RawUnicodeString};
pub use format::text::FixedText;
// The alias is at the re-export: rustdoc 1.95 drops those of an item that it shows elsewhere.
#[doc(alias = "TLG_HAVE_EVENT_SET_INFORMATION")]
pub use provider::SetInformationMode;
pub use provider::{EnableCallback, EnableRequest, FilterData, Provider, ProviderBuffer, Registration};
pub use system_activity::{IrpActivity, set_thread_activity_id, thread_activity_id};

/// Events that are assembled at run time; see [`Provider::write_built`].
///
/// Reading such events, provider traits and everything about sessions is in the crate `etw-types`, for tools and tests.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::tracelogging::{BuildError, EventBuilder};
///
/// let mut metadata = [0; 16];
/// let mut payload = [0; 16];
/// let event = EventBuilder::new(&mut metadata, &mut payload, "Read", 0).u32("A name that is too long", 1);
/// assert_eq!(event.finish(), Err(BuildError::MetadataFull));
/// ```
pub mod tracelogging {
    pub use etw_types::tracelogging::{BuildError, EventBuilder};
}

#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
mod readme {}
