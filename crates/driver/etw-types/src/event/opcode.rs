//! What an event means within an activity.

int_newtype! {
    /// Special meaning of an event, such as the start of an activity. 10 to 239 are the provider's own.
    Opcode(u8) {
        /// No special meaning.
        Info = 0,
        /// An activity starts: the event's activity id is new, its related id is the parent.
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
        /// An activity goes on after a suspension.
        Resume = 7,
        /// An activity is suspended.
        Suspend = 8,
        /// Work is handed to another component.
        Send = 9,
        /// Work arrives from another component.
        Receive = 240,
    }
}

#[expect(non_upper_case_globals, reason = "the constants stand for enumeration members")]
impl Opcode {
    /// Another name of [`Opcode::Start`].
    pub const ActivityStart: Self = Self::Start;
    /// Another name of [`Opcode::Stop`].
    pub const ActivityStop: Self = Self::Stop;
    /// Another name of [`Opcode::DC_Start`].
    pub const CollectionStart: Self = Self::DC_Start;
    /// Another name of [`Opcode::DC_Stop`].
    pub const CollectionStop: Self = Self::DC_Stop;
}
