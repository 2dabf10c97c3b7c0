//! The table of releases.

use std::fmt;
use std::str::FromStr;

use crate::Kmdf;

/// The version of the kernel. An image that requires a newer version in its header does not load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NtVersion {
    /// Major version.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
}

impl fmt::Display for NtVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

struct Row {
    name: &'static str,
    title: &'static str,
    /// Names of the server release with the same build, and short names for this release.
    aliases: &'static [&'static str],
    nt: NtVersion,
    build: u32,
    kmdf: Kmdf,
}

/// Declares the releases, in the order of their builds: the variant, the name for command lines, the product, names of the server
/// release with the same build and short names, the version of the kernel, the build and the framework.
macro_rules! releases {
    ($(
        $(#[$attribute:meta])*
        $release:ident: $name:literal, $title:literal, [$($alias:literal),*], ($major:literal, $minor:literal), $build:literal, $kmdf:ident;
    )+) => {
        /// A Windows release, in the order of build numbers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release {
            $(#[doc = $title] $(#[$attribute])* $release,)+
        }

        /// A release, as a number, is the index of its row.
        static ROWS: &[Row] = &[
            $(Row {
                name: $name,
                title: $title,
                aliases: &[$($alias),*],
                nt: NtVersion { major: $major, minor: $minor },
                build: $build,
                kmdf: Kmdf::$kmdf,
            },)+
        ];

        impl Release {
            /// Every release, oldest first.
            pub const ALL: [Self; [$($build),+].len()] = [$(Self::$release),+];

            /// The name of every release, oldest first.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];
        }
    };
}

releases! {
    Win7: "win7", "Windows 7 SP1, Server 2008 R2", ["server2008r2", "6.1"], (6, 1), 7601, V1_9;
    Win8: "win8", "Windows 8, Server 2012", ["server2012", "6.2"], (6, 2), 9200, V1_11;
    Win81: "win8.1", "Windows 8.1, Server 2012 R2", ["win81", "server2012r2", "6.3"], (6, 3), 9600, V1_13;
    Win10_1507: "win10-1507", "Windows 10 1507", [], (10, 0), 10240, V1_15;
    Win10_1511: "win10-1511", "Windows 10 1511", [], (10, 0), 10586, V1_17;
    Win10_1607: "win10-1607", "Windows 10 1607, Server 2016", ["server2016"], (10, 0), 14393, V1_19;
    Win10_1703: "win10-1703", "Windows 10 1703", [], (10, 0), 15063, V1_21;
    Win10_1709: "win10-1709", "Windows 10 1709", [], (10, 0), 16299, V1_23;
    Win10_1803: "win10-1803", "Windows 10 1803", [], (10, 0), 17134, V1_25;
    Win10_1809: "win10-1809", "Windows 10 1809, Server 2019", ["server2019"], (10, 0), 17763, V1_27;
    Win10_1903: "win10-1903", "Windows 10 1903", [], (10, 0), 18362, V1_29;
    Win10_1909: "win10-1909", "Windows 10 1909", [], (10, 0), 18363, V1_29;
    Win10_2004: "win10-2004", "Windows 10 2004", [], (10, 0), 19041, V1_31;
    Win10_20H2: "win10-20h2", "Windows 10 20H2", [], (10, 0), 19042, V1_31;
    Win10_21H1: "win10-21h1", "Windows 10 21H1", [], (10, 0), 19043, V1_31;
    Win10_21H2: "win10-21h2", "Windows 10 21H2", [], (10, 0), 19044, V1_31;
    Win10_22H2: "win10-22h2", "Windows 10 22H2", ["win10"], (10, 0), 19045, V1_31;
    Server2022: "server2022", "Windows Server 2022", [], (10, 0), 20348, V1_33;
    Win11_21H2: "win11-21h2", "Windows 11 21H2", [], (10, 0), 22000, V1_33;
    Win11_22H2: "win11-22h2", "Windows 11 22H2", [], (10, 0), 22621, V1_33;
    Win11_23H2: "win11-23h2", "Windows 11 23H2", [], (10, 0), 22631, V1_33;
    #[default]
    Win11_24H2: "win11-24h2", "Windows 11 24H2, Server 2025", ["server2025", "10.0"], (10, 0), 26100, V1_33;
    Win11_25H2: "win11-25h2", "Windows 11 25H2", ["win11"], (10, 0), 26200, V1_33;
}

impl Release {
    /// The oldest release of the table.
    pub const OLDEST: Self = Self::ALL[0];
    /// The first release for ARM64 processors that drivers are built for.
    pub const FIRST_ARM64: Self = Self::Win10_1709;
    /// The newest release of the table. The default is Windows 11 24H2, the release of the kit's headers.
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
    pub const NEWEST: Self = Self::ALL[Self::ALL.len() - 1];

    #[expect(clippy::indexing_slicing, reason = "a release is the index of its row")]
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the name for command lines, such as `win10-1803`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns other names that a command line accepts: servers with the same build, and short names.
    #[must_use]
    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// Returns the product name, such as `Windows 10 1607, Server 2016`.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Returns name, product and build, such as `win10-1803 (Windows 10 1803, build 17134)`.
    ///
    /// For a server release that came before the client release with the same framework, the text also has the client
    /// release.
    #[must_use]
    pub fn described(self) -> String {
        let own = format!("{} ({}, build {})", self.name(), self.title(), self.build());
        match self {
            Self::Server2022 => format!("{own}; for clients {}", Self::Win11_21H2.described()),
            _ => own,
        }
    }

    /// Returns the version of the kernel.
    #[must_use]
    pub fn nt_version(self) -> NtVersion {
        self.row().nt
    }

    /// Returns the build number.
    #[must_use]
    pub fn build(self) -> u32 {
        self.row().build
    }

    /// Returns the framework that the release contains. Co-installers, which could install versions up to 1.11 on
    /// Windows 7, are not considered.
    #[must_use]
    pub fn kmdf(self) -> Kmdf {
        self.row().kmdf
    }

    /// Returns the first release whose framework is at least 1.`minor`.
    #[must_use]
    pub fn first_with_kmdf(minor: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|release| release.kmdf().minor >= minor)
    }

    /// Returns the table for a help text: one line per release, with its names, build and framework.
    #[must_use]
    pub fn list() -> String {
        let lines = Self::ALL.into_iter().map(|release| {
            let aliases = release.aliases().join(", ");
            let also = if aliases.is_empty() { String::new() } else { format!("also {aliases}") };
            let name = release.name();
            let build = release.build();
            let kmdf = release.kmdf();
            format!("  {name:<11} build {build:<5}  KMDF {kmdf:<5}{also}").trim_end().to_owned() + "\n"
        });
        lines.collect()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that does not name a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRelease {
    text: String,
}

impl fmt::Display for UnknownRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown Windows release `{}`: expected one of {}", self.text, Release::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownRelease {}

/// Parses a name, an alias, or a build number (`17134`, `10.0.17134`).
impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let lower = text.to_ascii_lowercase();
        let is_number = lower.starts_with(|first: char| first.is_ascii_digit());
        let is = |release: &Self| {
            release.name() == lower
                || release.aliases().contains(&lower.as_str())
                || is_number
                    && (release.build().to_string() == lower
                        || format!("{}.{}", release.nt_version(), release.build()) == lower)
        };
        Self::ALL.into_iter().find(is).ok_or_else(|| UnknownRelease { text: text.to_owned() })
    }
}
