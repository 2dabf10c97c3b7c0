//! The Windows that is imitated.

use std::fmt;
use std::str::FromStr;

/// A version of Windows. A routine that a version lacks is hidden from the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Os {
    /// Windows 7 with service pack 1.
    Win7,
    /// Windows 8.1.
    Win81,
    /// Windows 10, version 22H2.
    #[default]
    Win10,
    /// Windows 11, version 24H2.
    Win11,
}

impl Os {
    /// Every version, oldest first.
    pub const ALL: [Self; 4] = [Self::Win7, Self::Win81, Self::Win10, Self::Win11];

    /// Major and minor version and build number, as `RtlGetVersion` answers them.
    #[must_use]
    pub const fn version(self) -> (u32, u32, u32) {
        match self {
            Self::Win7 => (6, 1, 7601),
            Self::Win81 => (6, 3, 9600),
            Self::Win10 => (10, 0, 19045),
            Self::Win11 => (10, 0, 26100),
        }
    }

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Win7 => "win7",
            Self::Win81 => "win8.1",
            Self::Win10 => "win10",
            Self::Win11 => "win11",
        }
    }
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Os {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|os| os.name() == text);
        found.ok_or_else(|| format!("`{text}` is none of win7, win8.1, win10, win11"))
    }
}
