//! How values are written on a command line, and how they are shown.

use std::string::{String, ToString};
use std::vec::Vec;

use crate::Guid;
use crate::session::{ClassicEventId, Limit};

/// The words of a command line that make a value. The functions return the data for `TraceSetInformation`.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// Events of the system providers: `GUID/TYPE`.
    Events(fn(Vec<ClassicEventId>) -> Result<Vec<u8>, Limit>),
    /// Numbers.
    Numbers(fn(Vec<u32>) -> Result<Vec<u8>, Limit>),
    /// Providers: their GUIDs or names.
    Providers(fn(Vec<Guid>) -> Result<Vec<u8>, Limit>),
    /// Bits or groups of them: their names, or numbers.
    Names(&'static str, &'static [(&'static str, u32)], fn(Vec<u32>) -> Result<Vec<u8>, Limit>),
    /// One switch: on or off.
    Switch(fn(bool) -> Vec<u8>),
    /// Two numbers with an equal sign between them.
    Pair(&'static str, fn(u32, u32) -> Vec<u8>),
    /// What this says. The limits of the value depend on the machine, so the program makes it.
    OfProgram(&'static str),
}

impl Words {
    /// Describes the words, for the help of a command.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Events(_) => "GUID/TYPE of kernel events",
            Self::Numbers(_) => "numbers",
            Self::Providers(_) => "providers",
            Self::Switch(_) => "on or off",
            Self::Names(help, ..) | Self::Pair(help, _) | Self::OfProgram(help) => help,
        }
    }
}

/// A member of a value that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// There is none.
    Missing,
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
    /// A list of cells.
    List(Vec<Cell>),
    /// A record.
    Record(Record),
}

/// Named cells.
pub type Record = Vec<(&'static str, Cell)>;

/// A value that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// One record.
    Record(Record),
    /// A list of records with the same names.
    List {
        /// The names.
        columns: &'static [&'static str],
        /// The cells of each record.
        rows: Vec<Vec<Cell>>,
    },
}

impl View {
    /// Shows one number.
    pub(super) fn number(number: u32) -> Self {
        Self::Record(std::vec![("value", number.into())])
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u16> for Cell {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<u8> for Cell {
    fn from(number: u8) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Guid> for Cell {
    fn from(guid: Guid) -> Self {
        Self::Text(guid.to_string())
    }
}

impl From<bool> for Cell {
    fn from(is_on: bool) -> Self {
        if is_on { "on" } else { "off" }.into()
    }
}

impl<T: Into<Cell>> FromIterator<T> for Cell {
    fn from_iter<I: IntoIterator<Item = T>>(cells: I) -> Self {
        Self::List(cells.into_iter().map(Into::into).collect())
    }
}

/// An element of a list, as a row.
pub(super) trait ListElement: Sized {
    const COLUMNS: &'static [&'static str];
    const EXAMPLE: Self;
    fn cells(&self) -> Vec<Cell>;
}

impl ListElement for Guid {
    const COLUMNS: &'static [&'static str] = &["guid"];
    const EXAMPLE: Self = Self::from_name("Example");

    fn cells(&self) -> Vec<Cell> {
        std::vec![(*self).into()]
    }
}

impl ListElement for u32 {
    const COLUMNS: &'static [&'static str] = &["value"];
    const EXAMPLE: Self = 0;

    fn cells(&self) -> Vec<Cell> {
        std::vec![(*self).into()]
    }
}

impl ListElement for ClassicEventId {
    const COLUMNS: &'static [&'static str] = &["class", "type"];
    const EXAMPLE: Self = Self { guid: Guid::EXAMPLE, event_type: 36, reserved: [0; 7] };

    fn cells(&self) -> Vec<Cell> {
        std::vec![self.guid.into(), self.event_type.into()]
    }
}

/// Shows a list.
pub(super) fn list<T: ListElement>(list: &[T]) -> View {
    View::List { columns: T::COLUMNS, rows: list.iter().map(T::cells).collect() }
}
