//! The rules by which a KMDF version binds a driver.

use pe_image::framework::Client;

use crate::{Kmdf, Release};

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
        let understood = client.minimum.filter(|_| self.minor >= Client::OLDEST_MINIMUM);
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
                let requirement = if needs == client.minor {
                    format!("the driver needs KMDF {version}")
                } else {
                    format!("the driver was built for KMDF {version} and needs KMDF 1.{needs} or later")
                };
                let first = match Release::first_with_kmdf(needs) {
                    Some(first) => format!("the first release with KMDF 1.{needs} is {}", first.described()),
                    None => format!("no known release has KMDF 1.{needs}"),
                };
                format!("{requirement}, {owner} has KMDF {has}; {first}")
            }
            Self::FunctionCount(count) => format!(
                "the driver was built for KMDF {version} with {count} functions, which no framework up to KMDF {has} of \
                 {owner} has"
            ),
            Self::Major(_) => format!("the driver needs KMDF {version}, {owner} has KMDF {has}"),
        }
    }
}
