//! An event's severity.

int_newtype! {
    /// The severity of an event, or the most verbose severity that a session requests.
    ///
    /// Smaller is more severe. Values above 5 are defined by the provider. As the level of a *session*, 0 means "every
    /// level": see `wdk_etw::Provider::enabled`.
    Level(u8) {
        /// Not filtered by level. As a session's level: every level.
        LogAlways = 0,
        /// An abnormal end.
        Critical = 1,
        /// A severe error.
        Error = 2,
        /// A warning, such as a failed allocation that was handled.
        Warning = 3,
        /// A notable event that is not an error.
        Informational = 4,
        /// Detailed diagnostic information. The default level of events.
        Verbose = 5,
    }
}
