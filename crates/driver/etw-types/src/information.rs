//! `EVENT_INFO_CLASS`: what can be set on a registration.

int_newtype! {
    /// `EVENT_INFO_CLASS`: the operations of `EventSetInformation` and `EtwSetInformation`.
    EventInfoClass(u32) {
        /// Record the path of the provider's binary in the sessions that collect its events. Takes no data.
        #[doc(alias = "EventProviderBinaryTrackInfo")]
        BinaryTrackInfo = 0,
        /// Not used.
        #[doc(alias = "EventProviderSetReserved1")]
        SetReserved1 = 1,
        /// Set the provider's traits (name, group, …) from a traits blob. Also enables descriptor types.
        #[doc(alias = "EventProviderSetTraits")]
        SetTraits = 2,
        /// Set whether ETW reads the type of data descriptors. The data is one byte, 0 or 1.
        #[doc(alias = "EventProviderUseDescriptorType")]
        UseDescriptorType = 3,
        /// The first value that is not an operation. It may be higher in a later SDK.
        MaxEventInfo = 4,
    }
}
