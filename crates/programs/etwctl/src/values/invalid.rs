//! Why a text is not a value.

use std::{error, fmt};

use command_line::units::UnitError;

use super::{LEVELS, OPCODES, hint};

/// Why a text is not a value. The text is the user's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InvalidValue {
    Provider(String),
    Guid(String),
    Number(String),
    /// A number that is too large, and the maximum.
    TooLarge(String, u32),
    Level(String),
    Opcode(String),
    /// A text that is neither a number nor one of these names.
    Name(String, Vec<&'static str>),
    Event(String),
    EventType(String),
    Hexadecimal(String),
    Filter,
    ControlCode(String),
    Switch(String),
    /// A time after the start of a trace.
    After(humantime::DurationError),
    /// A time in UTC.
    Utc(humantime::TimestampError),
    /// A duration or a size.
    Unit(UnitError),
    FractionOfSeconds,
    LongDuration(String),
    /// A size that is not a multiple of this unit.
    FractionOf(&'static str),
    LargeSize(String),
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOMENTS: &str =
            "expected a time after the start such as +2s or +1m30s, or a time in UTC such as 2026-11-15T13:05:00.25Z";
        match self {
            Self::Provider(text) => write!(f, "'{text}' is neither a GUID nor a name"),
            Self::Guid(text) => write!(f, "'{text}' is not a GUID"),
            Self::Number(text) => write!(f, "'{text}' is not a number: expected for example 12 or 0x1f"),
            Self::TooLarge(text, most) => write!(f, "'{text}' is too large: the maximum is {most}"),
            Self::Level(text) => {
                let names = LEVELS.join(", ");
                let hint = hint(text, LEVELS.iter().copied());
                write!(f, "'{text}' is not a level: expected {names} or a number up to 255{hint}")
            }
            Self::Opcode(text) => {
                let names: Vec<&str> = OPCODES.iter().map(|(name, _)| *name).collect();
                let hint = hint(text, &names);
                let names = names.join(", ");
                write!(f, "'{text}' is not an opcode: expected {names} or a number up to 255{hint}; ")?;
                f.write_str("opcodes of a provider are part of the names of its events")
            }
            Self::Name(text, names) => {
                let hint = hint(text, names);
                write!(f, "'{text}' is neither a number nor one of {}{hint}", names.join(", "))
            }
            Self::Event(text) => write!(f, "'{text}' is not an event: expected GUID/TYPE"),
            Self::EventType(text) => write!(f, "'{text}' is not an event type: the maximum is 255"),
            Self::Hexadecimal(text) => {
                write!(f, "'{text}' is not hexadecimal: expected two digits for each byte, for example 0aff")
            }
            Self::Filter => f.write_str("expected KIND:HEX, for example 0x80000004:04000000"),
            Self::ControlCode(text) => {
                write!(f, "'{text}' is not a control code in hexadecimal, for example 22E000")
            }
            Self::Switch(text) => write!(f, "'{text}' is neither on nor off"),
            Self::After(error) => write!(f, "{error}; {MOMENTS}"),
            Self::Utc(error) => write!(f, "{error}; {MOMENTS}"),
            Self::Unit(error) => error.fmt(f),
            Self::FractionOfSeconds => f.write_str("expected whole seconds, for example 60s"),
            Self::LongDuration(text) => write!(f, "'{text}' is too long"),
            Self::FractionOf(unit) => write!(f, "expected a multiple of 1{unit}"),
            Self::LargeSize(text) => write!(f, "'{text}' is too large"),
        }
    }
}

impl error::Error for InvalidValue {}
