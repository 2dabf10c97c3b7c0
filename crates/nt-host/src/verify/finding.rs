//! A finding with names: what a report shows.

use std::fmt;

use super::Rule;

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
    /// The IRQL at that moment.
    pub irql: u8,
    /// What happened.
    pub detail: String,
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
