//! `EVENT_DESCRIPTOR`: the fixed attributes of an event.

use core::mem::{align_of, offset_of, size_of};

use crate::{Channel, Keyword, Level, Opcode};

/// `EVENT_DESCRIPTOR`, the structure that `EtwWrite` and related functions take.
///
/// ```
/// use etw_types::{Channel, EventDescriptor, Keyword, Level, Opcode};
///
/// const STARTED: EventDescriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(0x2))
///     .with_id_version(100, 1)
///     .with_channel(Channel::TraceClassic)
///     .with_opcode(Opcode::Start);
/// assert_eq!(STARTED.id, 100);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EventDescriptor {
    /// Identifier within the provider. 0 means that the event is identified by its name.
    pub id: u16,
    /// Version of the event with this id.
    pub version: u8,
    /// Channel.
    pub channel: Channel,
    /// Severity.
    pub level: Level,
    /// Meaning within an activity.
    pub opcode: Opcode,
    /// Task: a group of events, defined by the provider.
    pub task: u16,
    /// Keyword: the categories of the event.
    pub keyword: Keyword,
}

impl EventDescriptor {
    /// Creates the descriptor of a TraceLogging event: channel 11, and 0 for everything that is not a parameter.
    #[must_use]
    pub const fn new(level: Level, keyword: Keyword) -> Self {
        Self { id: 0, version: 0, channel: Channel::TraceLogging, level, opcode: Opcode::Info, task: 0, keyword }
    }

    /// Sets the id and the version.
    #[must_use]
    pub const fn with_id_version(mut self, id: u16, version: u8) -> Self {
        self.id = id;
        self.version = version;
        self
    }

    /// Sets the channel.
    #[must_use]
    pub const fn with_channel(mut self, channel: Channel) -> Self {
        self.channel = channel;
        self
    }

    /// Sets the opcode.
    #[must_use]
    pub const fn with_opcode(mut self, opcode: Opcode) -> Self {
        self.opcode = opcode;
        self
    }

    /// Sets the task.
    #[must_use]
    pub const fn with_task(mut self, task: u16) -> Self {
        self.task = task;
        self
    }
}

const _: () = {
    assert!(size_of::<EventDescriptor>() == 16);
    assert!(align_of::<EventDescriptor>() == 8);
    assert!(offset_of!(EventDescriptor, version) == 2);
    assert!(offset_of!(EventDescriptor, channel) == 3);
    assert!(offset_of!(EventDescriptor, level) == 4);
    assert!(offset_of!(EventDescriptor, opcode) == 5);
    assert!(offset_of!(EventDescriptor, task) == 6);
    assert!(offset_of!(EventDescriptor, keyword) == 8);
};

#[cfg(test)]
mod tests {
    use super::EventDescriptor;
    use crate::{Channel, Keyword, Level, Opcode};

    #[test]
    fn a_setter_changes_its_part_and_keeps_the_others() {
        let descriptor = EventDescriptor::new(Level::Warning, Keyword::from_bits(6));
        assert_eq!(descriptor.channel, Channel::TraceLogging);
        let classic = descriptor.with_channel(Channel::TraceClassic).with_id_version(3, 4).with_task(5);
        let expected = EventDescriptor {
            id: 3,
            version: 4,
            channel: Channel::TraceClassic,
            level: Level::Warning,
            opcode: Opcode::Start,
            task: 5,
            keyword: Keyword::from_bits(6),
        };
        assert_eq!(classic.with_opcode(Opcode::Start), expected);
    }
}
