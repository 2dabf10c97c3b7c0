//! The facts about every class, as values: for implementations, for tools, for the documentation, and for code that
//! chooses a class at run time.

use std::string::String;
use std::vec::Vec;

use super::windows::{WIN8, Windows};
use super::{
    Enumerable, EnumerationInput, Information, Malformed, Privilege, QueryInput, Queryable, Scope, Settable, View,
    Words,
};
use crate::session::{Limit, TraceInfoClass};

/// The handle that a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// None. The class belongs to `EnumerateTraceGuidsEx`, which takes no handle.
    None,
    /// Zero.
    Zero,
    /// Any value. It is ignored.
    Unused,
    /// The handle of a session.
    Session,
    /// The handle of a session that collects events of the system providers.
    SystemSession,
}

/// The lengths of the data of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The minimum length.
    pub least: usize,
    /// Longer data adds multiples of this; 0 if the length is fixed.
    pub step: usize,
    /// Whether no data is also accepted; it clears the value.
    pub may_be_empty: bool,
}

impl Length {
    pub(super) const fn exactly(least: usize) -> Self {
        Self { least, step: 0, may_be_empty: false }
    }

    /// `least` bytes, followed by any number of elements of `step` bytes.
    pub(super) const fn list(least: usize, step: usize) -> Self {
        Self { least, step, may_be_empty: least == 0 }
    }

    /// No data is also accepted; it clears the value.
    pub(super) const fn or_empty(self) -> Self {
        Self { may_be_empty: true, ..self }
    }

    /// Returns the length, if all data of the class has the same.
    #[must_use]
    pub const fn fixed(&self) -> Option<usize> {
        if self.step == 0 { Some(self.least) } else { None }
    }

    /// Returns whether data may have this length.
    #[must_use]
    pub const fn takes(&self, length: usize) -> bool {
        if length == 0 && self.may_be_empty {
            return true;
        }
        match length.checked_sub(self.least) {
            Some(more) if self.step == 0 => more == 0,
            Some(more) => more.is_multiple_of(self.step),
            None => false,
        }
    }
}

/// Why data cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not have the layout of its class.
    Malformed(Malformed),
    /// It exceeds a limit.
    Limit(Limit),
}

/// How `TraceSetInformation` accepts a class.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The lengths of the data.
    pub length: Length,
    /// Whether the profile privilege is needed.
    pub privilege: Privilege,
    /// The words of a command line that make the data.
    pub words: Words,
    /// Checks data, and returns it in the form of a result.
    pub accept: fn(&[u8]) -> Result<Vec<u8>, Refused>,
}

/// How `TraceQueryInformation` accepts a class.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// The length of a result, if it is fixed.
    pub length: Option<usize>,
    /// Whether the buffer contains an input: a number.
    pub takes_number: bool,
    /// Returns the initial buffer with this input. It is ignored if the class takes none.
    pub buffer: fn(u32) -> Vec<u8>,
}

/// How `EnumerateTraceGuidsEx` accepts a class.
#[derive(Clone, Copy, Debug)]
pub struct Enumeration {
    /// Whether the input is a GUID. Otherwise there is none.
    pub takes_guid: bool,
}

pub(in crate::session) const fn set<T: Settable>() -> Setting {
    Setting {
        length: T::SET_LENGTH,
        privilege: T::PRIVILEGE,
        words: T::WORDS,
        accept: |data| {
            let value = T::decode_set(data).map_err(Refused::Malformed)?;
            value.check().map_err(Refused::Limit)?;
            Ok(value.encode())
        },
    }
}

pub(in crate::session) const fn query<T: Queryable>() -> Query {
    Query {
        length: T::LENGTH.fixed(),
        takes_number: T::Input::IS_NEEDED,
        buffer: |number| T::buffer(&T::Input::from_number(number)),
    }
}

pub(in crate::session) const fn enumerate<T: Enumerable>() -> Enumeration {
    Enumeration { takes_guid: T::Input::IS_NEEDED }
}

/// The facts about a class.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The class.
    pub class: TraceInfoClass,
    /// Its C name.
    pub c_name: &'static str,
    /// The name of its type in this module.
    pub type_name: &'static str,
    /// What the class is for.
    pub purpose: &'static str,
    /// The layout of its data.
    pub layout: &'static str,
    /// The handle that it takes.
    pub handle: HandleKind,
    /// The first version of Windows that has it.
    pub since: Windows,
    /// How it is set, if it can be.
    pub set: Option<Setting>,
    /// How it is queried, if it can be.
    pub query: Option<Query>,
    /// How it is enumerated, if it can be.
    pub enumerate: Option<Enumeration>,
    /// The limit, in words.
    pub limit: &'static str,
    /// What else to know.
    pub note: &'static str,
    /// Decodes a result and shows it.
    pub view: fn(&[u8]) -> Result<View, Malformed>,
    /// Decodes a result and encodes it again.
    pub recode: fn(&[u8]) -> Result<Vec<u8>, Malformed>,
    /// Returns valid data.
    pub examples: fn() -> Vec<Vec<u8>>,
}

/// Facts are equal if they are about the same class.
impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class
    }
}

impl Eq for Facts {}

impl Facts {
    /// The facts that follow from the type, and those that every declaration has.
    pub(in crate::session) const fn new<T: Information>(
        class: TraceInfoClass,
        [c_name, type_name]: [&'static str; 2],
        handle: HandleKind,
        since: Windows,
        purpose: &'static str,
    ) -> Self {
        assert!(T::CLASS.as_int() == class.as_int(), "the type is that of another class");
        let is_of_session = matches!(handle, HandleKind::Session | HandleKind::SystemSession);
        assert!(is_of_session == T::Scope::IS_SESSION, "the type belongs to the wrong scope");
        Self {
            class,
            c_name,
            type_name,
            purpose,
            layout: "",
            handle,
            since,
            set: None,
            query: None,
            enumerate: None,
            limit: "",
            note: "",
            view: |data| T::decode(data).map(|value| value.view()),
            recode: |data| T::decode(data).map(|value| value.encode()),
            examples: || T::examples().iter().map(T::encode).collect(),
        }
    }

    /// Whether no function accepts the class.
    #[must_use]
    pub const fn is_reserved(&self) -> bool {
        self.set.is_none() && self.query.is_none() && self.enumerate.is_none()
    }

    /// Whether the class belongs to a session.
    #[must_use]
    pub const fn is_of_session(&self) -> bool {
        matches!(self.handle, HandleKind::Session | HandleKind::SystemSession)
    }

    /// Returns the first build of Windows on which the class can be queried. `TraceQueryInformation` needs Windows 8.
    #[must_use]
    pub const fn query_since(&self) -> u32 {
        if self.since.build < WIN8.build { WIN8.build } else { self.since.build }
    }

    /// Returns those of `set`, `query` and `enumerate` that apply.
    #[must_use]
    pub fn directions(&self) -> Vec<&'static str> {
        let all =
            [("set", self.set.is_some()), ("query", self.query.is_some()), ("enumerate", self.enumerate.is_some())];
        all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    /// Returns the kind of handle, in words.
    #[must_use]
    pub const fn handle_name(&self) -> &'static str {
        match self.handle {
            HandleKind::None if self.is_reserved() => "-",
            HandleKind::None => "none",
            HandleKind::Zero => "zero",
            HandleKind::Unused => "any",
            HandleKind::Session => "session",
            HandleKind::SystemSession => "system session",
        }
    }

    /// Returns a short name for command lines: the name of the type in lower case with hyphens.
    #[must_use]
    pub fn short_name(&self) -> String {
        let mut name = String::new();
        for character in self.type_name.chars() {
            if character.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(character.to_ascii_lowercase());
        }
        name
    }
}
