//! `EVENT_INFO_CLASS`: what can be set on a registration.

int_newtype! {
    /// `EVENT_INFO_CLASS`: the operations of `EventSetInformation` and `EtwSetInformation`.
    EventInfoClass(u32) {
        /// Put the path of the provider's binary into the sessions that collect from it. No data.
        BinaryTrackInfo = 0,
        /// Not used.
        SetReserved1 = 1,
        /// Set the provider's traits (name, group, …) from a traits blob; also switches descriptor types on.
        SetTraits = 2,
        /// Whether ETW looks at the type of data descriptors: one byte, 0 or 1.
        UseDescriptorType = 3,
        /// The first value that is not an operation. A later SDK may move it.
        MaxEventInfo = 4,
    }
}
