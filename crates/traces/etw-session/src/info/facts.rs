//! The facts about every class, as values: for tools, for the documentation, and for code that chooses a class at run
//! time.

use etw_types::session::{ClassFacts, HandleKind, TraceInfoClass};

/// The data lengths that `TraceSetInformation` accepts.
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
    const fn exactly(least: usize) -> Self {
        Self { least, step: 0, may_be_empty: false }
    }

    const fn list(least: usize, step: usize) -> Self {
        Self { least, step, may_be_empty: least == 0 }
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

/// The facts about a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The lengths of the data for `TraceSetInformation`, if the class can be set.
    pub set_length: Option<Length>,
    /// The length of a result, if it is fixed.
    pub answer_length: Option<usize>,
    /// The limit, in words.
    pub limit: &'static str,
    /// The first version of Windows, in words.
    pub since: &'static str,
    /// What else to know.
    pub note: &'static str,
}

impl Facts {
    /// Returns directions, handle kind and first build, or `None` for the reserved class.
    #[must_use]
    pub const fn of_class(&self) -> Option<ClassFacts> {
        self.class.facts()
    }

    /// Returns those of `set`, `query` and `enumerate` that apply.
    #[must_use]
    pub fn directions(&self) -> Vec<&'static str> {
        let Some(facts) = self.of_class() else { return Vec::new() };
        let all = [("set", facts.set), ("query", facts.query), ("enumerate", facts.enumerate)];
        all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    /// Returns the kind of handle, in words.
    #[must_use]
    pub const fn handle(&self) -> &'static str {
        match self.of_class() {
            None => "-",
            Some(facts) => match facts.handle {
                HandleKind::None => "none",
                HandleKind::Zero => "zero",
                HandleKind::Unused => "any",
                HandleKind::Session => "session",
                HandleKind::SystemSession => "system session",
            },
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

/// A row of the table.
pub(super) struct Row(pub(super) Facts);

impl Row {
    pub(super) const fn new(
        class: TraceInfoClass,
        c_name: &'static str,
        type_name: &'static str,
        purpose: &'static str,
        since: &'static str,
    ) -> Self {
        Self(Facts {
            class,
            c_name,
            type_name,
            purpose,
            layout: "",
            set_length: None,
            answer_length: None,
            limit: "",
            since,
            note: "",
        })
    }

    pub(super) const fn layout(mut self, layout: &'static str) -> Self {
        self.0.layout = layout;
        self
    }

    /// The data for `TraceSetInformation` has exactly this length.
    pub(super) const fn sets(mut self, length: usize) -> Self {
        self.0.set_length = Some(Length::exactly(length));
        self
    }

    /// The data for `TraceSetInformation` consists of `least` bytes, followed by any number of elements of `step`
    /// bytes.
    pub(super) const fn sets_list(mut self, least: usize, step: usize) -> Self {
        self.0.set_length = Some(Length::list(least, step));
        self
    }

    /// No data is also accepted; it clears the value.
    pub(super) const fn or_empty(mut self) -> Self {
        if let Some(length) = &mut self.0.set_length {
            length.may_be_empty = true;
        }
        self
    }

    pub(super) const fn returns(mut self, length: usize) -> Self {
        self.0.answer_length = Some(length);
        self
    }

    pub(super) const fn limit(mut self, limit: &'static str) -> Self {
        self.0.limit = limit;
        self
    }

    pub(super) const fn note(mut self, note: &'static str) -> Facts {
        self.0.note = note;
        self.0
    }
}
