//! The numbers of a provider's parts, as Microsoft's message compiler assigns them.
//!
//! The rules were derived from a resource that the compiler wrote and from the headers that it generates. A channel without a
//! value is assigned one from 16 upwards. Each channel also gets a bit of the keyword, from the highest downwards. The number of
//! a message says what it belongs to.

use super::{Channel, Event, Provider};

/// What Windows itself declares in `winmeta.xml`: name, number, text.
pub(crate) type Standard<T> = (&'static str, T, &'static str);

pub(crate) const LEVELS: [Standard<u8>; 6] = [
    ("win:LogAlways", 0, "LogAlways"),
    ("win:Critical", 1, "Critical"),
    ("win:Error", 2, "Error"),
    ("win:Warning", 3, "Warning"),
    ("win:Informational", 4, "Information"),
    ("win:Verbose", 5, "Verbose"),
];

pub(crate) const OPCODES: [Standard<u8>; 11] = [
    ("win:Info", 0, "Info"),
    ("win:Start", 1, "Start"),
    ("win:Stop", 2, "Stop"),
    ("win:DC_Start", 3, "DCStart"),
    ("win:DC_Stop", 4, "DCStop"),
    ("win:Extension", 5, "Extension"),
    ("win:Reply", 6, "Reply"),
    ("win:Resume", 7, "Resume"),
    ("win:Suspend", 8, "Suspend"),
    ("win:Send", 9, "Send"),
    ("win:Receive", 240, "Receive"),
];

pub(crate) const KEYWORDS: [Standard<u64>; 7] = [
    ("win:ResponseTime", 1 << 48, "Response Time"),
    ("win:WDIContext", 1 << 49, "WDI Context"),
    ("win:WDIDiag", 1 << 50, "WDI Diag"),
    ("win:SQM", 1 << 51, "SQM"),
    ("win:AuditFailure", 1 << 52, "Audit Failure"),
    ("win:AuditSuccess", 1 << 53, "Audit Success"),
    ("win:EventlogClassic", 1 << 55, "Classic"),
];

/// Channels that exist without being declared.
const CHANNELS: [(&str, u8); 3] = [("System", 8), ("Application", 9), ("Security", 10)];

/// The first value for channels that a provider declares.
const FIRST_CHANNEL: u8 = 16;

/// The numbers in the descriptor of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The channel; 0 if the event has none.
    pub channel: u8,
    /// The level; 0 if the event has none.
    pub level: u8,
    /// The opcode; 0 if the event has none.
    pub opcode: u8,
    /// The task; 0 if the event has none.
    pub task: u16,
    /// The keywords combined with the bit of the channel.
    pub keyword: u64,
}

/// Looks up the number of a name in a table.
pub(crate) fn standard<T: Copy>(table: &[Standard<T>], name: &str) -> Option<T> {
    table.iter().find(|(known, ..)| *known == name).map(|(_, value, _)| *value)
}

impl Provider {
    /// Returns the values of the channels, in their order.
    #[must_use]
    pub fn channel_values(&self) -> Vec<u8> {
        let given: Vec<u8> = self.channels.iter().filter_map(|channel| channel.value).collect();
        let mut next = (FIRST_CHANNEL..=u8::MAX).filter(|value| !given.contains(value));
        let known =
            |channel: &Channel| CHANNELS.iter().find(|(name, _)| *name == channel.name).map(|(_, value)| *value);
        let value =
            |channel: &Channel| channel.value.or_else(|| known(channel)).or_else(|| next.next()).unwrap_or(u8::MAX);
        self.channels.iter().map(value).collect()
    }

    /// Returns the numbers of one of the provider's events. A name that is not declared counts as 0.
    #[must_use]
    pub fn numbers(&self, event: &Event) -> Numbers {
        let channel = self.channels.iter().position(|channel| channel.id == event.channel);
        let values = self.channel_values();
        let bit =
            channel.and_then(|place| u32::try_from(place).ok()).and_then(|place| (1_u64 << 63).checked_shr(place));
        let keywords = event.keywords.iter().filter_map(|name| self.keyword_mask(name));
        Numbers {
            channel: channel.and_then(|place| values.get(place).copied()).unwrap_or_default(),
            level: self.level_value(&event.level).unwrap_or_default(),
            opcode: self.opcode_value(&event.opcode, &event.task).unwrap_or_default(),
            task: self.task_value(&event.task).unwrap_or_default(),
            keyword: keywords.fold(bit.unwrap_or_default(), |mask, keyword| mask | keyword),
        }
    }

    /// Returns the number of a level.
    #[must_use]
    pub fn level_value(&self, name: &str) -> Option<u8> {
        let own = self.levels.iter().find(|level| level.name == name).map(|level| level.value);
        own.or_else(|| standard(&LEVELS, name))
    }

    /// Returns the number of a task.
    #[must_use]
    pub fn task_value(&self, name: &str) -> Option<u16> {
        let own = self.tasks.iter().find(|task| task.name == name).map(|task| task.value);
        own.or_else(|| (name == "win:None").then_some(0))
    }

    /// Returns the number of an opcode. The opcodes of the task take precedence over those of the provider.
    #[must_use]
    pub fn opcode_value(&self, name: &str, task: &str) -> Option<u8> {
        let find = |of: Option<&str>| {
            self.opcodes.iter().find(|opcode| opcode.name == name && opcode.task.as_deref() == of).map(|own| own.value)
        };
        find(Some(task)).or_else(|| find(None)).or_else(|| standard(&OPCODES, name))
    }

    /// Returns the mask of a keyword.
    #[must_use]
    pub fn keyword_mask(&self, name: &str) -> Option<u64> {
        let own = self.keywords.iter().find(|keyword| keyword.name == name).map(|keyword| keyword.value);
        own.or_else(|| standard(&KEYWORDS, name))
    }
}

/// Numbers of messages. The most significant hexadecimal digit says what a message belongs to; the next digit is the place of the
/// provider in the file. The lower 24 bits, which this module computes, are unique among the parts of one kind.
pub(crate) mod message {
    /// The kinds.
    pub(crate) const KEYWORD: u32 = 0x1000_0000;
    pub(crate) const OPCODE: u32 = 0x3000_0000;
    pub(crate) const LEVEL: u32 = 0x5000_0000;
    pub(crate) const TASK: u32 = 0x7000_0000;
    pub(crate) const PROVIDER: u32 = 0x9000_0000;
    pub(crate) const EVENT: u32 = 0xB000_0000;
    pub(crate) const VALUE_MAP: u32 = 0xD000_0000;
    pub(crate) const BIT_MAP: u32 = 0xF000_0000;

    /// The number of a message. `provider` is the place of its provider.
    pub(crate) const fn number(kind: u32, provider: u32, part: u32) -> u32 {
        kind | (provider & 0xF) << 24 | part & 0xFF_FFFF
    }

    /// The position of the bit, counted from 1.
    pub(crate) const fn keyword(mask: u64) -> u32 {
        mask.trailing_zeros() + 1
    }

    pub(crate) const fn opcode(task: u16, value: u8) -> u32 {
        (task as u32) << 16 | value as u32
    }

    /// Filters share the kind of levels.
    pub(crate) const fn filter(value: u8, version: u8) -> u32 {
        0x80_0000 | (version as u32) << 8 | value as u32
    }

    pub(crate) const fn event(id: u16, version: u8) -> u32 {
        (version as u32) << 16 | id as u32
    }
}
