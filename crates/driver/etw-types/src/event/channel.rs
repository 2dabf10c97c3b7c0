//! The channel of an event.

int_newtype! {
    /// The channel of an event. Values of 16 and above are defined in a manifest.
    Channel(u8) {
        /// No channel: manifest-style and classic events.
        TraceClassic = 0,
        /// Self-describing TraceLogging events. Unless descriptor types are enabled, decoders recognise TraceLogging
        /// events by this value.
        TraceLogging = 11,
        /// Metadata of a provider.
        ProviderMetadata = 12,
    }
}
