//! A finding with names, as a report shows it.

use std::fmt;

use crate::{MicrosoftRule, Rule};

/// A location in the driver's code: a function and a position in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The address relative to the image.
    pub rva: u64,
    /// The file name of the image; `None` for the driver under test.
    pub image: Option<String>,
    /// The section, if the address is in one.
    pub section: Option<String>,
    /// The function. Without a PDB, this is the nearest preceding symbol in the section.
    pub symbol: Option<String>,
    /// The offset of the location from the symbol, in bytes; `None` for a function that was inlined into another one.
    pub offset: Option<u32>,
    /// The source file, if there is line information.
    pub file: Option<String>,
    /// The line in the source file.
    pub line: Option<u32>,
    /// Whether the function was inlined into that of the next location.
    pub is_inlined: bool,
    /// Whether the source file belongs to the driver, not to a library.
    pub is_own: bool,
}

/// A mistake of the driver under test or of another image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: Rule,
    /// The rules of Microsoft's verification tools that say the same, if there are any.
    pub microsoft: Vec<&'static MicrosoftRule>,
    /// The file name of the image that made the mistake; `None` for the driver under test.
    pub image: Option<String>,
    /// The routine that was called, if the mistake is in a call.
    pub routine: Option<String>,
    /// The location in the driver's code: the innermost line of the driver's own sources, if there is one.
    pub location: Option<Location>,
    /// The calls from there to the mistake, in libraries that the driver is linked with, innermost first.
    pub inner: Vec<Location>,
    /// The return addresses of the calls that led to the location, innermost first. Empty if they are not known.
    pub stack: Vec<Location>,
    /// The IRQL at the time of the finding.
    pub irql: u8,
    /// The description of what happened.
    pub detail: String,
}

impl Finding {
    /// Splits a chain of calls, innermost first, at the location to report.
    pub(crate) fn set_chain(&mut self, mut chain: Vec<Location>) {
        let start = self.reported_in(&chain).unwrap_or_default();
        self.stack = chain.split_off((start + 1).min(chain.len()));
        self.location = chain.pop();
        self.inner = chain;
    }

    /// Finds the location to report: the innermost line of the driver's own sources. Without one, that is the innermost location
    /// in the image that made the mistake. The driver's panic handler is also its own, so the search for a panic begins at
    /// the line that panicked, which may be in a library.
    fn reported_in(&self, chain: &[Location]) -> Option<usize> {
        let is_machinery = |location: &Location| {
            self.rule == Rule::RustPanic
                && location.symbol.as_deref().is_some_and(|name| name.starts_with("core::panicking::"))
        };
        let panicked = self.panicked_at(chain).or_else(|| chain.iter().rposition(is_machinery));
        let first = panicked.unwrap_or_default();
        let own = chain.iter().skip(first).position(|location| location.is_own).filter(|_| self.image.is_none());
        own.map(|own| first + own)
            .or(panicked)
            .or_else(|| chain.iter().position(|location| location.image == self.image))
    }

    /// Returns whether another finding, maybe of another run, is the same mistake. Details can have addresses, which
    /// differ between runs, so they decide only if there is no location.
    pub(crate) fn is_same_mistake(&self, other: &Self) -> bool {
        let location = |finding: &Self| {
            finding.location.as_ref().map(|location| (location.rva, location.file.clone(), location.line))
        };
        self.rule == other.rule
            && self.image == other.image
            && self.routine == other.routine
            && location(self) == location(other)
            && (self.location.is_some() || self.detail == other.detail)
    }

    /// Finds the line that panicked, which the bug check names.
    fn panicked_at(&self, chain: &[Location]) -> Option<usize> {
        let mut words = self.detail.rsplitn(3, ':');
        let (Some(_), Some(line), Some(start)) = (words.next(), words.next(), words.next()) else { return None };
        let file = start.rsplit(['/', '\\', ' ']).next().unwrap_or_default();
        let (Rule::RustPanic, Ok(line)) = (self.rule, line.parse()) else { return None };
        chain.iter().position(|location| {
            let name = location.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).next());
            name == Some(file) && location.line == Some(line)
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.image.as_deref().unwrap_or("image"), self.rva)?;
        let source = self.file.as_ref().zip(self.line);
        if let (None, Some(section)) = (source, &self.section) {
            write!(f, " {section}")?;
        }
        if let Some(symbol) = &self.symbol {
            write!(f, " {symbol}")?;
        }
        if let Some(offset) = self.offset.filter(|offset| *offset != 0 && self.symbol.is_some()) {
            write!(f, "+{offset:#x}")?;
        }
        match source {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => f.write_str(" (no line information)"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(image) = &self.image {
            write!(f, "{image}: ")?;
        }
        write!(f, "{}", self.rule)?;
        if !self.microsoft.is_empty() {
            let names: Vec<&str> = self.microsoft.iter().map(|rule| rule.name).collect();
            write!(f, " ({})", names.join(", "))?;
        }
        write!(f, ": {}", self.detail)?;
        if let Some(routine) = &self.routine {
            write!(f, " [{routine}]")?;
        }
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        if self.irql != 0 {
            write!(f, " at IRQL {}", self.irql)?;
        }
        Ok(())
    }
}
