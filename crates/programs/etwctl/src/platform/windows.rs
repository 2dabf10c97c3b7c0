//! On Windows there is no demonstration provider, and the console reports interrupts.

pub(crate) use etw_session::platform::interrupted;
use etw_types::Guid;

/// The demonstration provider. Windows has none, so the type has no values.
#[derive(Debug)]
pub(crate) enum Demo {}

impl Demo {
    /// The provider's id.
    pub(crate) const ID: Guid = Guid::from_name("Etwctl-Demo");
    /// Whether this system has a demonstration provider.
    pub(crate) const IS_HERE: bool = false;

    /// Always fails.
    pub(crate) fn start(_repeats: bool) -> Result<Self, String> {
        Err("there is no demonstration provider on Windows: name a provider".to_owned())
    }

    /// Whether the provider has written all its events.
    pub(crate) const fn is_finished(&self) -> bool {
        match *self {}
    }
}
