//! What is known about every class, as values: for tools, for the documentation, and for whoever chooses at run time.

use etw_types::session::{ClassFacts, HandleKind, TraceInfoClass};

/// The lengths that `TraceSetInformation` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// The shortest.
    pub least: usize,
    /// Longer ones add multiples of this; 0 where there is only one.
    pub step: usize,
    /// Whether nothing at all is a value too: it clears.
    pub may_be_empty: bool,
}

impl Length {
    const fn exactly(least: usize) -> Self {
        Self { least, step: 0, may_be_empty: false }
    }

    const fn list(least: usize, step: usize) -> Self {
        Self { least, step, may_be_empty: least == 0 }
    }

    /// Whether data may have this length.
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

/// What is known about a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The class.
    pub class: TraceInfoClass,
    /// Its C name.
    pub c_name: &'static str,
    /// The type of this module.
    pub type_name: &'static str,
    /// What it is about.
    pub purpose: &'static str,
    /// The layout of its data.
    pub layout: &'static str,
    /// The lengths of data to be set.
    pub set_length: Option<Length>,
    /// The length of an answer, where it is fixed.
    pub answer_length: Option<usize>,
    /// The limit, in words.
    pub limit: &'static str,
    /// The first version of Windows, in words.
    pub since: &'static str,
    /// What else to know.
    pub note: &'static str,
}

impl Facts {
    /// Directions, handle and first build; `None` for the reserved class.
    #[must_use]
    pub const fn of_class(&self) -> Option<ClassFacts> {
        self.class.facts()
    }

    /// `set`, `query`, `enumerate`, as far as they apply.
    #[must_use]
    pub fn directions(&self) -> Vec<&'static str> {
        let Some(facts) = self.of_class() else { return Vec::new() };
        let all = [("set", facts.set), ("query", facts.query), ("enumerate", facts.enumerate)];
        all.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect()
    }

    /// Which handle, in words.
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

    /// A short name for a command line: that of the type, in lower case with dashes.
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

/// Every class, in the order of their numbers.
#[must_use]
pub const fn all() -> &'static [Facts] {
    super::table::CLASSES
}

/// What is known about a class.
#[must_use]
pub fn facts(class: TraceInfoClass) -> Option<&'static Facts> {
    all().iter().find(|facts| facts.class == class)
}

/// The class of a number, a C name, a type's name or a short name, without regard to case.
///
/// ```
/// use etw_session::info::find;
///
/// for name in ["3", "TraceStackTracingInfo", "StackTracing", "stack-tracing"] {
///     assert_eq!(find(name).map(|facts| facts.class.as_int()), Some(3));
/// }
/// assert!(find("29").is_none());
/// ```
#[must_use]
pub fn find(name: &str) -> Option<&'static Facts> {
    let number = name.parse::<u32>().ok();
    all().iter().find(|facts| {
        number == Some(facts.class.as_int())
            || facts.c_name.eq_ignore_ascii_case(name)
            || facts.type_name.eq_ignore_ascii_case(name)
            || facts.short_name().eq_ignore_ascii_case(name)
    })
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

    /// Data to be set has exactly this length.
    pub(super) const fn sets(mut self, length: usize) -> Self {
        self.0.set_length = Some(Length::exactly(length));
        self
    }

    /// Data to be set is a header or some elements, and any number of further elements.
    pub(super) const fn sets_list(mut self, least: usize, step: usize) -> Self {
        self.0.set_length = Some(Length::list(least, step));
        self
    }

    /// Nothing at all clears.
    pub(super) const fn or_empty(mut self) -> Self {
        if let Some(length) = &mut self.0.set_length {
            length.may_be_empty = true;
        }
        self
    }

    pub(super) const fn answers(mut self, length: usize) -> Self {
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
