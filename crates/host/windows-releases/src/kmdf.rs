//! KMDF versions, and the rules by which a version binds a driver.

use std::fmt;

use crate::Release;

/// A version of the Kernel-Mode Driver Framework. The major version is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kmdf {
    /// The minor version.
    pub minor: u32,
    /// The number of functions in the framework's function table.
    pub functions: u32,
}

/// What a driver requests from the framework's loader: the version in `WDF_BIND_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The major version that the driver was built for.
    pub major: u32,
    /// The minor version that the driver was built for.
    pub minor: u32,
    /// The number of functions in the headers that it was built with.
    pub functions: u32,
    /// The oldest minor version that the driver runs on (`WDF_BIND_INFO2`). `None` for drivers that were built for
    /// versions before 1.25: their bind information has no minimum.
    pub minimum: Option<u32>,
}

/// The result of binding a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The number of functions that the driver may use.
    pub functions: u32,
    /// Whether the driver was built for a newer framework. It must then test which functions are available.
    pub client_is_newer: bool,
    /// Whether the loader copies the function table into the driver's buffer. Drivers built for 1.15 or later get a
    /// pointer to the table instead.
    pub copies_table: bool,
}

/// Why a framework does not bind a driver. Windows returns `STATUS_INVALID_PARAMETER` in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The driver needs a newer framework.
    TooOld {
        /// The minor version that the driver needs.
        needs: u32,
    },
    /// No released framework has this number of functions.
    FunctionCount(u32),
    /// The driver was built for a major version other than 1. No such framework exists.
    Major(u32),
}

impl Kmdf {
    const fn new(minor: u32, functions: u32) -> Self {
        Self { minor, functions }
    }

    /// Windows 7.
    pub const V1_9: Self = Self::new(9, 396);
    /// Windows 8.
    pub const V1_11: Self = Self::new(11, 432);
    /// Windows 8.1.
    pub const V1_13: Self = Self::new(13, 438);
    /// Windows 10 1507.
    pub const V1_15: Self = Self::new(15, 444);
    /// Windows 10 1511.
    pub const V1_17: Self = Self::new(17, 444);
    /// Windows 10 1607.
    pub const V1_19: Self = Self::new(19, 446);
    /// Windows 10 1703.
    pub const V1_21: Self = Self::new(21, 448);
    /// Windows 10 1709.
    pub const V1_23: Self = Self::new(23, 451);
    /// Windows 10 1803. The first version that binds drivers built for a newer framework.
    pub const V1_25: Self = Self::new(25, 453);
    /// Windows 10 1809.
    pub const V1_27: Self = Self::new(27, 453);
    /// Windows 10 1903.
    pub const V1_29: Self = Self::new(29, 454);
    /// Windows 10 2004.
    pub const V1_31: Self = Self::new(31, 458);
    /// Windows 11 and Server 2022.
    pub const V1_33: Self = Self::new(33, 458);

    /// Every released version, oldest first. The first four are older than Windows 7; newer frameworks still bind
    /// drivers that were built for them.
    #[rustfmt::skip]
    pub const RELEASED: [Self; 17] = [
        Self::new(0, 383), Self::new(1, 386), Self::new(5, 387), Self::new(7, 387),
        Self::V1_9, Self::V1_11, Self::V1_13, Self::V1_15, Self::V1_17, Self::V1_19, Self::V1_21, Self::V1_23,
        Self::V1_25, Self::V1_27, Self::V1_29, Self::V1_31, Self::V1_33,
    ];

    /// The newest version.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    pub const NEWEST: Self = Self::RELEASED[Self::RELEASED.len() - 1];

    /// The oldest minor version that a driver may name as its minimum.
    pub const OLDEST_MINIMUM: u32 = Self::V1_25.minor;

    /// Binds a driver by the rules of this framework version.
    ///
    /// # Errors
    ///
    /// Returns the reason why this framework does not bind the driver.
    pub fn bind(self, client: Client) -> Result<Binding, Refusal> {
        if client.major != 1 {
            return Err(Refusal::Major(client.major));
        }
        // A framework before 1.25 ignores the minimum and compares the version that the driver was built for.
        let understood = client.minimum.filter(|_| self.minor >= Self::OLDEST_MINIMUM);
        let needs = understood.unwrap_or(client.minor);
        if needs > self.minor {
            return Err(Refusal::TooOld { needs: client.oldest_framework() });
        }
        let released = Self::RELEASED.iter().any(|kmdf| kmdf.functions == client.functions);
        // The count of a framework that is newer than this table is unknown. It can only be larger.
        let from_the_future = client.minor > Self::NEWEST.minor && client.functions > Self::NEWEST.functions;
        let client_is_newer = client.minor > self.minor;
        if !released && !from_the_future || client.functions > self.functions && !client_is_newer {
            return Err(Refusal::FunctionCount(client.functions));
        }
        Ok(Binding {
            functions: client.functions.min(self.functions),
            client_is_newer,
            copies_table: client.functions <= Self::V1_13.functions,
        })
    }
}

impl fmt::Display for Kmdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("1.{}", self.minor))
    }
}

impl Client {
    /// Returns the version that the driver was built for, such as `1.33`.
    #[must_use]
    pub fn version(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// Returns the oldest minor version of the framework that binds the driver.
    #[must_use]
    pub fn oldest_framework(self) -> u32 {
        match self.minimum {
            Some(minimum) if minimum < self.minor => minimum.max(Kmdf::OLDEST_MINIMUM),
            _ => self.minor,
        }
    }
}

impl Refusal {
    /// Explains why a release does not bind a driver, and names the first release that does.
    #[must_use]
    pub fn explain(self, client: Client, release: Release) -> String {
        self.explain_for(client, release.kmdf(), &release.to_string())
    }

    /// Explains why a framework of version `has` does not bind a driver, and names the first release that does. `owner`
    /// is what has this version: a release, or the file of a framework.
    #[must_use]
    pub fn explain_for(self, client: Client, has: Kmdf, owner: &str) -> String {
        let version = client.version();
        match self {
            Self::TooOld { needs } => {
                let asks = if needs == client.minor {
                    format!("the driver needs KMDF {version}")
                } else {
                    format!("the driver was built for KMDF {version} and needs KMDF 1.{needs} or later")
                };
                let first = match Release::first_with_kmdf(needs) {
                    Some(first) => format!("the first release with KMDF 1.{needs} is {}", first.described()),
                    None => format!("no known release has KMDF 1.{needs}"),
                };
                format!("{asks}, {owner} has KMDF {has}; {first}")
            }
            Self::FunctionCount(count) => format!(
                "the driver was built for KMDF {version} with {count} functions, which no framework up to KMDF {has} of \
                 {owner} has"
            ),
            Self::Major(_) => format!("the driver needs KMDF {version}, {owner} has KMDF {has}"),
        }
    }
}
