//! A finding with names: what a report shows.

use std::fmt;

use crate::Rule;

/// Where in the driver's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Relative to the image.
    pub rva: u64,
    /// The function.
    pub symbol: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

/// One mistake of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule it breaks.
    pub rule: Rule,
    /// The routine that was called, where the mistake is in a call.
    pub routine: Option<String>,
    /// Where in the driver's code.
    pub place: Option<Place>,
    /// The calls that led there, the innermost first: where each returns to. Empty where they are not known.
    pub stack: Vec<Place>,
    /// The IRQL at that moment.
    pub irql: u8,
    /// What happened.
    pub detail: String,
}

impl Finding {
    /// A panic's place is the line that panicked, which the bug check names, and not where the panic ended up.
    pub(crate) fn leave_panic_machinery(&mut self) {
        let mut words = self.detail.rsplitn(3, ':');
        let (Some(_), Some(line), Some(start)) = (words.next(), words.next(), words.next()) else { return };
        let file = start.rsplit(['/', '\\', ' ']).next().unwrap_or_default();
        let (Rule::RustPanic, Ok(line)) = (self.rule, line.parse()) else { return };
        let is_it = |place: &Place| {
            let name = place.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).next());
            name == Some(file) && place.line == Some(line)
        };
        if let Some(index) = self.stack.iter().position(is_it) {
            self.place = self.stack.drain(..=index).next_back();
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image+{:#x}", self.rva)?;
        if let Some(symbol) = &self.symbol {
            write!(f, " {symbol}")?;
        }
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, " ({file}:{line})")?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)?;
        if let Some(routine) = &self.routine {
            write!(f, " [{routine}]")?;
        }
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        if self.irql != 0 {
            write!(f, " at IRQL {}", self.irql)?;
        }
        Ok(())
    }
}
