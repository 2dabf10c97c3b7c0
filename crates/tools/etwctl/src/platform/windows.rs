//! On Windows there are real providers, and the console tells of interrupts.

pub(crate) use etw_session::platform::interrupted;
use etw_types::Guid;

/// A demonstration provider: not here, so there is no value of this type.
#[derive(Debug)]
pub(crate) enum Demo {}

impl Demo {
    /// The provider's id.
    pub(crate) const ID: Guid = Guid::from_name("Etwctl-Demo");
    /// Whether there is one.
    pub(crate) const IS_HERE: bool = false;

    /// Not here.
    pub(crate) fn start(_repeats: bool) -> Result<Self, String> {
        Err("there is no demonstration provider on Windows: name a provider of the system".to_owned())
    }

    /// Whether it has written everything.
    pub(crate) const fn is_finished(&self) -> bool {
        match *self {}
    }
}
