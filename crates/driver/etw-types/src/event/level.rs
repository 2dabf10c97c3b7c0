//! An event's severity.

int_newtype! {
    /// Severity of an event, and the most verbose severity that a session asks for.
    ///
    /// Smaller is more severe. Values above 5 are the provider's own. In a *session's* request, 0 stands for "every
    /// level": see `wdk_etw::Provider::enabled`.
    Level(u8) {
        /// Not filtered by level; as a session's level: everything.
        LogAlways = 0,
        /// An abnormal end.
        Critical = 1,
        /// A severe error.
        Error = 2,
        /// A warning, such as a failed allocation that was handled.
        Warning = 3,
        /// Notable, and not an error.
        Informational = 4,
        /// Detail for a diagnosis; the default of events.
        Verbose = 5,
    }
}
