//! Where an event is addressed to.

int_newtype! {
    /// The channel of an event. 16 and above come from a manifest.
    Channel(u8) {
        /// No channel: manifest-style and classic events.
        TraceClassic = 0,
        /// Self-describing TraceLogging events. Where descriptor types are not switched on, this value is what tells a
        /// decoder that the event carries its own metadata.
        TraceLogging = 11,
        /// Metadata of a provider.
        ProviderMetadata = 12,
    }
}
