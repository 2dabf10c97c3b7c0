//! The kinds of events.

/// What kind of event a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An event that contains its schema.
    TraceLogging,
    /// An event whose schema is in a manifest, or an event that is a single string.
    Manifest,
    /// A classic event whose schema is a MOF class.
    Mof,
    /// A WPP message.
    Wpp,
    /// An event of the kernel or of the session itself, or a record of an unknown type.
    System,
}

impl Kind {
    /// Returns the name of the kind in exports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TraceLogging => "tracelogging",
            Self::Manifest => "manifest",
            Self::Mof => "mof",
            Self::Wpp => "wpp",
            Self::System => "system",
        }
    }
}
