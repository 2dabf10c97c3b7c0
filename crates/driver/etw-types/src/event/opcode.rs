//! The meaning of an event within an activity.

int_newtype! {
    /// The special meaning of an event, such as the start of an activity. 10 to 239 are defined by the provider.
    Opcode(u8) {
        /// No special meaning.
        Info = 0,
        /// An activity starts. The event's activity id is new; its related id is the parent activity.
        Start = 1,
        /// The activity ends.
        Stop = 2,
        /// A collection (rundown) starts.
        DC_Start = 3,
        /// A collection (rundown) ends.
        DC_Stop = 4,
        /// An extension of another event.
        Extension = 5,
        /// A reply to a request.
        Reply = 6,
        /// A suspended activity resumes.
        Resume = 7,
        /// An activity is suspended.
        Suspend = 8,
        /// Work is passed to another component.
        Send = 9,
        /// Work is received from another component.
        Receive = 240,
    }
}

#[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
impl Opcode {
    /// Alias of [`Opcode::Start`].
    pub const ActivityStart: Self = Self::Start;
    /// Alias of [`Opcode::Stop`].
    pub const ActivityStop: Self = Self::Stop;
    /// Alias of [`Opcode::DC_Start`].
    pub const CollectionStart: Self = Self::DC_Start;
    /// Alias of [`Opcode::DC_Stop`].
    pub const CollectionStop: Self = Self::DC_Stop;
}
